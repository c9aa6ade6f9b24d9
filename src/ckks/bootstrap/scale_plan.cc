#include "ckks/bootstrap/scale_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "ckks/bootstrap/bootstrap.h"
#include "ckks/bootstrap/dft_factors.h"
#include "ckks/bootstrap/eval_mod.h"
#include "math/errors.h"

namespace latticino::ckks::bootstrap {
namespace {

void check_levels(const Params& params, const SinePolynomial& sine, const ScalePlan& plan,
                  const PlanShape& shape) {
  const int usual = params.level_after_bootstrap() + params.bootstrap()->stc_levels;
  if (plan.sine_level == usual) return;
  if (shape.arcsine > 0 && plan.sine_level < usual) {
    if (plan.end_level >= 1) return;
    throw ParameterError("ckks.bootstrap",
                         "an arcsine of degree " + std::to_string(shape.arcsine) + " with " +
                             std::to_string(params.level_after_bootstrap()) +
                             " levels after bootstrapping",
                         std::to_string(usual - plan.sine_level + 1) + " levels",
                         "choose a lower degree, or a set with more levels");
  }
  throw ParameterError("ckks.bootstrap",
                       std::to_string(params.bootstrap()->evalmod_levels) + " levels for EvalMod",
                       std::to_string(sine.depth()) + " (degree " +
                           std::to_string(params.bootstrap()->evalmod_degree) + ", " +
                           std::to_string(sine.double_angles) + " double angles" +
                           (sine.arcsine.empty() ? ")" : ", arcsine)"),
                       "change evalmod_levels of the literal");
}

// The integer that scales up to q0 / 2^r.
std::int64_t scale_up_for(const Params& params, int log_message_ratio) {
  if (log_message_ratio == 0) return params.bootstrap_scale_up();
  const double whole = params.base_modulus() / params.scale(0);
  const double asked = std::ldexp(whole, -log_message_ratio);
  // It may be less by a fraction of a bit, as a set's own ratio may.
  if (log_message_ratio < 1 || asked < 0.75) {
    throw ParameterError("ckks.bootstrap", "message ratio 2^" + std::to_string(log_message_ratio),
                         "2^1 to 2^" + std::to_string(static_cast<int>(std::log2(whole / 0.75))) +
                             ", as q0 is 2^" + std::to_string(std::log2(whole)) + " scales",
                         "choose a smaller log_message_ratio");
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(asked)));
}

// Mean square of one coefficient's I: a sum of weight + 1 uniforms on [-1/2, 1/2].
double overflow_power(const BootstrapLiteral& literal) {
  return (literal.sparse_weight + 1) / 12.0;
}

}  // namespace

PlanShape plan_shape(const BootstrapOptions& options, int slots) {
  return {std::countr_zero(unsigned(slots)),
          options.message != BootstrapOptions::Message::Complex,
          options.slot_to_coeff_first || options.half,
          options.over_mod_raise,
          options.log_message_ratio,
          options.arcsine};
}

TransformChain cts_chain(const Params& params, const ScalePlan& plan, const PlanShape& shape) {
  TransformChain chain;
  const int log_slots = shape.log_slots;
  chain.noise_coefficients = params.spanned_coefficients(1 << log_slots);
  chain.stages =
      cts_stages(log_slots, params.bootstrap()->cts_levels + (shape.over_raised ? 1 : 0));
  chain.inverse = true;
  int period = log_slots, level = plan.cts_level;
  for (std::size_t j = 0; j < chain.stages.size(); ++j) {
    chain.log_period.push_back(period);
    if (j == 0 && shape.over_raised) {
      chain.plaintext_scales.push_back(params.over_raise_factor());
      chain.rounding.push_back(params.key_switch_variance(level, false));
    } else {
      chain.plaintext_scales.push_back(params.rescale_factor(level));
      chain.rounding.push_back(params.key_switch_variance(level, true));
      --level;
    }
    period -= chain.stages[j];
  }
  // After the split the halves have different diagonals, so the period doubles.
  if (shape.apart(params)) chain.log_period.back() = log_slots + 1;
  // 2n coefficients, each multiplied by N/(2n) in the trace.
  const double trace = std::ldexp(1.0, params.log_n() - 1 - log_slots);
  chain.input_power = std::ldexp(1.0, log_slots + 1) * trace * trace * plan.q0 * plan.q0 *
                      overflow_power(*params.bootstrap());
  return chain;
}

