// Named ranges of a thread for profilers of GPUs (NVTX). They nest. Without the CUDA backend they
// do nothing.
#pragma once

namespace latticino {

void push_range(const char* name);
void pop_range();

}  // namespace latticino
