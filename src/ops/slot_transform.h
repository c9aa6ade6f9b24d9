// The special FFT over the powers of five: n complex slots <-> n complex coefficients, in the fixed
// order of operations that makes encodings the same bits on every backend. Stage `len` works on
// pairs (x, y) len/2 apart, j < len/2 being the place in the block, w = exp(2 pi i 5^j / (4 len)):
//   forward, len = 2, 4 .. n:  v = y w;  x' = x + v;  y' = x - v
//     v.re = y.re w.re - y.im w.im            v.im = y.re w.im + y.im w.re
//   inverse, len = n .. 4, 2:  d = x - y;  x' = x + y;  y' = d conj(w)
//     y'.re = d.re w.re + d.im w.im           y'.im = d.im w.re - d.re w.im
// Every product and sum is rounded to double by itself, none is fused. Coefficients are in
// bit-reversed order, slots in natural order; the factor 1/n of the inverse is left to the caller.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "math/fft_tables.h"
#include "poly/ring.h"

namespace latticino {

// Twiddles of all slot counts of one degree, with what a backend keeps beside them. Immutable.
class SlotTransform {
 public:
  explicit SlotTransform(int log_n) : log_n_(log_n), tables_(log_n - 1) {}

  int log_n() const { return log_n_; }
  int max_slots() const { return 1 << (log_n_ - 1); }
  const FftTables& tables() const { return tables_; }

  // The same as for a Ring: one backend instance for each object.
  std::shared_ptr<BackendTable>& backend_table() const { return backend_table_; }
  std::once_flag& backend_once() const { return backend_once_; }

 private:
  int log_n_;
  FftTables tables_;
  mutable std::shared_ptr<BackendTable> backend_table_;
  mutable std::once_flag backend_once_;
};

namespace slots {

// One stage of n numbers, `half` = len/2, w_re and w_im its half twiddles. Real and imaginary parts
// apart: interleaved complex products invite some compilers to fuse multiply-adds even where
// contraction is off.
using Stage = void (*)(double* re, double* im, std::size_t n, std::size_t half, const double* w_re,
                       const double* w_im);
void forward_stage(double* re, double* im, std::size_t n, std::size_t half, const double* w_re,
                   const double* w_im);
void inverse_stage(double* re, double* im, std::size_t n, std::size_t half, const double* w_re,
                   const double* w_im);

// All stages, in place.
void forward(const FftTables& tables, double* re, double* im, std::size_t n,
             Stage stage = forward_stage);
void inverse(const FftTables& tables, double* re, double* im, std::size_t n,
             Stage stage = inverse_stage);

// The lowest `bits` bits of i in reverse order.
inline std::size_t bit_reversed(std::size_t i, int bits) {
  std::size_t out = 0;
  for (int b = 0; b < bits; ++b) out |= ((i >> b) & 1) << (bits - 1 - b);
  return out;
}

// The reversal of i + 1 from that of i, for a power of two `n`: a counter whose carries go
// downwards.
inline std::size_t next_reversed(std::size_t reversed, std::size_t n) {
  std::size_t bit = n >> 1;
  for (; (reversed & bit) != 0; bit >>= 1) reversed ^= bit;
  return reversed ^ bit;
}

// Coefficients at or above this do not fit an Embed (operations.h).
inline constexpr double kCoefficientLimit = 4611686018427387904.0;  // 2^62
inline double coefficient_limit(double bound) {
  return bound > 0 && bound < kCoefficientLimit ? bound : kCoefficientLimit;
}

}  // namespace slots
}  // namespace latticino
