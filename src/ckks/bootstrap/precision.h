// Predicted precision of bootstrapping: variances through the pipeline (docs/bootstrapping.md,
// Precision). Needs parameters only, no device and no keys.
#pragma once

#include <span>

#include "ckks/bootstrap/bootstrap.h"
#include "ckks/bootstrap/scale_plan.h"

namespace latticino::ckks::bootstrap {

// Variances (mean squared complex modulus) of the noise of one slot of the result; what the sine
// itself takes from the message is not noise.
struct ErrorBudget {
  double raised = 0;         // roundings of ModRaise and trace
  double coeff_to_slot = 0;  // encoding of the matrices, rescaling
  double eval_mod = 0;       // rescaling inside EvalMod, approximation of the sine
  double slot_to_coeff = 0;
  double total() const { return raised + coeff_to_slot + eval_mod + slot_to_coeff; }
};

// For messages of random slots in the unit box, or real ones in [-1, 1].
ErrorBudget error_budget(const Params& params, const SinePolynomial& sine, const ScalePlan& plan,
                         int log_slots, bool real);

// Over 20 runs: noise is drawn from the budget, the sine error computed exactly. `message`: empty
// for random slots in the unit box, else the slots themselves.
Bootstrapper::Precision predict_precision(const Params& params, const BootstrapOptions& options,
                                          std::span<const Complex> message = {});

}  // namespace latticino::ckks::bootstrap
