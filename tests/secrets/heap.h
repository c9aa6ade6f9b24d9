// Finds heap memory that is released while it still holds secrets.
#pragma once

namespace latticino::secrets {

// The number of blocks of operator new so far that were freed with bits of secrets in them. Prints
// where each was freed. Only for a run under memcheck; 0 otherwise.
long blocks_left_with_secrets();

}  // namespace latticino::secrets
