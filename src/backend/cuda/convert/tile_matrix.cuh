// The conversion of a tile on the 8-bit integer matrix units (paper: Cheddar, Sec. 4). A 30-bit
// residue is four bytes of the inner dimension, a target four byte planes; see ConversionView for
// the table. Eight targets are the rows of a product, and its columns are chosen so that a lane
// ends with the entries of one column transform's wide round: no exchange between the two.
#pragma once

#include <cstdint>

#include "backend/cuda/convert/tables.h"

namespace latticino::cuda {

// D (+)= A B for 16 rows of A, 8 columns of B and k = 32 or 16 unsigned bytes.
struct ByteProduct {
  std::uint32_t d[4];

  __device__ __forceinline__ void add(uint4 a, std::uint32_t b0, std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
  }
  __device__ __forceinline__ void set(uint4 a, std::uint32_t b0, std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%10,%10,%10};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1), "r"(0));
  }
  __device__ __forceinline__ void set_half(uint4 a, std::uint32_t b) {
    asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 "
        "{%0,%1,%2,%3},{%4,%5},{%6},{%7,%7,%7,%7};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a.x), "r"(a.y), "r"(b), "r"(0));
  }
};

// -q, hidden from the compiler. Otherwise the compiler would negate the other factor of every
// product.
__device__ __forceinline__ std::uint32_t negative(std::uint32_t q) {
  std::uint32_t minus_q;
  asm("neg.s32 %0, %1;" : "=r"(minus_q) : "r"(q));
  return minus_q;
}

// Byte planes of a sum -> the sum modulo q, below 2q. Planes are below 2^22.6 (24 sources), the
// first one has a residue (below 2^31) added, so u < 2^32 and v < 2^31; with w = v + floor(u /
// 2^16) the sum is w 2^16 + u mod 2^16, and the quotient floor(w reciprocal / 2^32) is less than
// 1.6 + 2^16/q too small.
__device__ __forceinline__ std::uint32_t join_planes(std::uint32_t p0, std::uint32_t p1,
                                                     std::uint32_t p2, std::uint32_t p3,
                                                     const ConversionTarget& t,
                                                     std::uint32_t minus_q) {
  const std::uint32_t u = p0 + t.offset + __byte_perm(p1, 0, 0x2104), v = p2 + (p3 << 8);
  return u + (v << 16) + __umulhi(v + (u >> 16), t.reciprocal) * minus_q;
}

// A's share of a lane for up to eight targets from `first` on: lane 4 g + i holds target first + g,
// and sources 4 s + i of each step s of STEPS.
template <int STEPS>
struct Fragments {
  static constexpr int kPairs = (STEPS + 1) / 2;
  ConversionTarget target;
  uint4 low[kPairs], high[kPairs];  // planes 0 and 1, planes 2 and 3

  __device__ __forceinline__ void load(const ConversionView& table, int row) {
    const int i = threadIdx.x % 4, pairs = table.pairs();
    const uint4 t = __ldg(reinterpret_cast<const uint4*>(table.target + row));
    target = {t.x, t.y, t.z, t.w};
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      low[p] = high[p] = uint4{};
      if (p < pairs) {
        low[p] = __ldg(table.planes + (row * pairs + p) * 8 + 2 * i);
        high[p] = __ldg(table.planes + (row * pairs + p) * 8 + 2 * i + 1);
      }
    }
  }

  // Two entries of the lane's target from its bytes of eight columns.
  __device__ __forceinline__ uint2 multiply(const std::uint32_t (&y)[STEPS]) const {
    constexpr int kOdd = STEPS % 2, kWhole = STEPS / 2;
    ByteProduct l, h;
    const std::uint32_t minus_q = negative(target.q);
    if constexpr (kOdd == 1) {  // if the number of steps is odd, one step comes first; then pairs
      l.set_half(low[kWhole], y[STEPS - 1]);
      h.set_half(high[kWhole], y[STEPS - 1]);
    } else {
      l.set(low[0], y[0], y[1]);
      h.set(high[0], y[0], y[1]);
    }
#pragma unroll
    for (int p = 1 - kOdd; p < kWhole; ++p) {
      l.add(low[p], y[2 * p], y[2 * p + 1]);
      h.add(high[p], y[2 * p], y[2 * p + 1]);
    }
    return {join_planes(l.d[0], l.d[2], h.d[0], h.d[2], target, minus_q),
            join_planes(l.d[1], l.d[3], h.d[1], h.d[3], target, minus_q)};
  }
};

}  // namespace latticino::cuda
