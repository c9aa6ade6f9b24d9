// What leaves secrets behind: memory of the heap that goes back and still holds some.
#pragma once

namespace latticino::secrets {

// Blocks of operator new that were freed with bits of secrets in them, so far. Where each was freed
// is printed. For a run under memcheck; 0 in others.
long blocks_left_with_secrets();

}  // namespace latticino::secrets
