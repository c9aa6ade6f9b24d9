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

// Roots of one ring, and those of the stages that happen within vectors (fourier_tail).
struct FourierTable {
  int log_n = 0;
  const fourier::Complex* roots = nullptr;
  const double* tail = nullptr;
  // All powers of X (fourier::unit_powers), and the root exponent of each number as the
  // implementation orders them.
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
  int log_lanes;  // of a vector: the tail is made for it

  // All stages on N/2 numbers in place, forwards and back (times N/2).
  void (*forward)(double* re, double* im, const FourierTable& table, Prefetch& ahead);
  void (*inverse)(double* re, double* im, const FourierTable& table, Prefetch& ahead);
  // sums[c] = sum_r x[r] key[r, c], from zero in the order of r: transformed polynomials one after
  // another, those of the key in FourierKeyOrder.
  void (*products)(double* sums, const double* x, const double* key, int rows, int parts,
                   std::size_t n);
  // Several keys per step. X^-E - 1 at all numbers, as a transformed polynomial; sum_j x[j] keys[j]
  // at `count` transformed x, one after another, and keys of `polynomials` polynomials each in
  // FourierKeyOrder, from zero in the order of j.
  void (*selectors)(double* out, const FourierTable& table, std::uint32_t exponent);
  void (*combine)(double* key, const double* x, const double* keys, int count, int polynomials,
                  std::size_t n);
  // `count` sums rounded to integers modulo one prime, canonical.
  void (*round_one)(std::uint32_t* out, const double* x, std::size_t count,
                    const fourier::Rounding& rounding);
  // Modulo two primes accumulators are doubles. Digit i of X^-rotation acc - acc, or of acc itself
  // where rotation is 2n, goes to out[i]; acc becomes acc + x.
  void (*real_digits)(double* const* out, const double* acc, std::size_t n, std::uint32_t rotation,
                      Gadget gadget, const fourier::Rounding& rounding);
  void (*add_sums)(double* acc, const double* x, std::size_t count,
                   const fourier::Rounding& rounding);
};

const FourierKernels& reference_fourier_kernels();

// The w of the last log_lanes stages, for blocks of 4^log_lanes numbers that are taken as a matrix.
// For each stage and each even block (or the only one): the real parts, then the imaginary parts,
// of 2^log_lanes neighbouring columns. N/2 doubles.
std::vector<double> fourier_tail(const std::vector<fourier::Complex>& roots, int log_lanes);

// The root exponents of numbers whose blocks of 4^log_lanes stand as transposed matrices.
std::vector<std::uint32_t> fourier_exponents(int log_n, int log_lanes);

}  // namespace latticino::cpu
