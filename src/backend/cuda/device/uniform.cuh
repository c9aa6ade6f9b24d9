// Tells the compiler that all lanes of a warp have the same value, so that it keeps what follows
// from it in uniform registers.
#pragma once

#include <cstdint>

namespace latticino::cuda {

__device__ __forceinline__ std::uint32_t uniform(std::uint32_t x) {
  return __reduce_max_sync(~0u, x);
}

// The warp's number in a block of one dimension.
__device__ __forceinline__ int warp_of_block() {
  return static_cast<int>(uniform(threadIdx.x / 32));
}

}  // namespace latticino::cuda
