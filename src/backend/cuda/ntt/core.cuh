// Butterflies on values in registers. A transform of length L = 2^k runs on T = L / E threads with
// E = 2^log_radix(k) values each, in two rounds of stages:
//   wide round    thread t holds entries t + T j: the stages of strides L/2 .. T;
//   narrow round  thread t holds entries E t + j: the stages of strides T/2 .. 1.
// Forward runs wide, then narrow; inverse narrow, then wide.
//
// Ranges, for any odd q < 2^31 (2q fits a word): forward stages take and give [0, 2q), inverse
// stages [0, q). A butterfly has one more conditional subtraction than primes below 2^30 would need
// (Harvey 2014): those leave room for 4q (ntt/lazy.cuh).
#pragma once

#include <cstdint>

#include "backend/cuda/device/layout.h"
#include "backend/cuda/device/modular.cuh"

namespace latticino::cuda {

template <int LOG_LENGTH>
struct TransformShape {
  static constexpr int kLogLength = LOG_LENGTH;
  static constexpr int kLogValues = log_radix(LOG_LENGTH);
  static constexpr int kLogThreads = kLogLength - kLogValues;
  static constexpr int kLength = 1 << LOG_LENGTH;
  static constexpr int kValues = 1 << kLogValues;     // E
  static constexpr int kThreads = kLength / kValues;  // T
  static constexpr int kBlocks = kValues / kThreads;  // blocks of T entries in a narrow round
  static constexpr int kWideTwiddles = kValues - 1;
  static constexpr int kNarrowTwiddles = kBlocks * (kThreads - 1);
  static_assert(kThreads <= kValues && kThreads >= 4);
};

// Butterflies keep the multiplier pipe busy, and the assembler likes to put sums of two operands
// there as well (a quarter of its slots in a column transform). Sums of three operands go to the
// adders. The assembler does not know that this value is zero (q q^-1 = 1 mod 2^32), so adding it
// makes every sum one of three. Some passes are faster if the assembler chooses the pipe of u + v
// (ADDERS false). These are passes that load and store more per butterfly, and passes that do not
// use the matrix units at the same time. These are the row transforms, and all passes of a column
// transform except the wide round of the forward one (docs/lab/key-switching.md).
__device__ __forceinline__ std::uint32_t opaque_zero(const Modulus& m) { return m.q * m.inv - 1; }

// x w mod q in [0, q) for any word x: Montgomery words (w R) or Shoup pairs.
__device__ __forceinline__ std::uint32_t mul_twiddle(std::uint32_t x, std::uint32_t w,
                                                     const Modulus& m, std::uint32_t zero) {
  const std::uint64_t z = static_cast<std::uint64_t>(x) * w;
  const std::uint32_t k = static_cast<std::uint32_t>(z) * m.inv;
  const std::uint32_t t = static_cast<std::uint32_t>(z >> 32) - __umulhi(k, m.q) + zero;
  return min(t, t + m.q);  // (-q, q): see canonical()
}
__device__ __forceinline__ std::uint32_t mul_twiddle(std::uint32_t x, Shoup w, const Modulus& m,
                                                     std::uint32_t = 0) {
  return fold(mul_shoup(x, w, m.q), m.q);
}

// The stages of strides FIRST, FIRST/2 .. 1 over the registers. w has the twiddles stage by stage;
// a stage of stride h has VALUES / 2h of them. CANONICAL: all x are below q, so the first stage
// need not reduce them.
template <int FIRST, bool ADDERS = true, bool CANONICAL = false, int VALUES, class Twiddles>
__device__ __forceinline__ void forward_stages(std::uint32_t (&x)[VALUES], const Twiddles& w,
                                               const Modulus& m) {
  const std::uint32_t zero = opaque_zero(m), sum_zero = ADDERS ? zero : 0;
#pragma unroll
  for (int s = 0; FIRST >> s > 0; ++s) {
    const int h = FIRST >> s, twiddle = VALUES / (2 * FIRST) * ((1 << s) - 1);
#pragma unroll
    for (int b = 0; b < VALUES / 2; ++b) {
      const int low = b / h * 2 * h + b % h;
      const std::uint32_t u = CANONICAL && s == 0 ? x[low] : fold(x[low], m.q);
      const std::uint32_t v = mul_twiddle(x[low + h], w[twiddle + b / h], m, zero);
      x[low] = u + v + sum_zero;
      x[low + h] = u - v + m.q;
    }
  }
}

// The inverse: strides 1, 2 .. FIRST.
template <int FIRST, bool ADDERS = true, int VALUES, class Twiddles>
__device__ __forceinline__ void inverse_stages(std::uint32_t (&x)[VALUES], const Twiddles& w,
                                               const Modulus& m) {
  const std::uint32_t zero = opaque_zero(m), sum_zero = ADDERS ? zero : 0;
#pragma unroll
  for (int s = 0; 1 << s <= FIRST; ++s) {
    const int h = 1 << s, twiddle = VALUES / (2 * FIRST) * (FIRST / h - 1);
#pragma unroll
    for (int b = 0; b < VALUES / 2; ++b) {
      const int low = b / h * 2 * h + b % h;
      const std::uint32_t u = x[low], v = x[low + h];
      x[low] = fold(u + v + sum_zero, m.q);
      x[low + h] = mul_twiddle(u - v + m.q, w[twiddle + b / h], m, zero);
    }
  }
}

// The last stage of an inverse transform (stride VALUES/2, one block), with a constant merged in:
// `last` is the stage's twiddle times `scale`.
template <int VALUES, class Scale, class Last>
__device__ __forceinline__ void inverse_last_stage(std::uint32_t (&x)[VALUES], Scale scale,
                                                   Last last, const Modulus& m) {
  constexpr int H = VALUES / 2;
  const std::uint32_t zero = opaque_zero(m);
#pragma unroll
  for (int j = 0; j < H; ++j) {
    const std::uint32_t u = x[j], v = x[j + H];
    x[j] = mul_twiddle(u + v + zero, scale, m, zero);
    x[j + H] = mul_twiddle(u - v + m.q, last, m, zero);
  }
}

// An address that is known to be global although the compiler cannot see it (limb addresses in
// shared memory). Loads and stores through it need no test of the address space.
template <class T>
__device__ __forceinline__ T* global(T* p) {
  __builtin_assume(__isGlobal(p));
  return p;
}

// COUNT constants from p, which is aligned to the smaller of their size and 16 bytes.
template <int COUNT>
__device__ __forceinline__ void load_constants(std::uint32_t* w, const std::uint32_t* p) {
  if constexpr (COUNT == 1) {
    w[0] = __ldg(p);
  } else if constexpr (COUNT == 2) {
    const uint2 v = __ldg(reinterpret_cast<const uint2*>(p));
    w[0] = v.x, w[1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
      const uint4 v = __ldg(reinterpret_cast<const uint4*>(p + i));
      w[i] = v.x, w[i + 1] = v.y, w[i + 2] = v.z, w[i + 3] = v.w;
    }
  }
}
template <int COUNT>
__device__ __forceinline__ void load_constants(Shoup* w, const Shoup* p) {
  if constexpr (COUNT == 1) {
    const uint2 v = __ldg(reinterpret_cast<const uint2*>(p));
    w[0] = {v.x, v.y};
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i += 2) {
      const uint4 v = __ldg(reinterpret_cast<const uint4*>(p + i));
      w[i] = {v.x, v.y}, w[i + 1] = {v.z, v.w};
    }
  }
}

