// Sums of products of data: 64-bit sums of raw products stay below q 2^32 (fold_sum) and are
// reduced once, with the R^2 fix, at the end.
#pragma once

#include "backend/cuda/device/elementwise.cuh"

namespace latticino::cuda {

__device__ __forceinline__ void multiply_add(std::uint64_t (&acc)[kGroup], const Group& a,
                                             const Group& b, std::uint32_t q) {
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    acc[j] = fold_sum(acc[j] + static_cast<std::uint64_t>(a.w[j]) * b.w[j], q);
  }
}

__device__ __forceinline__ void finish_products(const std::uint64_t (&acc)[kGroup],
                                                std::uint32_t* limb, std::uint32_t g,
                                                bool accumulate, const Modulus& m) {
  Group y;
#pragma unroll
  for (int j = 0; j < kGroup; ++j) y.w[j] = reduce_products(acc[j], m);
  if (accumulate) {
    const Group old = load_group(limb, g);
#pragma unroll
    for (int j = 0; j < kGroup; ++j) y.w[j] = add_mod(y.w[j], old.w[j], m.q);
  }
  store_group(limb, g, y);
}

}  // namespace latticino::cuda
