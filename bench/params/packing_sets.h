// The chains of docs/lab/primes.md beside sets of their scale.
#pragma once

namespace latticino::bench {

// Prints them as a table; the exit status.
int sets();

}  // namespace latticino::bench
