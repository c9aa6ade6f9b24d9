#include "ckks/bootstrap/precision.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ckks/bootstrap/sine.h"
#include "ckks/encoding/encoder.h"
#include "math/interrupt.h"

namespace latticino::ckks::bootstrap {
namespace {

constexpr int kRuns = 20;  // number of bootstrappings whose errors are sampled

// Random numbers for the samples. They need not be unpredictable.
class Generator {
 public:
  double uniform() {  // [-1/2, 1/2)
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) * 0x1p-53 - 0.5;
  }
  Complex normal(double variance) {  // variance of the squared modulus
    const double radius = std::sqrt(-variance * std::log(uniform() + 0.5 + 0x1p-54));
    return std::polar(radius, 2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_ = 1;
};

// The error that the sine alone causes in each slot. It acts on coefficients, or on slots if
// SlotToCoeff came first.
std::vector<Complex> sine_errors(const Encoder& encoder, const SinePolynomial& sine, double ratio,
                                 bool slots_first, std::vector<Complex> message) {
  const auto error = [&](double m) { return reduced_exactly(sine, m * ratio) / ratio - m; };
  if (!slots_first) encoder.inverse(message);
  for (Complex& x : message) x = {error(x.real()), error(x.imag())};
  if (!slots_first) encoder.forward(message);
  return message;
}

// How an error of T_2(y) grows depends on the integer I that is added to the message: as 1 / (I -
// 1/4) (docs/bootstrapping.md). In sums over many coefficients its mean counts. If SlotToCoeff came
// first, a slot has the error of one real and one imaginary coefficient.
class EvalModErrors {
 public:
  explicit EvalModErrors(const BootstrapLiteral& literal)
      : power_((literal.sparse_weight + 1) / 12.0) {
    double weights = 0;
    for (int i = -literal.range_k; i <= literal.range_k; ++i) {
      const double weight = std::exp(-0.5 * i * i / power_);
      weights += weight;
      mean_square_ += weight * gain(i) * gain(i);
    }
    mean_square_ /= weights;
    part_of_zero_ = 1 / weights;
  }
  std::pair<double, double> largest() const {
    return {part_of_zero_, std::abs(gain(0)) / std::sqrt(mean_square_)};
  }
  Complex draw(Generator& random, double variance) const {
    return coefficient(random, variance / 2) + Complex(0, 1) * coefficient(random, variance / 2);
  }

 private:
  static double gain(double i) { return 1 / (i - 0.25); }
  Complex coefficient(Generator& random, double variance) const {
    const double g = gain(std::nearbyint(random.normal(2 * power_).real()));
    return random.normal(variance * g * g / mean_square_);
  }
  double power_, mean_square_ = 0, part_of_zero_ = 0;
};

}  // namespace

Form form_of(const Params& params, const BootstrapOptions& options) {
  Form form;
  form.sine = sine_polynomial(*params.bootstrap(), options.arcsine, options.log_message_ratio);
  const PlanShape shape =
      plan_shape(options, options.slots == 0 ? params.max_slots() : options.slots);
  form.plan = plan_scales(params, form.sine, shape);
  form.noise = plan_noise(params, form.sine, form.plan, shape);
  return form;
}

std::pair<double, double> largest_of_eval_mod(const BootstrapLiteral& literal) {
  return EvalModErrors(literal).largest();
}

Bootstrapper::Precision predict_precision(const Params& params, const BootstrapOptions& options,
                                          std::span<const Complex> message) {
  const int slots = options.slots == 0 ? params.max_slots() : options.slots;
  const bool halved = options.message != BootstrapOptions::Message::Complex;
  const bool real = options.message == BootstrapOptions::Message::Real;
  const bool first = options.slot_to_coeff_first;
  const auto [sine, plan, noise] = form_of(params, options);
  const double ratio = plan.message_ratio;
  const EvalModErrors single(*params.bootstrap());
  // If SlotToCoeff came first, the divisions of CoeffToSlot and EvalMod act on the slots
  // themselves. Then the size of the secret in the slots counts.
  const double apart = first ? noise.eval_mod : 0;
  const double times_secret = first ? noise.coeff_to_slot : noise.times_secret();
  const Encoder encoder(params.log_n());
  Generator random;
  std::vector<Complex> secret(static_cast<std::size_t>(slots));  // in the slots, of mean square 1
  for (Complex& s : secret) s = random.normal(1);
  double sum = 0, largest = 0;
  std::vector<Complex> taken;
  for (int run = 0; run < kRuns; ++run) {
    check_interrupt();
    if (run == 0 || message.empty()) {  // equal in all runs for a given message
      std::vector<Complex> z(message.begin(), message.end());
      while (static_cast<int>(z.size()) < slots) {
        const double re = 2 * random.uniform();
        z.emplace_back(re, real ? 0.0 : 2 * random.uniform());
      }
      taken = sine_errors(encoder, sine, ratio, first, std::move(z));
    }
    for (std::size_t j = 0; j < taken.size(); ++j) {
      const Complex e = taken[j] + random.normal(noise.total() - times_secret - apart) +
                        random.normal(times_secret) * secret[j] +
                        (first ? single.draw(random, apart) * std::abs(secret[j]) : 0);
      const double size = halved ? std::abs(e.real()) : std::abs(e);
      sum += size;
      largest = std::max(largest, size);
    }
  }
  return {-std::log2(sum / (static_cast<double>(slots) * kRuns)), -std::log2(largest)};
}

}  // namespace latticino::ckks::bootstrap