TransformChain stc_chain(const Params& params, const ScalePlan& plan, const PlanShape& shape) {
  TransformChain chain;
  const int log_slots = shape.log_slots;
  const bool apart = shape.apart(params);
  chain.noise_coefficients = (apart ? 2 : 1) * params.spanned_coefficients(1 << log_slots);
  chain.stages = stc_stages(log_slots, params.bootstrap()->stc_levels);
  int period = 0;
  for (std::size_t j = 0; j < chain.stages.size(); ++j) {
    period += chain.stages[j];
    chain.log_period.push_back(period);
    const int level = plan.stc_level - static_cast<int>(j);
    chain.plaintext_scales.push_back(params.rescale_factor(level));
    const bool merged = plan.last_merged || j + 1 < chain.stages.size();
    chain.rounding.push_back(merged ? params.key_switch_variance(level, true)
                                    : params.division_variance(params.leaving(level).size()));
  }
  // And the constant of the point where they are joined.
  if (apart) chain.log_period.front() = log_slots + 1;
  if (shape.slots_first) {  // |z|^2 = 2/3 for a message in the unit box
    const double scale = params.scale(plan.stc_level);
    chain.input_power = scale * scale * (2.0 / 3);
    return chain;
  }
  // Complex slots |w|^2 = 2 |m_k|^2 for a message of power 2/3 spread over 2n coefficients.
  const double ratio = plan.message_ratio;
  chain.input_power =
      plan.sine_scale * plan.sine_scale * ratio * ratio * (2.0 / 3) / std::ldexp(1.0, log_slots);
  return chain;
}

namespace {

// The constant of all factors of SlotToCoeff together.
double stc_total(const Params& params, const ScalePlan& plan) {
  return params.scale(plan.end_level) / (plan.sine_scale * plan.message_ratio);
}

// Mean square of SlotToCoeff's noise in a slot, rounding of the diagonals included.
double stc_noise(const TransformChain& chain, double total) {
  return relative_noise(chain, share_constant(chain, total)) * (2.0 / 3);
}

// The noise of the arcsine's divisions. Its polynomial is split as in polynomial.cc: v (c_1 + ..)
// with powers v^2, v^4, which keep their scale, and children, which get the scale that is left.
// Level i is i levels above EvalMod's result.
class ArcsineNoise {
 public:
  ArcsineNoise(const Params& params, const SinePolynomial& sine, const ScalePlan& plan,
               const PlanShape& shape)
      : depth_(sine.arcsine_depth()) {
    const double spanned = params.spanned_coefficients(1 << shape.log_slots);
    for (int i = 0; i <= depth_ + 1; ++i) {
      const int level = plan.sine_level + i;
      factor_.push_back(params.rescale_factor(level));
      switched_.push_back(spanned * params.key_switch_variance(level, true));
      divided_.push_back(spanned * params.division_variance(params.leaving(level).size()));
    }
    const double ratio = plan.message_ratio, slots = std::ldexp(1.0, shape.log_slots);
    structured_ = 2 / (ratio * ratio);  // one large coefficient, or a slot
    gain_ = structured_ * (shape.slots_first ? 1 : slots);
    square_ = kTwoPi * kTwoPi * ratio * ratio;  // v^2 of a coefficient of size 1
  }

