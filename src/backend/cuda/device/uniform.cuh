// Values that all lanes of a warp have, so that the compiler knows it and keeps what follows from
// them in uniform registers.
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
