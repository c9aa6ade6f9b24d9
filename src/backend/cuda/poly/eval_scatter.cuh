// Writing a row of Eval values to where an automorphism puts them.
//
// Entry i is a(psi^e), e = 2 bitrev(i) + 1. X -> X^g makes the entry of root e that of root e/g, so
// the value at i goes to the index o with 2 bitrev(o) + 1 = e g^-1 mod 2N. Low bits of bitrev(o)
// depend on low bits of bitrev(i) alone: aligned groups of 2^k entries go to aligned groups, and
// four entries to four entries in one of eight orders.
#pragma once

#include <cstdint>

#include "backend/cuda/ntt/rows.cuh"

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

// Entries i .. i+3 (i a multiple of 4, `root` g^-1 times that of i) in the order of their images.
__device__ __forceinline__ uint4 in_image_order(uint4 v, std::uint32_t root,
                                                std::uint32_t galois_inverse, int log_n) {
  // Entries i+1, i+2 have roots e + N and e + N/2: images by the two top bits of the root.
  const std::uint32_t root2 = root + (galois_inverse << (log_n - 1));
  const bool odd0 = root >> log_n & 1, odd2 = root2 >> log_n & 1;
  const bool high = root >> (log_n - 1) & 1;
  swap_if(odd0, v.x, v.y);
  swap_if(odd2, v.z, v.w);
  swap_if(high, v.x, v.z);
  swap_if(high, v.y, v.w);
  return v;
}

// g^-1 times the root of entry i, mod 2N in bits 0 .. log_n.
__device__ __forceinline__ std::uint32_t image_root(std::uint32_t i, std::uint32_t galois_inverse,
                                                    int log_n) {
  return galois_inverse * (2 * (__brev(i) >> (32 - log_n)) + 1);
}
__device__ __forceinline__ std::uint32_t image_of(std::uint32_t root, int log_n) {
  return __brev(root >> 1) >> (32 - log_n);
}

// Stores four values of entries i .. i+3 (i a multiple of 4) at their images.
__device__ __forceinline__ void scatter_group(std::uint32_t* limb, std::uint32_t i, uint4 v,
                                              std::uint32_t galois_inverse, int log_n) {
  const std::uint32_t root = image_root(i, galois_inverse, log_n);
  const std::uint32_t group = image_of(root, log_n) & ~3u;
  *reinterpret_cast<uint4*>(global(limb) + position(Domain::Eval, group, log_n)) =
      in_image_order(v, root, galois_inverse, log_n);
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

__device__ __forceinline__ void swap_if(bool condition, uint4& a, uint4& b) {
  swap_if(condition, a.x, b.x), swap_if(condition, a.y, b.y);
  swap_if(condition, a.z, b.z), swap_if(condition, a.w, b.w);
}

// Stores what thread t holds of a row. All of its values go to the place of one thread in the image
// row: in the order of the bits of their roots, vector v goes to a + g^-1 v mod 4, where a depends
// on the thread. The vectors are first brought to the order of their images. So every store of a
// warp writes whole sectors; otherwise neighbours would go to different quarters of the row.
template <class S>
__device__ __forceinline__ void store_row_image(const std::uint32_t (&x)[S::kValues],
                                                const RowPosition<S>& at, std::uint32_t* limb,
                                                std::uint32_t galois_inverse, int log_n) {
  const auto vector = [&](int j) {
    return make_uint4(x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3]);
  };
  if (S::kVectors != 4 || galois_inverse == 1) {
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      store_image<S>(vector(j), at.row, at.t + j * S::kThreads, limb, galois_inverse, log_n);
    }
    return;
  }
  // Place of a vector by the bits of its root; the table is its own inverse.
  constexpr int kPlace[4] = {0, 2, 1, 3};
  const int shift = log_n - S::kLogValues + 1;
  const std::uint32_t root =
      image_root(at.row * S::kLength + at.t * S::kValues, galois_inverse, log_n);
  uint4 w[4];
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    w[v] = in_image_order(vector(kPlace[v] % S::kVectors), root + (galois_inverse * v << shift),
                          galois_inverse, log_n);
  }
  swap_if(galois_inverse & 2, w[1], w[3]);
  const std::uint32_t first = root >> shift;
  if (first & 1) {
    const uint4 last = w[3];
    w[3] = w[2], w[2] = w[1], w[1] = w[0], w[0] = last;
  }
  swap_if(first & 2, w[0], w[2]);
  swap_if(first & 2, w[1], w[3]);
  const std::uint32_t to = image_of(root, log_n) & ~(S::kValues - 1u);
  auto* out = reinterpret_cast<uint4*>(global(limb) + position(Domain::Eval, to, log_n));
#pragma unroll
  for (int v = 0; v < 4; ++v) out[kPlace[v] * S::kThreads] = w[v];
}

}  // namespace latticino::cuda
