// Predicted precision of bootstrapping, in closed form (docs/bootstrapping.md, Precision). There is
// one model: explain() prints it, the bootstrapping code uses it, and bench/precision.cc compares
// it with measurements.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "params/params.h"

namespace latticino {
namespace {

// From this slot error of the last merged division on, a separate rescaling is worth its additional
// pass.
constexpr double kMergedError = 0x1p-22;
constexpr int kRuns = 20;  // number of runs over which the largest slot error is predicted
constexpr double kTwoPi = 2 * std::numbers::pi;

// Mean square of one coefficient's I after ModRaise: a sum of weight + 1 uniforms on [-1/2, 1/2].
double overflow_power(const BootstrapLiteral& b) { return (b.sparse_weight + 1) / 12.0; }

// Mean square of what multiplies an error of T_2(y) = 2 y^2 - 1 inside EvalMod, y = (x - 1/4) / K:
// the polynomial is even, so it is a function of T_2, and the error passes with dx / dT_2 =
// K^2 / (4 (x - 1/4)), whatever follows.
double t2_gain(const BootstrapLiteral& b) {
  double weights = 0, sum = 0;
  for (int i = -b.range_k; i <= b.range_k; ++i) {
    const double weight = std::exp(-0.5 * i * i / overflow_power(b));
    const double derivative = b.range_k * b.range_k / (4 * (i - 0.25));
    weights += weight;
    sum += weight * derivative * derivative;
  }
  return sum / weights;
}

// The error of EvalMod for a coefficient c at ratio e = scale / q0: |c - sin(2 pi e c) / (2 pi e)|,
// or the first term of the arcsine that is left out.
double sine_error(const BootstrapLiteral& b, double c, double e) {
  const double w = kTwoPi * e, v = std::sin(w * c);
  return b.arcsine ? 35.0 / 1152 * std::pow(std::abs(v), 9) / w : std::abs(c - v / w);
}

// Largest of `count` slot errors, squared, in units of the variance: exp(-t) = 1 / count for normal
// errors, sqrt(pi x) exp(-2 x) = 1 / count, x^2 = t, for products (the tail of 2 x K_1(2 x)).
double largest_normal(double count) { return std::log(count); }
double largest_product(double count) {
  double x = 1;
  for (int i = 0; i < 30; ++i) x = 0.5 * std::log(count * std::sqrt(std::numbers::pi * x));
  return x * x;
}

}  // namespace

double Params::division_variance(int primes) const {
  const double nonzeros = literal_.hamming_weight > 0 ? literal_.hamming_weight : 2.0 * n() / 3;
  return primes * (nonzeros + 1) / 12;
}

double Params::spanned_coefficients(int slots) const { return std::min(1.0 * n(), 4.0 * slots); }

double Params::base_modulus() const {
  const Basis base = basis(0);
  double q0 = 1;  // the product of at most two primes, below 2^62, rounded once
  for (int i = 0; i < base.size(); ++i) q0 *= ring_primes_[base.prime(i)];
  return q0;
}

// This is a part of a stored value, so it only uses exact products and quotients.
std::int64_t Params::bootstrap_scale_up() const {
  level_after_bootstrap();
  const double headroom =
      std::ldexp(base_modulus(), -literal_.bootstrap->log_message_ratio) / scale_[0];
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(headroom)));
}

double Params::bootstrap_message_ratio() const {
  return static_cast<double>(bootstrap_scale_up()) * scale_[0] / base_modulus();
}

bool Params::bootstrap_merges_last() const {
  const int end = level_after_bootstrap();
  const double last = key_switch_variance(end + 1, true) * n();
  return std::sqrt(last) < kMergedError * scale_[end];
}

// From raising to the end of EvalMod. An error of variance v of a real coefficient, in units of q0,
// becomes `gain` v in a slot.
BootstrapNoise Params::middle_noise(double count, double gain) const {
  const BootstrapLiteral& b = *literal_.bootstrap;
  const double spanned = spanned_coefficients(static_cast<int>(count));
  const auto slot_error = [&](double variance, double scale) {
    return spanned * variance / (scale * scale);
  };
  // The switch back to the dense secret divides by P; the trace adds terms that double.
  const double trace = count < max_slots() ? 4.0 / 3 : 1.0;
  const double raised = overflow_power(b) + trace * division_variance(alpha());
  // The divisions of one EvalMod level, which may be merged with its key switch or separate.
  int top = default_level_ + b.evalmod_levels;
  // Free terminals may be exchanged at any level, so the level with the most leaving primes counts.
  if (free_terminals()) {
    for (int l = top - 1; l > default_level_; --l) {
      if (leaving(l).size() > leaving(top).size()) top = l;
    }
  }
  const double scale = rescale_factor(top);
  const double merged = slot_error(key_switch_variance(top, true), scale);
  const double apart = slot_error(division_variance(leaving(top).size()), scale);
  // CoeffToSlot ends with a scale that is larger by sqrt(2).
  const double key_switch = slot_error(key_switch_variance(top, false), scale) / 2,
               factor = merged / 2;
  BootstrapNoise noise;
  noise.raised = gain * raised / (base_modulus() * base_modulus());
  // x = K y: the last factor's division counts twice in z + conj(z), the conjugation once.
  noise.coeff_to_slot = gain * b.range_k * b.range_k * (2 * factor + key_switch);
  // T_2 is divided separately. A quarter of the gain of T_2 applies to T_4, and a quarter of that
  // to T_8: 1/15 in all for the squares.
  noise.eval_mod = gain * t2_gain(b) * (apart + merged / 15);
  return noise;
}

