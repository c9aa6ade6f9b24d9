// Transforms and sums of the FP64 arithmetic (math/fourier.h), in addition to the kernels of
// kernels.h. A plain and several vectorised implementations give equal doubles. A transformed
// polynomial is stored as its N/2 real parts, then its imaginary parts. Each implementation has its
// own order of numbers, because products are taken number by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cpu/prefetch.h"
#include "math/fourier.h"

namespace latticino::cpu {

// The roots of one ring, and those of the stages inside vectors (fourier_tail).
struct FourierTable {
  int log_n = 0;
  const fourier::Complex* roots = nullptr;
  const double* tail = nullptr;
  // All powers of X (fourier::unit_powers), and for each number the exponent of its root, in the
  // order of the implementation.
  const fourier::Complex* powers = nullptr;
  const std::uint32_t* exponents = nullptr;
};

// One K_tj of a key, in the order in which products read it: for each group of eight numbers, for
// all rows, the eight of every component, with real parts before imaginary ones.
struct FourierKeyOrder {
  static constexpr std::size_t kInterleaved = 8;
  int rows, parts;

  // The place of the real part of number i. The imaginary part is kInterleaved places further.
  std::size_t at(int row, int part, std::size_t i) const {
    const std::size_t line = (i / kInterleaved * rows + row) * parts + part;
    return line * 2 * kInterleaved + i % kInterleaved;
  }
};

struct FourierKernels {
  int log_lanes;  // log2 of the lanes of the vectors that the tail is made for

  // All stages of a transform, in place, on N/2 numbers. The way back multiplies by N/2.
  void (*forward)(double* re, double* im, const FourierTable& table, Prefetch& ahead);
  void (*inverse)(double* re, double* im, const FourierTable& table, Prefetch& ahead);
  // sums[c] = sum_r x[r] key[r, c]. The sums start at zero and add in the order of r. Transformed
  // polynomials follow one another; those of the key are in FourierKeyOrder.
  void (*products)(double* sums, const double* x, const double* key, int rows, int parts,
                   std::size_t n);
  // For several keys per step. The first computes X^-E - 1 at all numbers, as a transformed
  // polynomial. The second computes sum_j x[j] keys[j] for `count` transformed x, one after
  // another; each of the keys has `polynomials` polynomials in FourierKeyOrder. Sums start at zero
  // and add in the order of j.
  void (*selectors)(double* out, const FourierTable& table, std::uint32_t exponent);
  void (*combine)(double* key, const double* x, const double* keys, int count, int polynomials,
                  std::size_t n);
  // Rounds `count` sums to integers modulo one prime, canonical.
  void (*round_one)(std::uint32_t* out, const double* x, std::size_t count,
                    const fourier::Rounding& rounding);
  // For two primes, whose accumulators are doubles. Digit i of X^-rotation acc - acc goes to
  // out[i]; if rotation is 2n, digit i of acc itself does. The last one adds x to acc.
  void (*real_digits)(double* const* out, const double* acc, std::size_t n, std::uint32_t rotation,
                      Gadget gadget, const fourier::Rounding& rounding);
  void (*add_sums)(double* acc, const double* x, std::size_t count,
                   const fourier::Rounding& rounding);
};

const FourierKernels& reference_fourier_kernels();

// The w of the last log_lanes stages, for blocks of 4^log_lanes numbers that are taken as a matrix.
// For each stage, and for each even block of it (or its only block), the table has the real parts
// of 2^log_lanes neighbouring columns, then their imaginary parts. N/2 doubles in all.
std::vector<double> fourier_tail(const std::vector<fourier::Complex>& roots, int log_lanes);

// The root exponents of numbers, if blocks of 4^log_lanes numbers are stored as transposed
// matrices.
std::vector<std::uint32_t> fourier_exponents(int log_n, int log_lanes);

}  // namespace latticino::cpu
