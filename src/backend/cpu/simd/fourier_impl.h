// FourierKernels over `Doubles` (vec_avx512.h, vec_avx2.h): the butterflies of math/fourier.h,
// several stages for each pass over memory. The last stages, whose pairs lie within a vector, take
// blocks of kLanes vectors as matrices and transpose them.
#pragma once

#define LATTICINO_FOURIER_TARGET LATTICINO_SIMD_TARGET
#include "backend/cpu/fourier_rounding.h"
#include "backend/cpu/simd/fetch.h"

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

// kStages stages on 2^kStages numbers per lane; w[2^t + b] is the root of block b of stage t.
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
inline void pass(double* re, double* im, int s, const FourierTable& table, Fetch& fetch) {
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
      fetch.piece();
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

// The last kLogLanes stages. A block of transformed numbers stays transposed.
template <bool kForward>
inline void tail(double* re, double* im, const FourierTable& table, Fetch& fetch) {
  const double* from = table.tail;
  const std::size_t count = std::size_t{1} << (table.log_n - 1);
  for (std::size_t first = 0; first < count; first += kLane * kLane) {
    fetch.piece();
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
    if constexpr (kForward) transpose_numbers(x);
    stages<kForward, Doubles::kLogLanes>(x, w);
    if constexpr (!kForward) transpose_numbers(x);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLane; ++i) {
      store_number(x[i], re + first + i * kLane, im + first + i * kLane);
    }
  }
}

// The stages before the tail. If their number is no multiple of a pass, the shorter pass comes
// first.
template <bool kForward>
inline void odd_pass(double* re, double* im, int count, const FourierTable& table, Fetch& fetch) {
  if (count == 1) pass<kForward, 1>(re, im, 0, table, fetch);
  if (count == 2) pass<kForward, 2>(re, im, 0, table, fetch);
}

// How the stages are divided into passes, and how many pieces of work they have.
struct Cut {
  explicit Cut(const FourierTable& table)
      : head(table.log_n - 1 - Doubles::kLogLanes), odd(head % Doubles::kPassStages) {
    const std::size_t vectors = std::size_t{1} << (table.log_n - 1 - Doubles::kLogLanes);
    const int passes = head / Doubles::kPassStages;
    pieces = (vectors >> Doubles::kPassStages) * static_cast<std::size_t>(passes) +
             (odd > 0 ? vectors >> odd : 0) + vectors / kLane;
  }
  int head, odd;
  std::size_t pieces;
};

inline void forward(double* re, double* im, const FourierTable& table, Prefetch& ahead) {
  const Cut cut(table);
  Fetch fetch(ahead, cut.pieces);
  odd_pass<true>(re, im, cut.odd, table, fetch);
  for (int s = cut.odd; s < cut.head; s += Doubles::kPassStages) {
    pass<true, Doubles::kPassStages>(re, im, s, table, fetch);
  }
  tail<true>(re, im, table, fetch);
}

inline void inverse(double* re, double* im, const FourierTable& table, Prefetch& ahead) {
  const Cut cut(table);
  Fetch fetch(ahead, cut.pieces);
  tail<false>(re, im, table, fetch);
  for (int s = cut.head - Doubles::kPassStages; s >= cut.odd; s -= Doubles::kPassStages) {
    pass<false, Doubles::kPassStages>(re, im, s, table, fetch);
  }
  odd_pass<false>(re, im, cut.odd, table, fetch);
}

// Reads whole cache lines of the key at a time.
template <int kParts>
inline void products_of(double* sums, const double* x, const double* key, int rows, std::size_t n) {
  constexpr std::size_t kLine = FourierKeyOrder::kInterleaved, kVectors = kLine / kLane;
  const std::size_t half = n / 2;
  for (std::size_t i = 0; i < half; i += kLine) {
    Number sum[kVectors][kParts];
    for (auto& parts : sum) {
      for (Number& s : parts) s = {Doubles(0.0), Doubles(0.0)};
    }
    for (int r = 0; r < rows; ++r, key += 2 * kLine * kParts) {
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kVectors; ++v) {
        const double* from = x + r * n + i + v * kLane;
        const Number d = load_number(from, from + half);
#pragma GCC unroll 3
        for (int c = 0; c < kParts; ++c) {
          const double* k = key + 2 * kLine * c + v * kLane;
          fourier::multiply_add(sum[v][c], d, load_number(k, k + kLine));
        }
      }
    }
    for (int c = 0; c < kParts; ++c) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        double* to = sums + c * n + i + v * kLane;
        store_number(sum[v][c], to, to + half);
      }
    }
  }
}

inline void products(double* sums, const double* x, const double* key, int rows, int parts,
                     std::size_t n) {
  return parts == 2 ? products_of<2>(sums, x, key, rows, n) : products_of<3>(sums, x, key, rows, n);
}

inline const FourierKernels& fourier_kernels() {
  static constexpr FourierKernels kernels{Doubles::kLogLanes, forward,     inverse,
                                          products,           selectors,   combine,
                                          round_one,          real_digits, add_sums};
  return kernels;
}

}  // namespace latticino::cpu::LATTICINO_SIMD_TARGET
