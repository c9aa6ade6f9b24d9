// Barriers of a part of a block.
#pragma once

#include <cuda_runtime.h>

namespace latticino::cuda {

// `threads` threads, whole warps, meet at one of 16 barriers; 0 is that of __syncthreads(). Between
// two of those, either all warps of a block meet others at such a barrier or none do, be it for
// nothing: compute-sanitizer's racecheck takes the block's barrier for none otherwise, and reports
// what it keeps apart.
__device__ __forceinline__ void meet_threads(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace latticino::cuda
