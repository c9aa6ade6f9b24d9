// Loops of FourierKernels that compilers vectorise as they are, compiled once for each instruction
// set (LATTICINO_FOURIER_TARGET, the namespace). No contraction, so the same integers from all.
#pragma once

#include "backend/cpu/fourier_kernels.h"

namespace latticino::cpu::LATTICINO_FOURIER_TARGET {

inline void round_one(std::uint32_t* __restrict out, const double* __restrict x, std::size_t count,
                      const fourier::Rounding& rounding) {
  const fourier::Rounding local = rounding;
  const auto q = static_cast<std::int32_t>(local.integer);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t y = local.one_prime(x[i]);
    out[i] = static_cast<std::uint32_t>(y + (y < 0 ? q : 0));
  }
}

inline void round_two(std::int64_t* __restrict out, const double* __restrict x, std::size_t count,
                      const fourier::Rounding& rounding) {
  const fourier::Rounding local = rounding;
  for (std::size_t i = 0; i < count; ++i) out[i] = local.two_primes(x[i]);
}

}  // namespace latticino::cpu::LATTICINO_FOURIER_TARGET
