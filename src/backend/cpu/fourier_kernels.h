// Transforms and sums of the FP64 arithmetic (math/fourier.h), beside the kernels of kernels.h: one
// plain implementation, vectorised ones, equal doubles. Real and imaginary parts lie apart: a
// transformed polynomial is its N/2 real parts, then its imaginary ones, in an order of the
// implementation's own (products are taken number by number).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cpu/ahead.h"
#include "math/fourier.h"

namespace latticino::cpu {

// Roots of one ring, and those of the stages that happen within vectors (fourier_tail).
struct FourierTable {
  int log_n = 0;
  const fourier::Complex* roots = nullptr;
  const double* tail = nullptr;
};

// A step of a key as products read it, from front to back: for eight numbers after the other of all
// rows the eight of every component, real parts and then imaginary ones.
struct FourierKeyOrder {
  static constexpr std::size_t kTogether = 8;
  int rows, parts;

  // Where the real part of number i lies, the imaginary one kTogether behind.
  std::size_t at(int row, int part, std::size_t i) const {
    const std::size_t line = (i / kTogether * rows + row) * parts + part;
    return line * 2 * kTogether + i % kTogether;
  }
};

struct FourierKernels {
  int log_lanes;  // of a vector: the tail is made for it

  // All stages on N/2 numbers in place, forwards and back (times N/2).
  void (*forward)(double* re, double* im, const FourierTable& table, Ahead& ahead);
  void (*inverse)(double* re, double* im, const FourierTable& table, Ahead& ahead);
  // sums[c] = sum_r x[r] key[r, c], from zero in the order of r: transformed polynomials one after
  // another, those of the key in FourierKeyOrder.
  void (*products)(double* sums, const double* x, const double* key, int rows, int parts,
                   std::size_t n);
  // `count` sums rounded to integers modulo one prime, canonical.
  void (*round_one)(std::uint32_t* out, const double* x, std::size_t count,
                    const fourier::Rounding& rounding);
  // Modulo two primes accumulators are doubles. Digit i of X^-rotation acc - acc goes to out[i],
  // rotation < 2n; acc becomes acc + x.
  void (*real_digits)(double* const* out, const double* acc, std::size_t n, std::uint32_t rotation,
                      Gadget gadget, const fourier::Rounding& rounding);
  void (*add_sums)(double* acc, const double* x, std::size_t count,
                   const fourier::Rounding& rounding);
};

const FourierKernels& reference_fourier_kernels();

// The w of the last log_lanes stages, for blocks of 4^log_lanes numbers taken as a matrix: stage
// after stage, of every even block (or the only one) the real and then the imaginary parts of
// 2^log_lanes neighbouring columns. N/2 doubles.
std::vector<double> fourier_tail(const std::vector<fourier::Complex>& roots, int log_lanes);

}  // namespace latticino::cpu
