// Short transforms for primes below 2^30, by a few threads of a warp with all their twiddles in
// registers. Butterflies are Harvey's (2014): with room for 4q in a word a butterfly reduces one
// operand once, and its chain is two multiplications and a sum.
//
// Ranges: forward [0, 4q) to [0, 4q); inverse [0, 2q) to [0, 2q).
#pragma once

#include <cstdint>

#include "backend/cuda/ntt/core.cuh"

namespace latticino::cuda {

constexpr std::uint32_t kLazyPrimeBound = 1u << 30;

// What butterflies need of a prime. The zero keeps sums of two operands off the multiplier pipe
// (opaque_zero()). 2q is computed with it, so that it stays in a register.
struct LazyPrime {
  std::uint32_t q, two_q, zero;

  __device__ __forceinline__ explicit LazyPrime(const Modulus& m)
      : q(m.q), two_q(2 * m.q + opaque_zero(m)), zero(opaque_zero(m)) {}
};

// The stages of forward_stages().
template <int FIRST, int VALUES>
__device__ __forceinline__ void forward_lazy(std::uint32_t (&x)[VALUES], const Shoup* w,
                                             const LazyPrime& m) {
#pragma unroll
  for (int s = 0; FIRST >> s > 0; ++s) {
    const int h = FIRST >> s, twiddle = VALUES / (2 * FIRST) * ((1 << s) - 1);
#pragma unroll
    for (int b = 0; b < VALUES / 2; ++b) {
      const int low = b / h * 2 * h + b % h;
      const std::uint32_t u = fold(x[low], m.two_q);
      const std::uint32_t v = mul_shoup(x[low + h], w[twiddle + b / h], m.q);
      x[low] = u + v + m.zero;
      x[low + h] = u - v + m.two_q;
    }
  }
}

// The stages of inverse_stages().
template <int FIRST, int VALUES>
__device__ __forceinline__ void inverse_lazy(std::uint32_t (&x)[VALUES], const Shoup* w,
                                             const LazyPrime& m) {
#pragma unroll
  for (int s = 0; 1 << s <= FIRST; ++s) {
    const int h = 1 << s, twiddle = VALUES / (2 * FIRST) * (FIRST / h - 1);
#pragma unroll
    for (int b = 0; b < VALUES / 2; ++b) {
      const int low = b / h * 2 * h + b % h;
      const std::uint32_t u = x[low], v = x[low + h];
      x[low] = fold(u + v + m.zero, m.two_q);
      x[low + h] = mul_shoup(u - v + m.two_q, w[twiddle + b / h], m.q);
    }
  }
}

// All twiddles of one thread in one transform (see load_wide and load_narrow).
template <class S>
struct ThreadTwiddles {
  Shoup wide[S::kWideTwiddles], narrow[S::kNarrowTwiddles];

  __device__ __forceinline__ void load(const std::uint32_t* table, std::uint32_t node, int t,
                                       const Modulus& m) {
    std::uint32_t w[S::kWideTwiddles], n[S::kNarrowTwiddles];
    load_wide<S>(w, table, node);
    load_narrow<S>(n, table, node, t);
#pragma unroll
    for (int i = 0; i < S::kWideTwiddles; ++i) wide[i] = shoup_of(w[i], m);
#pragma unroll
    for (int i = 0; i < S::kNarrowTwiddles; ++i) narrow[i] = shoup_of(n[i], m);
  }
};

// In: entries t + T j. Out: entries E t + j.
template <class S>
__device__ __forceinline__ void lazy_forward(std::uint32_t (&x)[S::kValues],
                                             const ThreadTwiddles<S>& w, std::uint32_t* shared,
                                             int t, const LazyPrime& m) {
  forward_lazy<S::kValues / 2>(x, w.wide, m);
  exchange_to_narrow<S>(x, shared, t);
  forward_lazy<S::kThreads / 2>(x, w.narrow, m);
}

// In: entries E t + j. Out: entries t + T j, times the length.
template <class S>
__device__ __forceinline__ void lazy_inverse(std::uint32_t (&x)[S::kValues],
                                             const ThreadTwiddles<S>& w, std::uint32_t* shared,
                                             int t, const LazyPrime& m) {
  inverse_lazy<S::kThreads / 2>(x, w.narrow, m);
  exchange_to_wide<S>(x, shared, t);
  inverse_lazy<S::kValues / 2>(x, w.wide, m);
}

}  // namespace latticino::cuda
