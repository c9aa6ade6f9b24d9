// Transforms and sums of the FP64 arithmetic (math/fourier.h), beside the kernels of kernels.h: one
// plain implementation, vectorised ones, equal doubles. Real and imaginary parts lie apart: a
// transformed polynomial is its N/2 real parts, then its imaginary ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "math/fourier.h"

namespace latticino::cpu {

// Roots of one ring, and those of the stages that happen within vectors (fourier_tail).
struct FourierTable {
  int log_n = 0;
  const fourier::Complex* roots = nullptr;
  const double* tail = nullptr;
};

struct FourierKernels {
  int log_lanes;  // of a vector: the tail is made for it

  // All stages on N/2 numbers in place, forwards and back (times N/2).
  void (*forward)(double* re, double* im, const FourierTable& table);
  void (*inverse)(double* re, double* im, const FourierTable& table);
  // sums[c] += sum_r x[r] key[r * parts + c], in the order of r: transformed polynomials one after
  // another. `first` adds to zeros instead of what is there.
  void (*add_products)(double* sums, const double* x, const double* key, int rows, int parts,
                       std::size_t n, bool first);
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
