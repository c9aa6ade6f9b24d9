// Negacyclic products of integer polynomials by a complex transform in FP64: the arithmetic Fft64
// of blind rotations. Every operation is fixed, a fused multiply-add being one, so that all
// backends give the same doubles.
//
// A real polynomial x of degree N is the complex one z_j = x_j + i x_(j+M), M = N/2, modulo
// X^M - i. Stage s = 0 .. log2 M - 1 of the network splits 2^s blocks modulo X^(2h) - w^2 into
// X^h - w and X^h + w, h = M / 2^(s+1): butterfly() for all pairs (x, y) that lie h apart. Block
// 2m + 1 of a stage has i times the w of block 2m. inverse_butterfly() undoes it, times 2.
//
// Products of rows are added up in the order of the rows (multiply_add), transformed back, and
// added to accumulators modulo the ring's modulus (Rounding): over one prime integers, over two
// primes doubles, whose last place lies far below the error of a sum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "math/gadget.h"

namespace latticino::fourier {

// Always inline: files that are compiled for one instruction set call these, and must not emit them
// for other files.
#if defined(__CUDACC__)
#define LATTICINO_FOURIER LATTICINO_HD
#else
#define LATTICINO_FOURIER inline __attribute__((always_inline))
#endif

// For doubles, or for vectors of doubles (backend/cpu/simd), which have their own versions of the
// operations below.
template <class Real>
struct Numbers {
  Real re, im;
};
using Complex = Numbers<double>;

// One rounding each; compilers must not fuse the last three with what follows.
LATTICINO_FOURIER double fused_add(double a, double b, double c) {  // a b + c
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}
LATTICINO_FOURIER double times(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
LATTICINO_FOURIER double plus(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
template <class Real>
LATTICINO_FOURIER Real minus(Real a, Real b) {
  return plus(a, -b);
}

// (x, y) -> (x + w y, x - w y), the second as 2 x less the first: six operations.
template <class Real>
LATTICINO_FOURIER void butterfly(Numbers<Real>& x, Numbers<Real>& y, Numbers<Real> w) {
  const Real re = fused_add(-w.im, y.im, fused_add(w.re, y.re, x.re));
  const Real im = fused_add(w.im, y.re, fused_add(w.re, y.im, x.im));
  y = {fused_add(Real(2), x.re, -re), fused_add(Real(2), x.im, -im)};
  x = {re, im};
}

// (x, y) -> (x + y, (x - y) / w), |w| = 1.
template <class Real>
LATTICINO_FOURIER void inverse_butterfly(Numbers<Real>& x, Numbers<Real>& y, Numbers<Real> w) {
  const Numbers<Real> d = {minus(x.re, y.re), minus(x.im, y.im)};
  x = {plus(x.re, y.re), plus(x.im, y.im)};
  y = {fused_add(d.im, w.im, times(d.re, w.re)), fused_add(-d.re, w.im, times(d.im, w.re))};
}

// sum += x k.
template <class Real>
LATTICINO_FOURIER void multiply_add(Numbers<Real>& sum, Numbers<Real> x, Numbers<Real> k) {
  sum.re = fused_add(-x.im, k.im, fused_add(x.re, k.re, sum.re));
  sum.im = fused_add(x.im, k.re, fused_add(x.re, k.im, sum.im));
}

// The w of even blocks: that of block k of stage s is entry (2^s + k) / 2, times i for odd k > 0.
// Correctly rounded (math/fft_tables.h); M / 2 entries.
std::vector<Complex> roots(int log_n);
template <class Real>
LATTICINO_FOURIER constexpr Numbers<Real> times_i(Numbers<Real> w) {
  return {-w.im, w.re};
}

// What this arithmetic has to know of a blind rotation (ops/lwe_operations.h).
struct Rotation {
  int log_n = 0, glwe_dimension = 1, group = 1;
  bool ternary = false;
  Gadget gadget;
  int primes = 1;
  std::uint64_t modulus = 0;  // product of the primes

  int rows() const { return (glwe_dimension + 1) * gadget.levels; }
  // log2 of the largest sum of a coefficient: rows N (B/2) (Q/2); several keys: fourier.cc.
  double log_sum() const;
};
// Sums modulo one prime up to 2^kMaxExactLogSum are exact integers after rounding. From sums modulo
// two primes, up to 2^kMaxRoundedLogSum, a multiple of Q below 2^51 Q is subtracted. docs/tfhe.md
// bounds the errors. The digits of two primes are the low bits of a double.
constexpr double kMaxExactLogSum = 50, kMaxRoundedLogSum = 100;
constexpr int kMaxRoundedDigitBits = 50;
// Empty if this arithmetic can compute the rotation. Otherwise why it cannot, and which rotation it
// could compute.
struct Refusal {
  std::string had, needs;
  bool empty() const { return had.empty(); }
};
Refusal refusal(const Rotation& rotation);
constexpr bool has_degree(int log_n) { return log_n >= 10 && log_n <= 12; }

// Accumulators modulo Q. Adding 1.5 2^52 rounds to an integer, half to even, and leaves it in the
// low bits of the word: below 2^51 in size.
struct Rounding {
  static constexpr double kShift = 6755399441055744.0;  // 1.5 2^52
  static constexpr std::int64_t kShiftBits = 0x4338000000000000;

  double modulus = 0, inverse = 0;  // Q and 1/Q, rounded
  double low = 0;                   // Q minus its rounded value
  double scale = 1;                 // 2^-gadget_shift: digits leave out the bits below

  Rounding() = default;
  explicit Rounding(const Rotation& rotation);

  LATTICINO_FOURIER static std::int64_t bits(double x) {
#if defined(__CUDA_ARCH__)
    return __double_as_longlong(x);
#else
    return __builtin_bit_cast(std::int64_t, x);
#endif
  }
  // One prime below 2^31, |x| < 2^53 (fourier.cc): congruent to x rounded, at most (Q + 1) / 2.
  LATTICINO_FOURIER std::int32_t one_prime(double x) const {
    const double whole = minus(fused_add(x, inverse, kShift), kShift);
    return static_cast<std::int32_t>(bits(plus(fused_add(-whole, modulus, x), kShift)));
  }

  // Two primes: acc + x modulo Q, at most a little more than Q/2 in size. Q has more bits than a
  // double holds, so its multiple is subtracted in two parts, of `modulus` and of `low`.
  LATTICINO_FOURIER double sum(double acc, double x) const {
    const double whole = minus(plus(fused_add(x, inverse, times(acc, inverse)), kShift), kShift);
    return fused_add(-whole, low, plus(fused_add(-whole, modulus, x), acc));
  }
  // (turned - own) modulo Q, centred, times scale, rounded to an integer, plus kShift: the bits
  // that digits are made from.
  LATTICINO_FOURIER double difference(double turned, double own) const {
    const double d = minus(turned, own);
    const double whole = minus(fused_add(d, inverse, kShift), kShift);
    return fused_add(fused_add(-whole, modulus, d), scale, kShift);
  }
};

}  // namespace latticino::fourier
