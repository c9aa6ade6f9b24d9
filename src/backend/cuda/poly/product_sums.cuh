// Sums of products of residues for the four entries of a vector.
#pragma once

#include <cstdint>

#include "backend/cuda/device/modular.cuh"

namespace latticino::cuda {

// Four products are below 2 q 2^32 <= 2^64; one fold brings that below q 2^32, and leaves room for
// two more.
struct ProductSums {
  std::uint64_t s[4] = {};

  __device__ __forceinline__ void fold(std::uint32_t q) {
#pragma unroll
    for (int i = 0; i < 4; ++i) s[i] = fold_sum(s[i], q);
  }
  __device__ __forceinline__ void add(uint4 x, uint4 y) {
    s[0] += static_cast<std::uint64_t>(x.x) * y.x;
    s[1] += static_cast<std::uint64_t>(x.y) * y.y;
    s[2] += static_cast<std::uint64_t>(x.z) * y.z;
    s[3] += static_cast<std::uint64_t>(x.w) * y.w;
  }
  // Both must be below q 2^32. Gives the sums themselves, or, if one factor was a Montgomery word,
  // the sums without that factor.
  __device__ __forceinline__ uint4 reduced(const Modulus& m) const {
    return make_uint4(reduce_products(s[0], m), reduce_products(s[1], m), reduce_products(s[2], m),
                      reduce_products(s[3], m));
  }
  __device__ __forceinline__ uint4 reduced_montgomery(const Modulus& m) const {
    return make_uint4(canonical(redc(s[0], m), m), canonical(redc(s[1], m), m),
                      canonical(redc(s[2], m), m), canonical(redc(s[3], m), m));
  }
};

}  // namespace latticino::cuda
