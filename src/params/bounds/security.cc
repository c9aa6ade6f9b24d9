#include "params/bounds/security.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace latticino {

namespace {

using Row = std::array<double, 8>;  // for N = 2^10 .. 2^17; 0: no table covers it
constexpr Row kClassical[] = {{26, 53, 106, 214, 430, 868, 1747, 3523},
                              {0, 36, 73, 147, 297, 597, 1199, 2411},
                              {0, 27, 56, 114, 230, 462, 929, 1866}};
constexpr Row kQuantum[] = {{25, 50, 101, 202, 409, 825, 1663, 3348},
                            {0, 34, 69, 140, 283, 570, 1145, 2301},
                            {0, 26, 53, 108, 219, 442, 888, 1784}};

}  // namespace

double max_log_pq(int log_n, int bits, bool quantum, int hamming_weight) {
  if (log_n < 10 || log_n > 17 || (bits != 128 && bits != 192 && bits != 256)) return 0;
  if (hamming_weight != 0 && hamming_weight < (1 << log_n) / 2) return 0;
  return (quantum ? kQuantum : kClassical)[bits / 64 - 2][log_n - 10];
}

double max_log_pq_128(int log_n) { return max_log_pq(log_n, 128, false, 0); }

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
