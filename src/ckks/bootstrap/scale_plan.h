// The constants of one bootstrapping: the scale at each step, and the share of the constants that
// each factor of CoeffToSlot and SlotToCoeff carries (docs/bootstrapping.md, Constants).
#pragma once

#include <cstdint>
#include <vector>

#include "ckks/bootstrap/sine.h"
#include "ckks/bootstrap/transform_noise.h"
#include "params/params.h"

namespace latticino::ckks {
struct BootstrapOptions;
}

namespace latticino::ckks::bootstrap {

// What a plan is for.
struct PlanShape {
  int log_slots = 0;
  bool halved = false;        // the result is added to its conjugate, for real messages
  bool slots_first = false;   // SlotToCoeff comes before ModRaise
  bool over_raised = false;   // one more CoeffToSlot factor, applied before the switch back
  int log_message_ratio = 0;  // 0: that of the set (BootstrapOptions)
  int arcsine = 0;            // 0: that of the set

  bool apart(const Params& params) const {  // one EvalMod serves both halves
    return !slots_first && log_slots < params.log_n() - 1;
  }
};

PlanShape plan_shape(const BootstrapOptions& options, int slots);

struct ScalePlan {
  // The level of the input of each stage, of EvalMod's result and of the final result.
  int cts_level = 0, evalmod_level = 0, sine_level = 0, stc_level = 0, end_level = 0;
  double q0 = 0;
  double message_ratio = 0;   // of a coefficient after ModRaise, in units of q0
  std::int64_t scale_up = 1;  // the integer that brings S_0 to q0 / 2^r, almost
  double raised_scale = 0;    // the scale declared after ModRaise, kept through CoeffToSlot
  double sine_scale = 0;      // the scale at the end of the double angles (and of the arcsine)
  double before_arcsine = 0;  // the scale at the start of an arcsine; 0: the same
  std::vector<double> cts_constants, stc_constants;
  // The last division is not merged with ModDown if its error is noticeable at the scale of the
  // result.
  bool last_merged = true;
};

// The two chains in the form of transform_noise.h, for constants and predictions. The message is
// taken to be random in the unit box.
TransformChain cts_chain(const Params& params, const ScalePlan& plan, const PlanShape& shape);
TransformChain stc_chain(const Params& params, const ScalePlan& plan, const PlanShape& shape);

// Throws ParameterError if levels and depths do not fit.
ScalePlan plan_scales(const Params& params, const SinePolynomial& sine, const PlanShape& shape);

// The noise of the whole plan, by its sources. This is the noise of the set
// (Params::bootstrap_noise) at the plan's own ratio, plus what its arcsine and a SlotToCoeff at
// lower levels add.
BootstrapNoise plan_noise(const Params& params, const SinePolynomial& sine, const ScalePlan& plan,
                          const PlanShape& shape);

// The scale that EvalMod must end with, so that slots that were multiplied by `ratio` first (in
// units of q0) end with the canonical scale.
double sine_scale_for(const Params& params, const ScalePlan& plan, double ratio);
// The factors of SlotToCoeff at the lowest levels, which bring the slots to `ratio` q0.
std::vector<double> slots_first_constants(const Params& params, int log_slots, double ratio);

}  // namespace latticino::ckks::bootstrap
