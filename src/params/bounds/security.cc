#include "params/bounds/security.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace latticino {

double max_log_pq_128(int log_n) {
  constexpr std::array<double, 8> kBound = {26, 53, 106, 214, 430, 868, 1747, 3523};
  return log_n < 10 || log_n > 17 ? 0 : kBound[log_n - 10];
}

double max_log_encapsulation_128(int log_n) {
  if (log_n < 15) return 0;
  return log_n == 15 ? 84 : 121;
}

double min_log_lwe_noise_128(int dimension) {
  return dimension < 450 ? 0 : 2.657 - 0.02489 * dimension;
}

double least_sigma_128(int dimension, double log_q) {
  return std::max(3.19, std::ceil(std::exp2(log_q + min_log_lwe_noise_128(dimension))));
}

double estimated_lwe_bits(int dimension, double log_noise) {
  return 3.3115 * dimension / (2.635 - log_noise);
}

}  // namespace latticino
