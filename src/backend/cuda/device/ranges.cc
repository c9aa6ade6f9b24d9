#include "backend/ranges.h"

#include <nvtx3/nvToolsExt.h>

namespace latticino {

void push_range(const char* name) { nvtxRangePushA(name); }
void pop_range() { nvtxRangePop(); }

}  // namespace latticino
