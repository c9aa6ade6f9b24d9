// The constants of one bootstrapping: how scales run through it and which factor of CoeffToSlot and
// SlotToCoeff carries which share of the constants (docs/bootstrapping.md, Constants).
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
  bool halved = false;        // the result is added to its conjugate (real messages)
  bool slots_first = false;   // SlotToCoeff before ModRaise
  bool over_raised = false;   // one more CoeffToSlot factor, before the key switch back
  int log_message_ratio = 0;  // 0: the set's (BootstrapOptions)
  int arcsine = 0;            // 0: the set's

  bool apart(const Params& params) const {  // one EvalMod for both halves
    return !slots_first && log_slots < params.log_n() - 1;
  }
};

PlanShape plan_shape(const BootstrapOptions& options, int slots);

struct ScalePlan {
  // Levels of the first input of each stage, of EvalMod's result and of the result.
  int cts_level = 0, evalmod_level = 0, sine_level = 0, stc_level = 0, end_level = 0;
  double q0 = 0;
  double message_ratio = 0;   // of a coefficient after ModRaise, in units of q0
  std::int64_t scale_up = 1;  // integer that brings S_0 to (almost) q0 / 2^r
  double raised_scale = 0;    // scale declared after ModRaise, kept through CoeffToSlot
  double sine_scale = 0;      // what the double angles (and the arcsine) end with
  double before_arcsine = 0;  // what an arcsine starts with; 0: as it ends
  std::vector<double> cts_constants, stc_constants;
  // The last division, where it matters beside the scale of the result, is not merged with ModDown.
  bool last_merged = true;
};

// The two chains as seen by transform_noise.h, for constants and for predictions. The message is
// taken to be random in the unit box.
TransformChain cts_chain(const Params& params, const ScalePlan& plan, const PlanShape& shape);
TransformChain stc_chain(const Params& params, const ScalePlan& plan, const PlanShape& shape);

// Throws ParameterError if levels and depths do not fit.
ScalePlan plan_scales(const Params& params, const SinePolynomial& sine, const PlanShape& shape);

// The noise of the whole plan, by where it arises: that of the set (Params::bootstrap_noise), at
// the plan's own ratio and with what its arcsine and a SlotToCoeff at lower levels add.
BootstrapNoise plan_noise(const Params& params, const SinePolynomial& sine, const ScalePlan& plan,
                          const PlanShape& shape);

// The scale to ask EvalMod for, so that slots first times `ratio`, in units of q0, end with the
// canonical scale as they are.
double sine_scale_for(const Params& params, const ScalePlan& plan, double ratio);
// The factors of SlotToCoeff at the lowest levels, which bring the slots to `ratio` q0.
std::vector<double> slots_first_constants(const Params& params, int log_slots, double ratio);

}  // namespace latticino::ckks::bootstrap
