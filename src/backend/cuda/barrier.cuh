// Barriers of a part of a block.
#pragma once

#include <cuda_runtime.h>

namespace latticino::cuda {

// `threads` threads, whole warps, meet at one of 16 barriers; 0 is that of __syncthreads().
__device__ __forceinline__ void meet_threads(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace latticino::cuda
