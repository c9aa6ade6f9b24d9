// Named ranges of a thread for GPU profilers (NVTX). Ranges may be nested. Without the CUDA backend
// they do nothing.
#pragma once

namespace latticino {

void push_range(const char* name);
void pop_range();

}  // namespace latticino
