// Steps of several keys in the FP64 arithmetic of fourier.h. Such a step multiplies the digits with
// one polynomial per row and component, sum_j (X^-E_j - 1) K_j (ops/lwe_operations.h, BlindRotate).
// Number i of its transform is made of those of the K_j by multiply_add(sum, x_j, K_j[i]) for
// j = 0, 1 .. from zero, with x_j the selector X^-E_j - 1 at number i.
#pragma once

#include <cstdint>
#include <vector>

#include "math/fourier.h"

namespace latticino::fourier {

// exp(i pi e / N) for e below 2N, correctly rounded.
std::vector<Complex> unit_powers(int log_n);

// X at number i of a transform is the power of this exponent: 1 + 4 times the bit reversal of i
// among the N/2 numbers, as a stage's roots are square roots of those before.
LATTICINO_FOURIER std::uint32_t root_exponent(std::uint32_t i, int log_n) {
#if defined(__CUDA_ARCH__)
  return 1 + 4 * (__brev(i) >> (33 - log_n));
#else
  std::uint32_t reversed = 0;
  for (int bit = 0; bit < log_n - 1; ++bit) reversed = reversed << 1 | (i >> bit & 1);
  return 1 + 4 * reversed;
#endif
}

// The entry of unit_powers() that is X^-E where X is the power `root_exponent`.
LATTICINO_FOURIER std::uint32_t power_index(std::uint32_t root_exponent, std::uint32_t e,
                                            int log_n) {
  return (0u - e) * root_exponent & ((2u << log_n) - 1);
}

// X^-E - 1, of X^-E.
LATTICINO_FOURIER Complex selector(Complex power) { return {minus(power.re, 1.0), power.im}; }

}  // namespace latticino::fourier
