// Transforms of the FP64 arithmetic (math/fourier.h), beside the kernels of kernels.h: one plain
// implementation, vectorised ones, equal doubles. Real and imaginary parts lie apart.
#pragma once

#include <cstddef>

#include "math/fourier.h"

namespace latticino::cpu {

struct FourierKernels {
  // All stages on N/2 numbers in place, forwards and back (times N/2).
  void (*forward)(double* re, double* im, int log_n, const fourier::Complex* roots);
  void (*inverse)(double* re, double* im, int log_n, const fourier::Complex* roots);
  // sum += x k, number by number.
  void (*multiply_add)(double* sum_re, double* sum_im, const double* x_re, const double* x_im,
                       const double* k_re, const double* k_im, std::size_t count);
};

const FourierKernels& reference_fourier_kernels();

}  // namespace latticino::cpu
