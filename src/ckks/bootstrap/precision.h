// Predicted precision of bootstrapping for any slots and any message: the parameters' noise model
// (Params::bootstrap_noise) and the exact error of the sine. Needs no device and no keys.
#pragma once

#include <span>

#include "ckks/bootstrap/bootstrap.h"
#include "ckks/bootstrap/scale_plan.h"

namespace latticino::ckks::bootstrap {

// What options come to, without a device: the function of EvalMod, levels and scales, noise.
struct Form {
  SinePolynomial sine;
  ScalePlan plan;
  BootstrapNoise noise;
};
Form form_of(const Params& params, const BootstrapOptions& options);

// Over 20 runs: noise is drawn from the model, the sine error computed exactly. `message`: empty
// for random slots in the unit box, else the slots themselves.
Bootstrapper::Precision predict_precision(const Params& params, const BootstrapOptions& options,
                                          std::span<const Complex> message = {});

}  // namespace latticino::ckks::bootstrap
