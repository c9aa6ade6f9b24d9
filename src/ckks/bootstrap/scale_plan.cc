#include "ckks/bootstrap/scale_plan.h"

#include <cmath>
#include <string>

#include "ckks/bootstrap/dft_factors.h"
#include "ckks/bootstrap/eval_mod.h"
#include "math/errors.h"

namespace latticino::ckks::bootstrap {
namespace {

void check_levels(const Params& params, const SinePolynomial& sine, const ScalePlan& plan) {
  if (plan.sine_level == params.level_after_bootstrap() + params.bootstrap()->stc_levels) return;
  throw ParameterError("ckks.bootstrap",
                       std::to_string(params.bootstrap()->evalmod_levels) + " levels for EvalMod",
                       std::to_string(sine.depth()) + " (degree " +
                           std::to_string(params.bootstrap()->evalmod_degree) + ", " +
                           std::to_string(sine.double_angles) + " double angles" +
                           (sine.arcsine.empty() ? ")" : ", arcsine)"),
                       "change evalmod_levels of the literal");
}

// Mean square of one coefficient's I: a sum of weight + 1 uniforms on [-1/2, 1/2].
double overflow_power(const BootstrapLiteral& literal) {
  return (literal.sparse_weight + 1) / 12.0;
}

}  // namespace

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
  // Halves differ where they are split.
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
  if (apart) chain.log_period.front() = log_slots + 1;  // and where they are joined
  if (shape.slots_first) {                              // |z|^2 = 2/3 of a message in the unit box
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

ScalePlan plan_scales(const Params& params, const SinePolynomial& sine, const PlanShape& shape) {
  const BootstrapLiteral& literal = *params.bootstrap();
  ScalePlan plan;
  plan.cts_level = params.top_level();
  plan.evalmod_level = plan.cts_level - literal.cts_levels;
  plan.sine_level = plan.evalmod_level - sine.depth();
  plan.stc_level = shape.slots_first ? literal.stc_levels : plan.sine_level;
  plan.end_level = shape.slots_first ? plan.sine_level : params.level_after_bootstrap();
  check_levels(params, sine, plan);
  plan.q0 = params.base_modulus();
  plan.raised_scale = eval_mod_input_scale(params, plan.evalmod_level);
  if (shape.slots_first) {
    plan.message_ratio = params.bootstrap_slots_first_ratio(1 << shape.log_slots);
    plan.sine_scale = sine_scale_for(params, plan, plan.message_ratio);
  } else {
    plan.scale_up = params.bootstrap_scale_up();
    plan.message_ratio = params.bootstrap_message_ratio();
    plan.last_merged = params.bootstrap_merges_last();
    // Twice the rescale factor is what a double angle keeps.
    plan.sine_scale = 2 * params.rescale_factor(plan.sine_level + 1);
  }

  // After ModRaise and trace a coefficient is T (m + q0 I) over raised_scale; z + conj(z) doubles.
  const double trace = std::ldexp(1.0, params.log_n() - 1 - shape.log_slots);
  const double cts = plan.raised_scale / (2 * plan.q0 * literal.range_k * trace);
  plan.cts_constants = share_constant(cts_chain(params, plan, shape), cts);
  if (!shape.slots_first) {
    const double stc = params.scale(plan.end_level) / (plan.sine_scale * plan.message_ratio);
    plan.stc_constants =
        share_constant(stc_chain(params, plan, shape), stc * (shape.halved ? 0.5 : 1.0));
  }
  return plan;
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
