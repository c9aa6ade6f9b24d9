#include "params/tfhe/noise.h"

#include <cmath>

namespace latticino {
namespace {

// E[d^2] of a digit uniform in [-B/2, B/2).
double digit_square(Gadget g) { return std::exp2(2 * g.log_base) / 12 + 1.0 / 6; }

int keys_per_step(const TfheNoiseModel& m) { return m.ternary ? 2 : (1 << m.group) - 1; }
double steps(const TfheNoiseModel& m) { return static_cast<double>(m.lwe_dimension) / m.group; }

}  // namespace

double bootstrap_variance(const TfheNoiseModel& m) {
  const double k = m.glwe_dimension, big = k * m.degree;
  const double key = m.bootstrap.levels * (k + 1) * m.degree * digit_square(m.bootstrap) *
                     m.glwe_sigma * m.glwe_sigma;
  const double rounding = (1 + big / 2) * std::exp2(2 * m.bootstrap_step) / 12;
  const int keys = keys_per_step(m);
  if (keys == 1) return steps(m) * (key + rounding * m.secret_square);
  // sum_j (X^e_j - 1) K_j: the rounding counts where one selector is 1, and twice then.
  const double selected = m.ternary ? m.secret_square : 1 - std::exp2(-m.group);
  return steps(m) * 2 * (keys * key + selected * rounding);
}

double fft64_variance(const TfheNoiseModel& m) {
  const double k = m.glwe_dimension, l = m.bootstrap.levels;
  const double e =
      2 * std::fmax(0, m.log_ring_modulus - 53) + 2 * m.bootstrap.log_base - 2 * m.log_ring_modulus;
  return m.lwe_dimension * 0.00705 * std::exp2(e) * std::pow(l, 1.01827) * std::pow(k, 1.22003) *
         std::pow(m.degree, 2.22003) * std::pow(k + 1, 1.01827);
}

// In units of the variance of a sum of products, with u = 2^-53 and 0.18 u^2 for a rounding (values
// spread evenly between powers of two): a butterfly adds 0.45 u^2 forwards, digits and key alike,
// and 0.31 u^2 back; a row adds 0.18 u^2 to sums that grow evenly. Every coefficient of a product
// has this error, and the mask's meet the key. The combination of several keys has the variance of
// two of each, and is a sum that grows evenly by them.
double fourier_variance(const TfheNoiseModel& m) {
  if (m.log_ring_modulus <= m.log_lwe_modulus) return 0;
  const double k = m.glwe_dimension, rows = (k + 1) * m.bootstrap.levels;
  const int keys = keys_per_step(m);
  const double combined = keys == 1 ? 1 : 2 * keys, combining = keys == 1 ? 0 : 0.18 * keys;
  const double roundings = 1.21 * (std::log2(m.degree) - 1) + 0.18 * rows + combining;
  const double sum = combined * rows * m.degree * digit_square(m.bootstrap) / 12;
  return steps(m) * (1 + k * m.degree / 2) * std::exp2(-106) * roundings * sum;
}

double key_switch_variance(const TfheNoiseModel& m) {
  const double in = static_cast<double>(m.glwe_dimension) * m.degree;
  return m.key_switch.levels * in * digit_square(m.key_switch) * m.lwe_sigma * m.lwe_sigma +
         in / 2 * std::exp2(2 * m.key_switch_step) / 12;
}

double mod_switch_variance(const TfheNoiseModel& m, int log_many) {
  const double step = std::exp2(log_many) / (2.0 * m.degree);
  const double spread =
      m.centred ? m.secret_square - m.secret_mean * m.secret_mean : m.secret_square;
  return (m.lwe_dimension * spread + 1) * step * step / 12;
}

double drop_variance(const TfheNoiseModel& m) {
  if (m.log_ring_modulus <= m.log_lwe_modulus) return 0;
  const double in = static_cast<double>(m.glwe_dimension) * m.degree;
  return (1 + in / 2) * std::exp2(-2 * m.log_lwe_modulus) / 12;
}

double log_failure(double variance, double distance) {
  const double x = distance / std::sqrt(2 * variance);
  if (x < 25) return std::log2(std::erfc(x));
  return -x * x / std::log(2.0) - std::log2(x * std::sqrt(std::acos(-1.0)));
}

}  // namespace latticino