  // Mean square in a slot, if the arcsine starts at scale s and ends at t. An error of a term that
  // is multiplied by v^2 or v^4 grows with their values. These are large in few coefficients only:
  // a message of |z| <= 1 has coefficients of power 1 in all.
  double operator()(double s, double t) const {
    const double squared = s * s / factor_[depth_];  // scale of v^2
    const double working = t * factor_[1], v4 = square_ * square_;
    double noise =
        gain_ * (switched_[depth_ + 1] / (s * s) / (kTwoPi * kTwoPi) + switched_[1] / (t * t));
    // The child c_3 v, which is multiplied by v^2.
    const double child = working / squared;
    noise += structured_ * v4 * divided_[2] / (child * child);
    if (depth_ < 3) return noise;
    // The child c_5 v + .., which is multiplied by v^4, and in it c_7 v, which is multiplied by
    // v^2.
    const double high = working / (squared * squared / factor_[2]);
    const double inner = high * factor_[2] / squared;
    return noise + structured_ * v4 * v4 *
                       (switched_[2] / (high * high) + v4 * divided_[3] / (inner * inner));
  }

 private:
  static constexpr double kTwoPi = 6.283185307179586477;
  int depth_;
  double gain_, structured_, square_;
  std::vector<double> factor_, switched_, divided_;
};

// Whether the arcsine starts at a scale that is chosen for it. In the usual order with the set's
// own arcsine, it starts at the scale at which the double angles end. With SlotToCoeff first, that
// would be the scale of the result, which is too small for the powers.
bool chooses_arcsine_scales(const SinePolynomial& sine, const PlanShape& shape) {
  return shape.arcsine > 1 || (shape.slots_first && !sine.arcsine.empty());
}

// Chooses the first and last scale of the arcsine, as powers of two, so that it and SlotToCoeff add
// the least noise. Products are rescaled by the small factors of user levels, so scales grow in the
// arcsine, and SlotToCoeff brings them down again. With SlotToCoeff first, the last scale is given.
void choose_arcsine_scales(const Params& params, const SinePolynomial& sine, ScalePlan& plan,
                           const PlanShape& shape) {
  constexpr int kMin = 30, kMax = 64, kLast = 90;
  const ArcsineNoise arcsine(params, sine, plan, shape);
  ScalePlan unit = plan;
  unit.sine_scale = 1;
  TransformChain chain = stc_chain(params, unit, shape);
  const double power = chain.input_power, total = stc_total(params, unit);
  const bool given = shape.slots_first;
  double best = 0;
  for (int last = kMin; last <= kLast; ++last) {
    const double t = given ? plan.sine_scale : std::ldexp(1.0, last);
    chain.input_power = power * t * t;
    const double after = given ? 0 : stc_noise(chain, total / t);
    for (int first = kMin; first <= kMax; ++first) {
      const double s = std::ldexp(1.0, first), noise = after + arcsine(s, t);
      if (best != 0 && noise >= best) continue;
      best = noise;
      plan.sine_scale = t;
      plan.before_arcsine = s;
    }
    if (given) break;
  }
}

}  // namespace

ScalePlan plan_scales(const Params& params, const SinePolynomial& sine, const PlanShape& shape) {
  const BootstrapLiteral& literal = *params.bootstrap();
  ScalePlan plan;
  plan.cts_level = params.top_level();
  plan.evalmod_level = plan.cts_level - literal.cts_levels;
  plan.sine_level = plan.evalmod_level - sine.depth();
  plan.stc_level = shape.slots_first ? literal.stc_levels : plan.sine_level;
  plan.end_level = plan.sine_level - (shape.slots_first ? 0 : literal.stc_levels);
  check_levels(params, sine, plan, shape);
  plan.q0 = params.base_modulus();
  plan.raised_scale = eval_mod_input_scale(params, plan.evalmod_level);
  if (shape.slots_first) {
    plan.message_ratio = shape.log_message_ratio > 0
                             ? std::ldexp(1.0, -shape.log_message_ratio)
                             : params.bootstrap_slots_first_ratio(1 << shape.log_slots);
    plan.sine_scale = sine_scale_for(params, plan, plan.message_ratio);
  } else {
    plan.scale_up = scale_up_for(params, shape.log_message_ratio);
    plan.message_ratio =
        static_cast<double>(plan.scale_up) * params.scale(0) / params.base_modulus();
    plan.last_merged = params.bootstrap_merges_last();
    // A double angle keeps a scale of twice the rescale factor.
    plan.sine_scale = 2 * params.rescale_factor(plan.sine_level + 1);
  }
  if (chooses_arcsine_scales(sine, shape)) choose_arcsine_scales(params, sine, plan, shape);

  // After ModRaise and trace a coefficient is T (m + q0 I) over raised_scale; z + conj(z) doubles.
  const double trace = std::ldexp(1.0, params.log_n() - 1 - shape.log_slots);
  const double cts = plan.raised_scale / (2 * plan.q0 * literal.range_k * trace);
  plan.cts_constants = share_constant(cts_chain(params, plan, shape), cts);
  if (!shape.slots_first) {
    plan.stc_constants = share_constant(stc_chain(params, plan, shape),
                                        stc_total(params, plan) * (shape.halved ? 0.5 : 1.0));
  }
  return plan;
}

