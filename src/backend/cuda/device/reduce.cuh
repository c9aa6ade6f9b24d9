// Signed 64-bit integers into residues.
#pragma once

#include "backend/cuda/device/elementwise.cuh"

namespace latticino::cuda {

struct Integers {
  std::int64_t w[kGroup];
};

// x = high 2^32 + low, so x = high R^2 R^-1 + low R R^-1.
__device__ __forceinline__ std::uint32_t reduce(std::int64_t x, const Modulus& m) {
  const auto high = static_cast<std::int32_t>(x >> 32);
  const auto low = static_cast<std::uint32_t>(x);
  const std::uint32_t h = canonical(mul_signed(static_cast<std::int32_t>(m.r2), high, m), m);
  return add_mod(h, mul_mod(m.r, low, m), m.q);
}

// Group g of limbs [first, last) of a view.
__device__ __forceinline__ void reduce_into(const RingArgs& ring, const View& out, int first,
                                            int last, std::uint32_t g, const Integers& x) {
#pragma unroll 2
  for (int l = first; l < last; ++l) {
    const int prime = out.prime(l);
    const Modulus m = load_modulus(ring.modulus + prime);
    Group y;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) y.w[j] = reduce(x.w[j], m);
    store_group(out.limb(prime, ring.log_n), g, y);
  }
}

}  // namespace latticino::cuda
