// Loads ahead of their use.
#pragma once

#include <cuda_runtime.h>

namespace latticino::cuda {

// Fetches a sector of 32 bytes to the L1, or a line of 128 to the L2.
__device__ __forceinline__ void fetch_to_l1(const void* from) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
}
__device__ __forceinline__ void fetch_to_l2(const void* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}
// Loads data that nobody writes, before everything that follows. Compilers move other loads to
// where they are used.
__device__ __forceinline__ double2 fetch(const double2* from) {
  double2 x;
  asm volatile("ld.global.nc.v2.f64 {%0, %1}, [%2];" : "=d"(x.x), "=d"(x.y) : "l"(from));
  return x;
}

}  // namespace latticino::cuda
