// FourierKernels over `Doubles` (vec_avx512.h, vec_avx2.h): the butterflies of math/fourier.h,
// several stages for each pass over memory. The last stages, whose pairs lie within a vector, take
// blocks of kLanes vectors as matrices and transpose them.
#pragma once

#define LATTICINO_FOURIER_TARGET LATTICINO_SIMD_TARGET
#include "backend/cpu/fourier_rounding.h"

namespace latticino::cpu::LATTICINO_SIMD_TARGET {

using Number = fourier::Numbers<Doubles>;
constexpr std::size_t kLane = Doubles::kLanes;

inline Number load_number(const double* re, const double* im) {
  return {Doubles::load(re), Doubles::load(im)};
}
inline void store_number(Number x, double* re, double* im) {
  x.re.store(re);
  x.im.store(im);
}

// kStages stages on 2^kStages numbers a lane; w[2^t + b] is that of block b of the t-th of them.
template <int kStages>
inline void forward_stages(Number (&x)[1 << kStages], const Number (&w)[1 << kStages]) {
#pragma GCC unroll 4
  for (int t = 0; t < kStages; ++t) {
#pragma GCC unroll 8
    for (int i = 0; i < 1 << (kStages - 1); ++i) {
      const int log_half = kStages - 1 - t, b = i >> log_half, j = i + (b << log_half);
      fourier::butterfly(x[j], x[j + (1 << log_half)], w[(1 << t) + b]);
    }
  }
}

template <int kStages>
inline void inverse_stages(Number (&x)[1 << kStages], const Number (&w)[1 << kStages]) {
#pragma GCC unroll 4
  for (int t = kStages - 1; t >= 0; --t) {
#pragma GCC unroll 8
    for (int i = 0; i < 1 << (kStages - 1); ++i) {
      const int log_half = kStages - 1 - t, b = i >> log_half, j = i + (b << log_half);
      fourier::inverse_butterfly(x[j], x[j + (1 << log_half)], w[(1 << t) + b]);
    }
  }
}

template <bool kForward, int kStages>
inline void stages(Number (&x)[1 << kStages], const Number (&w)[1 << kStages]) {
  if constexpr (kForward) {
    forward_stages<kStages>(x, w);
  } else {
    inverse_stages<kStages>(x, w);
  }
}

// Stages s .. s + kStages - 1, whose pairs lie kLane apart or more.
template <bool kForward, int kStages>
inline void pass(double* re, double* im, int s, const FourierTable& table) {
  constexpr int kNumbers = 1 << kStages;
  const std::size_t span = std::size_t{1} << (table.log_n - 1 - s), step = span >> kStages;
  for (std::size_t k = 0; k < std::size_t{1} << s; ++k, re += span, im += span) {
    Number w[kNumbers];
#pragma GCC unroll 8
    for (int e = 1; e < kNumbers; ++e) {
      const int t = e < 2 ? 0 : e < 4 ? 1 : 2;
      const std::size_t block = (k << t) + (e - (1 << t));
      if (e > 1 && e % 2 != 0) {
        w[e] = fourier::times_i(w[e - 1]);
      } else {
        fourier::Complex root = table.roots[((std::size_t{1} << (s + t)) + block) / 2];
        if (block % 2 != 0) root = fourier::times_i(root);
        w[e] = {Doubles(root.re), Doubles(root.im)};
      }
    }
    for (std::size_t j = 0; j < step; j += kLane) {
      Number x[kNumbers];
#pragma GCC unroll 8
      for (int i = 0; i < kNumbers; ++i) x[i] = load_number(re + i * step + j, im + i * step + j);
      stages<kForward, kStages>(x, w);
#pragma GCC unroll 8
      for (int i = 0; i < kNumbers; ++i) store_number(x[i], re + i * step + j, im + i * step + j);
    }
  }
}

inline void transpose_numbers(Number (&x)[kLane]) {
  Doubles re[kLane], im[kLane];
  for (std::size_t i = 0; i < kLane; ++i) re[i] = x[i].re, im[i] = x[i].im;
  transpose(re);
  transpose(im);
  for (std::size_t i = 0; i < kLane; ++i) x[i] = {re[i], im[i]};
}

// The last kLogLanes stages.
template <bool kForward>
inline void tail(double* re, double* im, const FourierTable& table) {
  const double* from = table.tail;
  const std::size_t count = std::size_t{1} << (table.log_n - 1);
  for (std::size_t first = 0; first < count; first += kLane * kLane) {
    Number w[kLane], x[kLane];
#pragma GCC unroll 8
    for (std::size_t e = 1; e < kLane; ++e) {
      if (e > 1 && e % 2 != 0) {
        w[e] = fourier::times_i(w[e - 1]);
      } else {
        w[e] = load_number(from, from + kLane);
        from += 2 * kLane;
      }
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLane; ++i) {
      x[i] = load_number(re + first + i * kLane, im + first + i * kLane);
    }
    transpose_numbers(x);
    stages<kForward, Doubles::kLogLanes>(x, w);
    transpose_numbers(x);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLane; ++i) {
      store_number(x[i], re + first + i * kLane, im + first + i * kLane);
    }
  }
}

