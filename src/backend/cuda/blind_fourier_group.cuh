// Blind rotation in FP64 with several key bits a step, any number of ciphertexts: as
// blind_fourier.cuh, but that digits are those of acc and each number of a key row is made where it
// is multiplied, sum_j (X^-E_j - 1) K_j. Which row that is does not matter to the selectors, which
// are looked up again for each.
#pragma once

#include "backend/cuda/blind_fourier.cuh"
#include "math/fourier_selector.h"

namespace latticino::cuda {

// Eight numbers a thread in every ring.
template <int LOG_N>
using FourierGroupUnit = FourierShape<LOG_N, 3>;
constexpr int kMostGroupThreads = 256;  // registers
constexpr int kMostSelectors = 16;      // words of shared memory, of a ciphertext

// Numbers of a key that a thread makes together.
template <int PARTS>
constexpr int kGroupNumbers = PARTS == 2 ? 4 : 2;

// sums += x times sum_j (X^-E_j - 1) K_j, of a row: `key` is K_0's, the others `stride` apart.
template <class S, int PARTS, int PRIMES>
__device__ __forceinline__ void add_combined_products(Complex (&sums)[PARTS][S::kV],
                                                      const Complex (&x)[S::kV],
                                                      const FourierRotateArgs& a,
                                                      const std::uint32_t* exponents,
                                                      const double2* key, int t) {
  using K = FourierKeyShape<S::kLogN, PARTS, PRIMES>;
  constexpr int kTogether = kGroupNumbers<PARTS>, kLast = S::kPhases - 1;
  const double2* powers = a.roots + S::kM / 2;
  const std::size_t stride = std::size_t(a.rotate.rows()) * PARTS * S::kM;
  key += key_place<S, K>(t, 0);
#pragma unroll
  for (int first = 0; first < S::kV; first += kTogether) {
    Complex made[kTogether][PARTS] = {};
    const double2* from = key;
#pragma unroll 1
    for (int j = 0; j < a.rotate.keys; ++j, from += stride) {
      const std::uint32_t e = exponents[j];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const auto number = static_cast<std::uint32_t>(S::index(kLast, t, first + i));
        const std::uint32_t root = fourier::root_exponent(number, S::kLogN);
        const Complex f =
            fourier::selector(complex(__ldg(powers + fourier::power_index(root, e, S::kLogN))));
#pragma unroll
        for (int c = 0; c < PARTS; ++c) {
          fourier::multiply_add(made[i][c], f,
                                complex(__ldg(from + c * S::kM + key_place<S, K>(0, first + i))));
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
#pragma unroll
      for (int c = 0; c < PARTS; ++c) {
        fourier::multiply_add(sums[c][first + i], x[first + i], made[i][c]);
      }
    }
  }
}

template <class S, int PARTS, int PRIMES>
__device__ __forceinline__ void fourier_group_step(const FourierUnit<S, PARTS, PRIMES>& u,
                                                   const FourierRotateArgs& a,
                                                   std::uint32_t* exponents,
                                                   const std::uint32_t* of_step,
                                                   const double2* key) {
  const FourierDigits<PRIMES> form(a.rotate, a.rounding);
  // Seen by all behind the barriers of the first transform.
  if (u.t < a.rotate.keys) exponents[u.t] = selected_exponent(a.rotate, of_step, u.t);
  Complex sums[PARTS][S::kV] = {};
  auto* acc = u.acc;
#pragma unroll 1
  for (int c = 0; c < PARTS; ++c, acc += S::kN) {
#pragma unroll 1
    for (int level = 0; level < form.levels; ++level, key += PARTS * S::kM) {
      Complex x[S::kV];
      u.digits(
          x, form, [&](int i) { return form.pack(acc[i], 0); }, level);
      fourier_forward<S>(x, u.slot, u.roots, u.t, u.barrier);
      add_combined_products<S, PARTS, PRIMES>(sums, x, a, exponents, key, u.t);
    }
  }
  u.add(form, sums);
}

template <class S, int PARTS, int PRIMES>
__host__ __device__ constexpr std::size_t fourier_group_bytes(int levels) {
  return fourier_ciphertext_bytes<S, PARTS, PRIMES>(levels) +
         sizeof(std::uint32_t) * kMostSelectors;
}

template <class S, int PARTS, int PRIMES>
__global__ void __launch_bounds__(kMostGroupThreads)
    blind_fourier_group(const __grid_constant__ FourierRotateArgs a) {
  auto* roots = reinterpret_cast<double2*>(dynamic_shared());
  if constexpr (kFourierRoots<S, PARTS, PRIMES> != 0) place_roots<S>(roots, a.roots);
  const int unit = threadIdx.x / S::kThreads;
  if (unit >= a.units()) return;
  FourierUnit<S, PARTS, PRIMES> u;
  const std::size_t bytes = fourier_group_bytes<S, PARTS, PRIMES>(a.rotate.gadget.levels);
  u.place(roots, unit, bytes, a);
  auto* exponents =
      reinterpret_cast<std::uint32_t*>(u.slot + bytes / sizeof(double2)) - kMostSelectors;

  const FourierCiphertext<S, PARTS, PRIMES> c(a.rotate, a.ciphertext(unit));
  for (int i = u.t; i < PARTS * S::kN; i += S::kThreads) u.acc[i] = c.start(a.rotate, i);
  meet<S>(u.barrier);
  const double2* key = a.key;
  const std::size_t of_step = std::size_t(a.rotate.keys) * a.rotate.rows() * PARTS * S::kM;
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.rotate.steps; ++step, key += of_step) {
    fourier_group_step(u, a, exponents, c.exponents + step * a.rotate.group, key);
  }
  for (int i = u.t; i < PARTS * S::kN; i += S::kThreads) c.finish(a, i, u.acc[i]);
}

}  // namespace latticino::cuda
