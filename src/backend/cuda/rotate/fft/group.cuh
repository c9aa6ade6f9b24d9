// Blind rotation in FP64 with several key bits per step, for any number of ciphertexts. It works as
// rotate/fft/block.cuh, with two differences. Digits are those of acc. Each number of a key row is
// computed when it is multiplied: sum_j (X^-E_j - 1) K_j. The selectors do not depend on the row,
// but are looked up again for each row.
#pragma once

#include "backend/cuda/device/fetch.cuh"
#include "backend/cuda/rotate/fft/block.cuh"
#include "math/fourier_selector.h"

namespace latticino::cuda {

// Eight numbers per thread in every ring.
template <int LOG_N>
using FourierGroupUnit = FourierShape<LOG_N, 3>;
constexpr int kMaxGroupThreads = 256;  // limited by registers
constexpr int kMaxSelectors = 16;      // words of shared memory per ciphertext

// Numbers of a key that a thread computes together; they are neighbours.
template <int PARTS>
constexpr int kGroupNumbers = PARTS == 2 ? 4 : 2;

// x (-i)^e.
__device__ __forceinline__ Complex times_minus_i_power(Complex x, std::uint32_t e) {
  const bool swap = (e & 1) != 0, minus_re = (e & 2) != 0, minus_im = (e + 1 & 2) != 0;
  const double re = swap ? x.im : x.re, im = swap ? x.re : x.im;
  return {minus_re ? -re : re, minus_im ? -im : im};
}

// What is needed to make the numbers from `first` on of one key K_j: its numbers of all components,
// and X^-E_j at the first of them.
template <class S, int PARTS, int PRIMES>
struct KeyNumbers {
  using K = FourierKeyShape<S::kLogN, PARTS, PRIMES>;
  static constexpr int kBatch = kGroupNumbers<PARTS>;
  double2 key[kBatch][PARTS], power;
  std::uint32_t e;

  __device__ __forceinline__ void load(const FourierRotateArgs& a, std::uint32_t exponent,
                                       const double2* from, int t, int first) {
    e = exponent;
    const auto number = static_cast<std::uint32_t>(S::index(S::kPhases - 1, t, first));
    const std::uint32_t root = fourier::root_exponent(number, S::kLogN);
    power = fetch(a.roots + S::kM / 2 + fourier::power_index(root, e, S::kLogN));
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
#pragma unroll
      for (int c = 0; c < PARTS; ++c) {
        key[i][c] = fetch(from + c * S::kM + key_place<S, K>(t, first + i));
      }
    }
  }
  // The roots of neighbouring numbers differ by factors -1, i and -i, within pairs and quadruples.
  // Table entries that differ by such a factor are exactly each other's multiples.
  __device__ __forceinline__ void add(Complex (&made)[kBatch][PARTS]) const {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const std::uint32_t turn = (i & 1) * 2 + (i >> 1);
      const Complex x = fourier::selector(times_minus_i_power(complex(power), turn * e));
#pragma unroll
      for (int c = 0; c < PARTS; ++c) fourier::multiply_add(made[i][c], x, complex(key[i][c]));
    }
  }
};

// sums += x times sum_j (X^-E_j - 1) K_j, of a row: `key` is K_0's, the others `stride` apart.
template <class S, int PARTS, int PRIMES>
__device__ __forceinline__ void add_combined_products(Complex (&sums)[PARTS][S::kV],
                                                      const Complex (&x)[S::kV],
                                                      const FourierRotateArgs& a,
                                                      const std::uint32_t* exponents,
                                                      const double2* key, int t) {
  using Numbers = KeyNumbers<S, PARTS, PRIMES>;
  constexpr int kBatch = Numbers::kBatch;
  const std::size_t stride = std::size_t(a.rotate.rows()) * PARTS * S::kM;
#pragma unroll
  for (int first = 0; first < S::kV; first += kBatch) {
    Complex made[kBatch][PARTS] = {};
    Numbers now, next;
    const double2* from = key;
    next.load(a, exponents[0], from, t, first);
#pragma unroll 1
    for (int j = 1; j < a.rotate.keys; ++j) {
      now = next;
      from += stride;
      next.load(a, exponents[j], from, t, first);
      now.add(made);
    }
    next.add(made);
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
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
  // The barriers of the first transform make this visible to all threads.
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
  return fourier_ciphertext_bytes<S, PARTS, PRIMES>(levels) + sizeof(std::uint32_t) * kMaxSelectors;
}

template <class S, int PARTS, int PRIMES>
__global__ void __launch_bounds__(kMaxGroupThreads)
    blind_rotate_fft_group(const __grid_constant__ FourierRotateArgs a) {
  const std::uint32_t number = a.number();
  auto* roots = reinterpret_cast<double2*>(dynamic_shared());
  if constexpr (kFourierRoots<S, PARTS, PRIMES> != 0) place_roots<S>(roots, a.roots);
  const RotationPart part = a.parts.part(number);
  const int unit = threadIdx.x / S::kThreads;
  if (unit >= a.units(part)) return;
  FourierUnit<S, PARTS, PRIMES> u;
  const std::size_t bytes = fourier_group_bytes<S, PARTS, PRIMES>(a.rotate.gadget.levels);
  u.place(roots, unit, bytes, a);
  auto* exponents =
      reinterpret_cast<std::uint32_t*>(u.slot + bytes / sizeof(double2)) - kMaxSelectors;

  const FourierCiphertext<S, PARTS, PRIMES> c(a.rotate, a.ciphertext(part.group, unit));
  u.begin(a, part, c);
  const std::size_t of_step = std::size_t(a.rotate.keys) * a.rotate.rows() * PARTS * S::kM;
  const double2* key = a.key + part.from * of_step;
#pragma unroll 1
  for (std::uint32_t step = part.from; step < part.to; ++step, key += of_step) {
    fourier_group_step(u, a, exponents, c.exponents + step * a.rotate.group, key);
  }
  u.end(a, a.parts.part(number), unit);
}

}  // namespace latticino::cuda