// Twiddles of a wide round. The table entry of block b of stage s is (node << s) + b: node 1 for a
// column transform, rows + r for the transform of row r.
template <class S, class Twiddle, int COUNT>
__device__ __forceinline__ void load_wide(Twiddle (&w)[COUNT], const Twiddle* table,
                                          std::uint32_t node) {
  static_assert(COUNT == S::kWideTwiddles);
  load_constants<1>(w, table + node);
  load_constants<2>(w + 1, table + (node << 1));
  load_constants<4>(w + 3, table + (node << 2));
  if constexpr (S::kLogValues > 3) load_constants<8>(w + 7, table + (node << 3));
  if constexpr (S::kLogValues > 4) load_constants<16>(w + 15, table + (node << 4));
}

// Twiddles of a narrow round of thread t: stages kLogValues and later.
template <class S, class Twiddle, int COUNT>
__device__ __forceinline__ void load_narrow(Twiddle (&w)[COUNT], const Twiddle* table,
                                            std::uint32_t node, int t) {
  constexpr int B = S::kBlocks;
  static_assert(COUNT == S::kNarrowTwiddles);
  const std::uint32_t first = (node << S::kLogValues) + B * t;
  load_constants<B>(w, table + first);
  load_constants<2 * B>(w + B, table + (first << 1));
  if constexpr (S::kThreads > 4) load_constants<4 * B>(w + 3 * B, table + (first << 2));
  if constexpr (S::kThreads > 8) load_constants<8 * B>(w + 7 * B, table + (first << 3));
}

// The threads of a transform, all of one warp, exchange their values between its rounds through
// kLength + kThreads words of shared memory: entry c at c + c / E, so that both rounds touch all
// banks.
template <class S>
__device__ __forceinline__ void exchange_to_narrow(std::uint32_t (&x)[S::kValues],
                                                   std::uint32_t* shared, int t) {
  __syncwarp();
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) {
    const int c = S::kThreads * j;
    shared[t + c + c / S::kValues] = x[j];
  }
  __syncwarp();
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = shared[(S::kValues + 1) * t + j];
}

template <class S>
__device__ __forceinline__ void exchange_to_wide(std::uint32_t (&x)[S::kValues],
                                                 std::uint32_t* shared, int t) {
  __syncwarp();
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) shared[(S::kValues + 1) * t + j] = x[j];
  __syncwarp();
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) {
    const int c = S::kThreads * j;
    x[j] = shared[t + c + c / S::kValues];
  }
}

}  // namespace latticino::cuda
