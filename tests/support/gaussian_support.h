// A test for the distribution of samples.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>

namespace latticino::test {

// Chi-square of counts against probabilities, cells with expectation below 10 merged into one.
// Returns the standardised value (chi2 - dof) / sqrt(2 dof): above 6 is below 1e-7 by chance.
inline double chi_square(const std::map<std::int64_t, double>& counts,
                         const std::map<std::int64_t, double>& probability, double total) {
  double chi2 = 0, rest_expected = 0, rest_seen = total;
  int cells = 0;
  for (const auto& [value, p] : probability) {
    const double expected = p * total;
    if (expected < 10) {
      rest_expected += expected;
      continue;
    }
    const auto it = counts.find(value);
    const double seen = it == counts.end() ? 0 : it->second;
    chi2 += (seen - expected) * (seen - expected) / expected;
    rest_seen -= seen;
    ++cells;
  }
  if (rest_expected > 1) {
    chi2 += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
    ++cells;
  }
  return (chi2 - (cells - 1)) / std::sqrt(2.0 * (cells - 1));
}

inline std::map<std::int64_t, double> gaussian_pmf(double sigma) {
  std::map<std::int64_t, double> p;
  const int last = static_cast<int>(15 * sigma);
  double sum = 0;
  for (int x = -last; x <= last; ++x) sum += p[x] = std::exp(-0.5 * x * x / (sigma * sigma));
  for (auto& [x, value] : p) value /= sum;
  return p;
}

}  // namespace latticino::test
