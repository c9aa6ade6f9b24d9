// Predicted precision of bootstrapping for any slots and any message: the parameters' noise model
// (Params::bootstrap_noise) and the exact error of the sine. Needs no device and no keys.
#pragma once

#include <span>
#include <utility>

#include "ckks/bootstrap/bootstrap.h"
#include "ckks/bootstrap/scale_plan.h"

namespace latticino::ckks::bootstrap {

// What the options of a bootstrapping determine, without a device: EvalMod's function, levels,
// scales and noise.
struct Form {
  SinePolynomial sine;
  ScalePlan plan;
  BootstrapNoise noise;
};
Form form_of(const Params& params, const BootstrapOptions& options);

// How the error of EvalMod differs between slots if SlotToCoeff came first. It grows with 1 / (I -
// 1/4), where I is the integer that ModRaise adds: it is largest where I is 0. Returns the part of
// the slots where it is, and the factor there, compared with the root mean square of all.
std::pair<double, double> largest_of_eval_mod(const BootstrapLiteral& literal);

// The precision over 20 simulated runs. Their noise is drawn from the model, and the error of the
// sine is computed exactly.
// `message`: the slots; empty: random slots in the unit box.
Bootstrapper::Precision predict_precision(const Params& params, const BootstrapOptions& options,
                                          std::span<const Complex> message = {});

}  // namespace latticino::ckks::bootstrap
