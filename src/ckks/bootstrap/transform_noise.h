// Noise of a chain of DFT factors, as variances: rescaling after each factor, and the rounding of
// the encoded diagonals. All variances are relative to the signal, so different shares of one
// constant can be compared.
#pragma once

#include <vector>

#include "params/params.h"

namespace latticino::ckks::bootstrap {

struct TransformChain {
  // The number of coefficients whose noise reaches a slot: those of the ring that the used slots
  // span.
  double noise_coefficients = 0;
  std::vector<int> stages;               // radix-2 stages of each factor
  std::vector<int> log_period;           // the diagonals of a factor repeat with period 2^this
  std::vector<double> plaintext_scales;  // of the factors
  // Whether it is CoeffToSlot, in which a stage halves the power; in SlotToCoeff a stage doubles
  // it.
  bool inverse = false;
  double input_power = 0;        // mean |slot|^2 of the integers that are the input
  std::vector<double> rounding;  // variance that the division after each factor adds
};

// (noise / signal)^2 after the whole chain for factor constants `constants`.
double relative_noise(const TransformChain& chain, const std::vector<double>& constants);

// Divides `total` into shares that make relative_noise smallest. All but the last are powers of
// two. Only + - * / are used, so the stored constants are reproducible.
std::vector<double> share_constant(const TransformChain& chain, double total);

}  // namespace latticino::ckks::bootstrap
