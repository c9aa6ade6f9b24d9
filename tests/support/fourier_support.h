// Transforms of the FP64 arithmetic by their definition (math/fourier.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "math/fourier.h"

namespace latticino::test {

// The transform of a polynomial's coefficients, divided by N/2.
inline std::vector<fourier::Complex> transform(const std::vector<std::int64_t>& x, int log_n) {
  using fourier::Complex;
  const std::size_t m = x.size() / 2;
  const auto roots = fourier::roots(log_n);
  std::vector<Complex> z(m);
  for (std::size_t j = 0; j < m; ++j) {
    const double scale = 1.0 / static_cast<double>(m);
    z[j] = {static_cast<double>(x[j]) * scale, static_cast<double>(x[j + m]) * scale};
  }
  for (int s = 0; s < log_n - 1; ++s) {
    const std::size_t h = m >> (s + 1);
    for (std::size_t k = 0; k < std::size_t{1} << s; ++k) {
      Complex w = roots[((std::size_t{1} << s) + k) / 2];
      if (k % 2 != 0) w = fourier::times_i(w);
      for (std::size_t j = 2 * h * k; j < 2 * h * k + h; ++j) fourier::butterfly(z[j], z[j + h], w);
    }
  }
  return z;
}

}  // namespace latticino::test