BootstrapNoise Params::bootstrap_noise(int slots) const {
  const int end = level_after_bootstrap();
  const double count = slots == 0 ? max_slots() : slots, ratio = bootstrap_message_ratio();
  // An error of variance v in units of q0 in each real coefficient becomes 2n v / ratio^2 in a
  // slot: |w|^2 has two of them, and the forward transform adds n of those.
  BootstrapNoise noise = middle_noise(count, 2 * count / (ratio * ratio));
  const double last = bootstrap_merges_last() ? key_switch_variance(end + 1, true)
                                              : division_variance(leaving(end + 1).size());
  // Sparse plans end with the sum of two halves.
  noise.slot_to_coeff = (count < max_slots() ? 2 : 1) *
                        spanned_coefficients(static_cast<int>(count)) * last /
                        (scale_[end] * scale_[end]);
  return noise;
}

BootstrapNoise Params::bootstrap_noise_slots_first(int slots, double ratio) const {
  const double count = slots == 0 ? max_slots() : slots, gain = 2 / (ratio * ratio);
  BootstrapNoise noise = middle_noise(count, gain);
  // SlotToCoeff's last division, in units of 1 / q0.
  const double divided = key_switch_variance(1, true);
  noise.slot_to_coeff = gain * divided / (base_modulus() * base_modulus());
  // The last double angle ends with scale S / ratio.
  const double scale = scale_[default_level_] / ratio;
  noise.eval_mod += gain * spanned_coefficients(static_cast<int>(count)) *
                    key_switch_variance(default_level_ + 1, true) / (scale * scale);
  return noise;
}

double Params::bootstrap_slots_first_ratio(int slots) const {
  level_after_bootstrap();
  const double cubic = kTwoPi * kTwoPi / 6;
  double best = 0, least = 0;
  for (int bits = literal_.bootstrap->log_message_ratio; bits <= 24; ++bits) {
    const double ratio = std::ldexp(1.0, -bits), lost = cubic * ratio * ratio;
    // Uniform real and imaginary parts: the mean of u^6 is 1/7.
    const double taken = literal_.bootstrap->arcsine ? 0 : 2 * lost * lost / 7;
    const double sum = bootstrap_noise_slots_first(slots, ratio).total() + taken;
    if (best == 0 || sum < least) best = ratio, least = sum;
  }
  return best;
}

BootstrapPrecision Params::bootstrap_precision() const {
  const BootstrapNoise parts = bootstrap_noise();
  const double noise = parts.total(), ratio = bootstrap_message_ratio();
  const BootstrapLiteral& b = *literal_.bootstrap;
  // Coefficients of a random message are normal of variance 1 / (3 n) in n slots; the sine takes
  // (2 pi)^2 / 6 times their cube, of mean square 15 variance^3, and N of them add up in a slot.
  const double variance = ratio * ratio / (3.0 * max_slots());
  const double cubic = kTwoPi * kTwoPi / 6;
  const double taken =
      b.arcsine ? 0 : cubic * cubic * 15 * variance * variance * variance * n() / (ratio * ratio);
  const double count = static_cast<double>(kRuns) * max_slots();
  const auto largest = [&](double square) {
    return (square - parts.times_secret()) * largest_normal(count) +
           parts.times_secret() * largest_product(count);
  };
  // Rayleigh distributed around a fixed error `bias` that all slots have.
  const auto bits = [&](double square, double bias) {
    return PrecisionBits{-0.5 * std::log2(bias * bias + square * std::numbers::pi / 4),
                         -std::log2(bias + std::sqrt(largest(square)))};
  };
  BootstrapPrecision out;
  out.random = bits(noise + taken, 0);
  out.constant = bits(noise, sine_error(b, 1, ratio));
  // 1, -1, 1, ..: (X^(N/4) - X^(3N/4)) / sqrt(2).
  const double half = std::numbers::sqrt2 / 2;
  out.alternating = bits(noise, std::numbers::sqrt2 * sine_error(b, half, ratio));
  // One slot: 2/N cos(..) in every coefficient, whose cubes add up to 3 / N^2 in that slot alone.
  out.spike = bits(noise, 0);
  const double lost = b.arcsine ? 0 : cubic * ratio * ratio * 3 / (static_cast<double>(n()) * n());
  out.spike.max = std::min(out.spike.max, -std::log2(lost + std::sqrt(noise)));
  return out;
}

}  // namespace latticino
