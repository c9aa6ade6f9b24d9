#include "ckks/bootstrap/precision.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "ckks/bootstrap/dft_factors.h"
#include "ckks/bootstrap/transform_noise.h"
#include "ckks/encoder.h"
#include "ckks/polynomial_plan.h"

namespace latticino::ckks::bootstrap {
namespace {

constexpr int kSamples = 2000;  // of EvalMod inputs: 2% on a standard deviation
constexpr int kRuns = 20;       // bootstrappings whose errors are sampled
const double kPi = std::acos(-1.0);

// Numbers for the samples; nothing here needs to be unpredictable.
class Generator {
 public:
  double uniform() {  // [-1/2, 1/2)
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) * 0x1p-53 - 0.5;
  }
  Complex normal(double variance) {  // variance of the squared modulus
    const double radius = std::sqrt(-variance * std::log(uniform() + 0.5 + 0x1p-54));
    return std::polar(radius, 2 * kPi * uniform());
  }

 private:
  std::uint64_t state_ = 1;
};

// EvalMod on numbers, with a rounding error where the evaluator rescales.
class NoisyEvalMod {
 public:
  NoisyEvalMod(const Params& params, const SinePolynomial& sine, const ScalePlan& scales,
               Generator& random)
      : params_(params),
        sine_(sine),
        scales_(scales),
        random_(random),
        cosine_(plan_of(PolynomialBasis::Chebyshev, sine.in_t2())),
        arcsine_(plan_of(PolynomialBasis::Monomial, sine.arcsine)) {}

  double run(double x) {
    level_ = scales_.evalmod_level;
    const double y = (x - 0.25) / sine_.range_k;
    double scale = scales_.raised_scale * scales_.raised_scale / 2 / params_.rescale_factor(level_);
    double v = 2 * y * y - 1 + rounding(scale, params_.leaving(level_).size());
    --level_;
    v = polynomial(cosine_, v, scale, scales_.polynomial_scale);
    level_ -= cosine_.root.depth;
    scale = scales_.polynomial_scale;
    for (double c : sine_.subtract) {
      scale *= scale / (2 * params_.rescale_factor(level_--));
      v = 2 * v * v - c + rounding(scale, merged_primes(params_, level_ + 1));
    }
    return sine_.arcsine.empty() ? v : polynomial(arcsine_, v, scale, scales_.sine_scale);
  }

 private:
  static PolynomialPlan plan_of(PolynomialBasis basis, const std::vector<double>& c) {
    if (c.empty()) return {};
    return plan_polynomial(basis, std::vector<Complex>(c.begin(), c.end()));
  }

  double rounding(double scale, int primes) {
    return std::sqrt(rounding_variance(params_, primes) * params_.n()) / scale * std::sqrt(2.0) *
           random_.normal(1).real();
  }

  double polynomial(const PolynomialPlan& plan, double y, double scale, double target) {
    elements_ = {{1, {y, scale}}};
    for (int n : plan.elements) {
      const ElementSplit split = split_element(n);
      const auto [high, high_scale] = elements_.at(split.high);
      const auto [low, low_scale] = elements_.at(split.low);
      const int level = level_ - ceil_log2(n) + 1;
      const double s = high_scale * low_scale / params_.rescale_factor(level);
      double value = high * low;
      if (plan.basis == PolynomialBasis::Chebyshev) {
        const int rest = split.high - split.low;
        value = 2 * value - (rest == 0 ? 1 : elements_.at(rest).first);
      }
      elements_[n] = {value + rounding(s, merged_primes(params_, level)), s};
    }
    return node(plan.root, target);
  }

  double node(const PolynomialNode& n, double scale) {
    const int level = level_ - n.depth + 1;
    const double working = scale * params_.rescale_factor(level);
    double sum = n.constant.real();
    for (const auto& [index, c] : n.terms) sum += c.real() * elements_.at(index).first;
    for (const auto& [index, child] : n.products) {
      const auto [giant, giant_scale] = elements_.at(index);
      sum += giant * node(child, working / giant_scale);
    }
    return sum + rounding(scale, n.products.empty() ? params_.leaving(level).size()
                                                    : merged_primes(params_, level));
  }

