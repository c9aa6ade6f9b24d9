#include "ckks/bootstrap/transform_noise.h"

#include <algorithm>
#include <cmath>

namespace latticino::ckks::bootstrap {

double relative_noise(const TransformChain& chain, const std::vector<double>& constants) {
  double power = chain.input_power, sum = 0;
  for (std::size_t j = 0; j < constants.size(); ++j) {
    const double stage_gain = std::ldexp(1.0, chain.inverse ? -chain.stages[j] : chain.stages[j]);
    // A diagonal is rounded in the 2 * period coefficients of its polynomial.
    const bool wraps = j == (chain.inverse ? 0 : constants.size() - 1);
    const double diagonals = std::ldexp(1.0, chain.stages[j] + (wraps ? 0 : 1));
    const double encoding = diagonals * std::ldexp(1.0 / 12, chain.log_period[j] + 1) * power /
                            (chain.plaintext_scales[j] * chain.plaintext_scales[j]);
    power *= stage_gain * constants[j] * constants[j];
    sum += (encoding + chain.noise_coefficients * chain.rounding[j]) / power;
  }
  return sum;
}

namespace {

// Coefficients of an encoded diagonal must stay below 2^62. Entries of the inverse transform are at
// most 2^-k and have random phases, so coefficients are smaller by the root of the period; the
// largest one is at most 2^4 times as large. But 2^-k of the entries are equal and add up.
bool can_encode(const TransformChain& chain, std::size_t j, double constant) {
  const int k = chain.inverse ? chain.stages[j] : 0;
  const int bits = std::min(58 + k + chain.log_period[j] / 2, 61 + 2 * std::max(k, 3));
  return constant * chain.plaintext_scales[j] <= std::ldexp(1.0, bits);
}

}  // namespace

std::vector<double> share_constant(const TransformChain& chain, double total) {
  const std::size_t m = chain.stages.size();
  std::vector<double> c(m, 1.0);
  c.back() = total;
  // The noise is convex in the exponents: moving single bits between pairs finds the least.
  double best = relative_noise(chain, c);
  for (bool improved = true; improved;) {
    improved = false;
    for (std::size_t from = 0; from < m; ++from) {
      for (std::size_t to = 0; to < m; ++to) {
        if (from == to) continue;
        std::vector<double> trial = c;
        trial[from] *= 0.5;
        trial[to] *= 2;
        const double noise = relative_noise(chain, trial);
        if (noise < best && can_encode(chain, to, trial[to])) {
          best = noise;
          c = trial;
          improved = true;
        }
      }
    }
  }
  return c;
}

}  // namespace latticino::ckks::bootstrap
