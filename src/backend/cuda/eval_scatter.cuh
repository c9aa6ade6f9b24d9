// Writing a row of Eval values to where an automorphism puts them.
//
// Entry i is a(psi^e), e = 2 bitrev(i) + 1. X -> X^g makes the entry of root e that of root e/g, so
// the value at i goes to the index o with 2 bitrev(o) + 1 = e g^-1 mod 2N. Low bits of bitrev(o)
// depend on low bits of bitrev(i) alone: aligned groups of 2^k entries go to aligned groups, and
// four entries to four entries in one of eight orders.
#pragma once

#include <cstdint>

#include "backend/cuda/ntt_rows.cuh"

namespace latticino::cuda {

// g^-1 mod 2^32 (so mod 2N) of an odd g: each Newton step doubles the number of right low bits.
inline std::uint32_t inverse_galois(std::uint32_t g) {
  std::uint32_t x = g;  // right to 3 bits
  for (int i = 0; i < 4; ++i) x *= 2 - g * x;
  return x;
}

__device__ __forceinline__ void swap_if(bool condition, std::uint32_t& a, std::uint32_t& b) {
  const std::uint32_t x = condition ? b : a, y = condition ? a : b;
  a = x, b = y;
}

// Stores four values of entries i .. i+3 (i a multiple of 4) at their images.
__device__ __forceinline__ void scatter_group(std::uint32_t* limb, std::uint32_t i, uint4 v,
                                              std::uint32_t galois_inverse, int log_n) {
  const std::uint32_t u = __brev(i) >> (32 - log_n);
  const std::uint32_t root = galois_inverse * (2 * u + 1);  // mod 2N: bits 0 .. log_n
  const std::uint32_t image = __brev(root >> 1) >> (32 - log_n);
  // Entries i+1, i+2 have roots e + N and e + N/2: images by the two top bits of the root.
  const std::uint32_t root2 = root + (galois_inverse << (log_n - 1));
  const bool odd0 = root >> log_n & 1, odd2 = root2 >> log_n & 1;
  const bool high = root >> (log_n - 1) & 1;
  swap_if(odd0, v.x, v.y);
  swap_if(odd2, v.z, v.w);
  swap_if(high, v.x, v.z);
  swap_if(high, v.y, v.w);
  *reinterpret_cast<uint4*>(global(limb) + position(Domain::Eval, image & ~3u, log_n)) = v;
}

// Stores vector v (of those of its row, in physical order), in place or moved by the automorphism.
template <class S>
__device__ __forceinline__ void store_image(uint4 x, std::uint32_t row, std::uint32_t v,
                                            std::uint32_t* limb, std::uint32_t galois_inverse,
                                            int log_n) {
  if (galois_inverse == 1) {
    reinterpret_cast<uint4*>(global(limb))[row * S::kRowVectors + v] = x;
  } else {
    const std::uint32_t t = v % S::kThreads, j = v / S::kThreads;
    scatter_group(limb, row * S::kLength + t * S::kValues + 4 * j, x, galois_inverse, log_n);
  }
}

}  // namespace latticino::cuda
