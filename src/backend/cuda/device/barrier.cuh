// Barriers of a part of a block.
#pragma once

#include <cuda_runtime.h>

namespace latticino::cuda {

// `threads` threads, in whole warps, wait for each other at one of 16 barriers; 0 is that of
// __syncthreads(). Between two calls of __syncthreads(), either all warps of a block wait at such a
// barrier or none does, even if a warp has no other reason to wait. Otherwise the racecheck of
// compute-sanitizer ignores the barrier of the block, and reports accesses that it separates.
__device__ __forceinline__ void sync_threads(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace latticino::cuda
