// Expected errors of slots: root mean squares of a slot's complex error. In a ciphertext of n slots
// a coefficient error of deviation e is a slot error of e sqrt(2 n). Variances of coefficients are
// those of rlwe/noise.h, which tests compare with measurements. The formulas assume messages of
// size 1.
#pragma once

#include <cmath>

#include "params/params.h"
#include "rlwe/noise.h"
#include "session/claims/estimate.h"

namespace latticino::session {

// A fresh encryption under the secret key, or under the public one.
inline double fresh_error(const Params& params, double scale, int slots, bool open) {
  return slot_error(open ? rlwe::fresh_public_variance(params) : rlwe::fresh_symmetric_variance(),
                    slots, scale);
}
// What a division from `level` to the level below adds, at the scale there.
inline double rescaled_error(const Params& params, int level, int slots, double scale) {
  return slot_error(rlwe::rescale_variance(params, level), slots, scale);
}
// The error that a key switch at `level` adds: a rotation or a conjugation.
inline double switched_error(const Params& params, int level, int slots, double scale) {
  return slot_error(rlwe::key_switch_variance(params, level), slots, scale);
}
// The same for a key switch that goes to the level below, at the scale there: a product.
inline double multiplied_error(const Params& params, int level, int slots, double scale) {
  return slot_error(rlwe::key_switch_rescale_variance(params, level), slots, scale);
}
// The part of `switched_error` that comes from the errors of the key, without the division by P
// that follows. Rotations that share one division leave only this part (in a matrix product, for
// example).
inline double key_error_alone(const Params& params, int level, int slots, double scale) {
  return slot_error(params.key_error_variance(level), slots, scale);
}
// The error that a sum of `count` rotations adds in steps of four terms
// (Evaluator::inner_sum_by_fours). Three key products share a division, and each step adds up the
// errors of the steps before it.
inline double summed_by_fours_error(const Params& params, int level, int slots, double scale,
                                    double count) {
  const double one = switched_error(params, level, slots, scale);
  const double key = key_error_alone(params, level, slots, scale);
  double variance = 0, terms = 4;
  for (; terms <= count; terms *= 4) variance += (one * one + 2 * key * key) * count / terms;
  if (terms / 4 < count) variance += one * one;
  return std::sqrt(variance);
}
// The error of rounding plain values at `scale`: variance 1/12 for each of 2 n coefficients.
inline double encoded_error(int slots, double scale) { return std::sqrt(slots / 6.0) / scale; }

// The factor for the error of a key switch if `count` parts of the slots are added up. Each of the
// log2(count) steps doubles the error of the steps before it: the root of 1 + 4 + 16 + ...
inline double doubling(double count) { return std::sqrt((count * count - 1) / 3); }

}  // namespace latticino::session