namespace {

// OverModRaise divides by P after the first factor. Its constant c and its k stages leave 2^-k c^2
// of the signal's power, so the error of that division counts for more. This is the additional mean
// square of a coefficient, in units of q0.
double over_raised_noise(const Params& params, const ScalePlan& plan, const PlanShape& shape) {
  if (!shape.over_raised) return 0;
  const double c = plan.cts_constants.front();
  const double power = std::ldexp(c * c, -cts_chain(params, plan, shape).stages.front());
  const double trace = shape.log_slots < params.log_n() - 1 ? 4.0 / 3 : 1.0;
  return trace * params.division_variance(params.alpha()) * (1 / power - 1) / (plan.q0 * plan.q0);
}

}  // namespace

BootstrapNoise plan_noise(const Params& params, const SinePolynomial& sine, const ScalePlan& plan,
                          const PlanShape& shape) {
  const int slots = 1 << shape.log_slots;
  const double ratio = plan.message_ratio;
  if (shape.slots_first) {
    BootstrapNoise noise = params.bootstrap_noise_slots_first(slots, ratio);
    noise.raised += 2 / (ratio * ratio) * over_raised_noise(params, plan, shape);
    if (chooses_arcsine_scales(sine, shape)) {
      // The double angles end at a scale of their own.
      const int level = params.default_level();
      const double scale = params.scale(level) / ratio;
      noise.eval_mod -= 2 / (ratio * ratio) * params.spanned_coefficients(slots) *
                        params.key_switch_variance(level + 1, true) / (scale * scale);
      noise.eval_mod +=
          ArcsineNoise(params, sine, plan, shape)(plan.before_arcsine, plan.sine_scale);
    }
    return noise;
  }
  BootstrapNoise noise = params.bootstrap_noise(slots);
  // Noise of everything before SlotToCoeff is expressed in units of the ratio.
  const double own = params.bootstrap_message_ratio() / ratio, more = own * own;
  noise.raised *= more;
  noise.raised += 2.0 * slots / (ratio * ratio) * over_raised_noise(params, plan, shape);
  noise.coeff_to_slot *= more;
  noise.eval_mod *= more;
  if (shape.arcsine > 1) {
    noise.eval_mod += ArcsineNoise(params, sine, plan, shape)(plan.before_arcsine, plan.sine_scale);
    noise.slot_to_coeff = stc_noise(stc_chain(params, plan, shape), stc_total(params, plan));
  }
  return noise;
}

double sine_scale_for(const Params& params, const ScalePlan& plan, double ratio) {
  return params.scale(plan.end_level) / ratio;
}

std::vector<double> slots_first_constants(const Params& params, int log_slots, double ratio) {
  params.level_after_bootstrap();
  ScalePlan plan;
  plan.stc_level = params.bootstrap()->stc_levels;
  const PlanShape shape{log_slots, false, true, false};
  return share_constant(stc_chain(params, plan, shape),
                        ratio * params.base_modulus() / params.scale(plan.stc_level));
}

}  // namespace latticino::ckks::bootstrap
