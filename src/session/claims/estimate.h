// Range and error of an encrypted array, and how operations change them. The variances of
// rescalings and key switches are those of rlwe/noise.h, which tests compare with measurements.
#pragma once

#include <span>

#include "params/params.h"
#include "session/claims/error.h"
#include "session/claims/evaluation.h"
#include "session/claims/range.h"

namespace latticino::session {

struct Estimate {
  Range range;
  Error error;
};

Estimate operator+(const Estimate& x, const Estimate& y);
Estimate operator-(const Estimate& x);
// The product of two ciphertexts; `same`: it is the product of a ciphertext with itself. `added`:
// the error of the key switch and of the rescaling.
Estimate product(const Estimate& x, const Estimate& y, bool same, double added);
// Multiplied by plain values, or plus plain values, encoded with errors of root mean square
// `rounding`.
Estimate times_plain(const Estimate& x, const Range& plain, double rounding, double added);
Estimate plus_plain(const Estimate& x, const Range& plain, double rounding);
// Multiplied by a number. The operation adds the error `added`.
Estimate times_number(const Estimate& x, std::complex<double> c, double added);
Estimate conjugate(const Estimate& x, double added);
// Slots moved by `steps`. `masked`: there are zeros among them.
Estimate moved(const Estimate& x, std::uint64_t steps, bool masked, double added);
// Sums of `count` values each, and of `unused` slots without values, which hold zeros.
Estimate summed(const Estimate& x, double count, double added, double unused = 0);
// A linear map, whose results are weighted sums of values. `l1` bounds the sum of the magnitudes of
// the weights of any one result, and `l2` the root of the sum of their squares. `correlation`: that
// of the results (correlation.h).
Estimate mapped(const Estimate& x, double l1, double l2, bool real, double added,
                double correlation = 1);
Estimate plus_error(const Estimate& x, double added, bool white = true);

// What x becomes if the interval is mapped to [-1, 1].
std::complex<double> mapped(const Series& p, std::complex<double> x);
Estimate polynomial(const Estimate& x, const Series& p, const Evaluation& how);
// The range of a polynomial, for values of a range.
Range range_of_polynomial(const Range& x, const Series& p);

// Bootstrapping adds noise of root mean square `noise`. Its sine also reduces each coefficient m by
// 6.58 ratio^2 |m|^3, or each slot if SlotToCoeff comes first (`of_slots`). `ratio` is 0 if there
// is an arcsine. `uneven`: how the noise differs between slots.
Estimate refreshed(const Estimate& x, double noise, double ratio, bool of_slots, double slots,
                   const Uneven& uneven = {});

// Slot errors, as root mean squares, of n slots at a scale: a coefficient error of standard
// deviation e is a slot error of e sqrt(2 n), as decoding reads 2 n coefficients with factors of
// modulus one.
double slot_error(double variance, double slots, double scale);

}  // namespace latticino::session
