// The chains of docs/lab/primes.md, compared with preset sets of their scale.
#pragma once

namespace latticino::bench {

// Prints them as a table. Returns the exit status.
int sets();

}  // namespace latticino::bench
