// The conversion of one entry in Coeff, as convert_entries in convert.cu makes it.
#pragma once

#include <cstdint>

#include "backend/cuda/device/modular.cuh"

namespace latticino::cuda {

// x R^-2 mod q for any signed 64-bit sum: the first step leaves at most 2^31 + 2^30.
__device__ __forceinline__ std::uint32_t reduce_twice(std::int64_t x, const Modulus& m) {
  const auto k = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) * m.inv);
  return canonical(redc((x >> 32) - __mulhi(k, static_cast<std::int32_t>(m.q)), m), m);
}

// The sum over n centred sources, `stride` words apart, times a row of the matrix. LAZY: the sum is
// reduced once. Otherwise every product is reduced, to measure what lazy reduction gains
// (features.h).
template <bool LAZY>
__device__ __forceinline__ std::uint32_t convert_entry(const std::int32_t* y, int stride,
                                                       const std::int32_t* row, int n,
                                                       const Modulus& m) {
  if constexpr (LAZY) {
    std::int64_t sum = 0;
    for (int j = 0; j < n; ++j) {
      sum += static_cast<std::int64_t>(y[j * stride]) * __ldg(row + j);
    }
    return reduce_twice(sum, m);
  } else {
    std::uint32_t sum = 0;
    for (int j = 0; j < n; ++j) {
      const std::int64_t product = static_cast<std::int64_t>(y[j * stride]) * __ldg(row + j);
      sum = add_mod(sum, reduce_twice(product, m), m.q);
    }
    return sum;
  }
}

}  // namespace latticino::cuda