  const Params& params_;
  const SinePolynomial& sine_;
  const ScalePlan& scales_;
  Generator& random_;
  PolynomialPlan cosine_, arcsine_;
  int level_ = 0;
  std::map<int, std::pair<double, double>> elements_;  // value, scale
};

// x -> what EvalMod makes of it beside any integer, without noise.
double exact_eval_mod(const SinePolynomial& sine, double x) {
  const double v = std::sin(2 * kPi * x);
  if (sine.arcsine.empty()) return v / (2 * kPi);
  double sum = 0;
  for (std::size_t k = sine.arcsine.size(); k-- > 0;) sum = sum * v + sine.arcsine[k];
  return sum;
}

// Mean squared noise of EvalMod for coefficients of variance `power`, in units of q0.
double eval_mod_variance(const Params& params, const SinePolynomial& sine, const ScalePlan& plan,
                         double power) {
  Generator random;
  NoisyEvalMod eval_mod(params, sine, plan, random);
  double sum = 0;
  for (int i = 0; i < kSamples; ++i) {
    double overflow = 0;
    for (int k = 0; k <= params.bootstrap()->sparse_weight; ++k) overflow += random.uniform();
    const double e = random.normal(2 * power).real();
    const double error = eval_mod.run(std::nearbyint(overflow) + e) - exact_eval_mod(sine, e);
    sum += error * error;
  }
  return sum / kSamples;
}

double overflow_power(const Params& params) {
  return (params.bootstrap()->sparse_weight + 1) / 12.0;
}

// The error that the sine alone causes in each slot.
std::vector<Complex> sine_errors(const Encoder& encoder, const SinePolynomial& sine, double ratio,
                                 std::vector<Complex> message) {
  const auto error = [&](double m) { return exact_eval_mod(sine, m * ratio) / ratio - m; };
  encoder.inverse(message);
  for (Complex& x : message) x = {error(x.real()), error(x.imag())};
  encoder.forward(message);
  return message;
}

}  // namespace

ErrorBudget error_budget(const Params& params, const SinePolynomial& sine, const ScalePlan& plan,
                         int log_slots, bool real) {
  const BootstrapLiteral& literal = *params.bootstrap();
  const double ratio = plan.message_ratio(params);
  const double slots = std::ldexp(1.0, log_slots), n = params.n();
  // Key switching without rescaling divides by P.
  const double rounding = rounding_variance(params, params.alpha());
  // An error of variance v in units of q0 in each real coefficient becomes 2n v / ratio^2 in a
  // slot: |w|^2 has two of them, and the forward transform adds n of those.
  const double gain = 2 * slots / (ratio * ratio);
  ErrorBudget budget;
  // Switching to the sparse secret, back, and the trace, whose terms double step by step.
  const double trace = std::ldexp(1.0, params.log_n() - 1 - log_slots);
  const double switches = overflow_power(params) + rounding + (trace > 1 ? rounding / 3 : 0.0);
  budget.raised = gain * switches / (plan.q0 * plan.q0);
  const double conjugation =
      rounding * n * literal.range_k * literal.range_k / (plan.raised_scale * plan.raised_scale);
  budget.coeff_to_slot =
      gain * (relative_noise(cts_chain(params, plan, log_slots), plan.cts_constants) *
                  overflow_power(params) +
              conjugation);
  // Unit box: |slot|^2 = 2/3 (1/3 for real slots) spread over 2n coefficients.
  const double message_power = real ? 1.0 / 3 : 2.0 / 3;
  const double power = ratio * ratio * message_power / (2 * slots);
  budget.eval_mod = gain * eval_mod_variance(params, sine, plan, power);
  budget.slot_to_coeff =
      message_power * relative_noise(stc_chain(params, plan, log_slots), plan.stc_constants);
  return budget;
}

Bootstrapper::Precision predict_precision(const Params& params, const BootstrapOptions& options,
                                          std::span<const Complex> message) {
  const int slots = options.slots == 0 ? params.max_slots() : options.slots;
  const int log_slots = std::countr_zero(static_cast<unsigned>(slots));
  const bool halved = options.message != BootstrapOptions::Message::Complex;
  const bool real = options.message == BootstrapOptions::Message::Real;
  const SinePolynomial sine = sine_polynomial(*params.bootstrap());
  const ScalePlan plan = plan_scales(params, sine, log_slots, halved);
  const double noise = error_budget(params, sine, plan, log_slots, real).total();
  const Encoder encoder(params.log_n());
  Generator random;
  double sum = 0, largest = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<Complex> z(message.begin(), message.end());
    while (static_cast<int>(z.size()) < slots) {
      const double re = 2 * random.uniform();
      z.emplace_back(re, real ? 0.0 : 2 * random.uniform());
    }
    for (Complex e : sine_errors(encoder, sine, plan.message_ratio(params), std::move(z))) {
      e += random.normal(noise);
      const double size = halved ? std::abs(e.real()) : std::abs(e);
      sum += size;
      largest = std::max(largest, size);
    }
  }
  return {-std::log2(sum / (static_cast<double>(slots) * kRuns)), -std::log2(largest)};
}

}  // namespace latticino::ckks::bootstrap