// The stages before the tail: what does not fill passes comes first.
template <bool kForward>
inline void odd_pass(double* re, double* im, int count, const FourierTable& table) {
  if (count == 1) pass<kForward, 1>(re, im, 0, table);
  if (count == 2) pass<kForward, 2>(re, im, 0, table);
}

inline void forward(double* re, double* im, const FourierTable& table) {
  const int head = table.log_n - 1 - Doubles::kLogLanes, odd = head % Doubles::kPassStages;
  odd_pass<true>(re, im, odd, table);
  for (int s = odd; s < head; s += Doubles::kPassStages) {
    pass<true, Doubles::kPassStages>(re, im, s, table);
  }
  tail<true>(re, im, table);
}

inline void inverse(double* re, double* im, const FourierTable& table) {
  const int head = table.log_n - 1 - Doubles::kLogLanes, odd = head % Doubles::kPassStages;
  tail<false>(re, im, table);
  for (int s = head - Doubles::kPassStages; s >= odd; s -= Doubles::kPassStages) {
    pass<false, Doubles::kPassStages>(re, im, s, table);
  }
  odd_pass<false>(re, im, odd, table);
}

// One component at a time: with the N/2 numbers of a part 4096 bytes or more apart, those of all
// would ask for more lines of one set of the cache than it has.
template <int kRows, bool kFirst>
inline void add_rows(double* sums, const double* x, const double* key, int parts, std::size_t n) {
  const std::size_t half = n / 2, row = parts * n;
  for (int c = 0; c < parts; ++c, sums += n, key += n) {
    for (std::size_t i = 0; i < half; i += kLane) {
      Number y = {Doubles(0.0), Doubles(0.0)};
      if constexpr (!kFirst) y = load_number(sums + i, sums + half + i);
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r) {
        const double *v = x + r * n + i, *k = key + r * row + i;
        fourier::multiply_add(y, load_number(v, v + half), load_number(k, k + half));
      }
      store_number(y, sums + i, sums + half + i);
    }
  }
}

inline void add_products(double* sums, const double* x, const double* key, int rows, int parts,
                         std::size_t n, bool first) {
  const std::size_t row = parts * n;
  if (first && rows > 1) {
    add_rows<2, true>(sums, x, key, parts, n);
  } else if (first) {
    add_rows<1, true>(sums, x, key, parts, n);
  }
  int r = first ? (rows > 1 ? 2 : 1) : 0;
  for (; r + 2 <= rows; r += 2) add_rows<2, false>(sums, x + r * n, key + r * row, parts, n);
  if (r < rows) add_rows<1, false>(sums, x + r * n, key + r * row, parts, n);
}

inline const FourierKernels& fourier_kernels() {
  static constexpr FourierKernels kernels{Doubles::kLogLanes, forward,     inverse, add_products,
                                          round_one,          real_digits, add_sums};
  return kernels;
}

}  // namespace latticino::cpu::LATTICINO_SIMD_TARGET
