// Polynomials of arrays: the level at which they are evaluated, and what is known of the results.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ckks/polynomial/polynomial.h"
#include "session/ckks/contents.h"

namespace latticino::session {

// The highest level, up to `level`, from which scales stay the same over an evaluation that takes
// `levels`, `depth` of them for products; none if there is no such level. Primes of bootstrapping
// levels have other sizes. There, the square of a square would lose its precision.
std::optional<int> steady_level(const Params& params, int level, int levels, int depth);
// LevelError if `level` is too low for p. `more_levels`: the advice in that case.
void require_levels(const std::string& operation, int level, const ckks::Polynomial& p,
                    const std::string& more_levels);
// The level at which p of x is evaluated: the highest steady one. LevelError if there is none.
int evaluation_level(const std::string& operation, const Contents& x, const ckks::Polynomial& p,
                     const std::string& more_levels);

// What is known of the result, from what is known of the operand and how it is evaluated.
using KnownAfter = std::function<Known(const Known& before, const Evaluation& how)>;
// p of every value; its degree is at least 1. x must have canonical scales and the level that
// evaluation_level() gives. `domain`: the interval in which the values are, whatever else is known
// of them. `after`: for functions of which more is known than of their polynomials.
Contents evaluated(const ckks::Evaluator& e, const Contents& x, const ckks::Polynomial& p,
                   std::optional<Interval> domain = std::nullopt, const KnownAfter& after = {});

// Whether p may leave the modulus in the slots without values, although it does not for the values.
bool leaves(const Contents& x, const ckks::Polynomial& p);
// A number from an interval, for the slots without values. It is no larger than the values, because
// a larger one could leave the range that a bootstrapping accepts. A reach that is no number limits
// nothing.
double number_within(double reach, Interval domain);

// The same polynomial in the form that claims use.
Series series_of(const ckks::Polynomial& p);
// The error, as root mean square, that an evaluation adds to values of a range.
double evaluation_error(const Range& x, const ckks::Polynomial& p, const Evaluation& how);

}  // namespace latticino::session
