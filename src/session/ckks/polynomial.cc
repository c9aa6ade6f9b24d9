#include "session/ckks/polynomial.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "math/errors.h"
#include "math/text.h"

namespace latticino::session {
namespace {

bool is_mapped(const ckks::Polynomial& p) { return p.levels() > p.depth(); }

bool keeps_scale(const Params& params, int start, int depth) {
  double scale = std::log2(params.scale(start));
  for (int level = start; level > start - depth + 1; --level) {
    scale = 2 * scale - std::log2(params.rescale_factor(level));
    if (std::abs(scale - std::log2(params.scale(level - 1))) > 1) return false;
  }
  return true;
}

// The rounded factor that scales to [-1, 1], divided by the exact one.
double rounded_stretch(const Contents& x, const ckks::Polynomial& p) {
  const Params& params = x.params();
  const double exact = 2 / (p.upper - p.lower) * params.rescale_factor(x.level()) *
                       (params.scale(x.level() - 1) / x.scale());
  return std::nearbyint(exact) / exact;
}

// What a polynomial makes of the slots without values, if its values are up to `reach` in size.
UnusedSlots rest_after(const Contents& x, const Series& p, double reach) {
  if (x.rest.number) return UnusedSlots::holding(evaluated(p, mapped(p, *x.rest.number)));
  if (x.rest.bound > x.known.reach()) {  // these slots do not only hold copies of values
    const Interval ends{-x.rest.bound, x.rest.bound};
    const Range held = Range::declared(ends, x.known.range().is_real() ? Interval() : ends);
    reach = std::max(reach, range_of_polynomial(held, p).bound);
  }
  return UnusedSlots::of(std::max(x.rest.kind, UnusedSlots::Kind::Filler), reach);
}

}  // namespace

Series series_of(const ckks::Polynomial& p) {
  return {p.coefficients, p.basis == ckks::PolynomialBasis::Chebyshev, p.lower, p.upper};
}

double evaluation_error(const Range& x, const ckks::Polynomial& p, const Evaluation& how) {
  return polynomial({x, {}}, series_of(p), how).error.rms();
}

std::optional<int> steady_level(const Params& params, int level, int levels, int depth) {
  for (int start = level; start >= levels; --start) {
    if (keeps_scale(params, start - (levels - depth), depth)) return start;
  }
  return std::nullopt;
}

void require_levels(const std::string& operation, int level, const ckks::Polynomial& p,
                    const std::string& more_levels) {
  if (level >= p.levels()) return;
  throw LevelError(operation, "level " + std::to_string(level),
                   std::to_string(p.levels()) + " levels for degree " + std::to_string(p.degree()) +
                       (is_mapped(p) ? " (one of them for the domain)" : ""),
                   more_levels + "; fewer bits or a narrower domain need fewer levels");
}

int evaluation_level(const std::string& operation, const Contents& x, const ckks::Polynomial& p,
                     const std::string& more_levels) {
  require_levels(operation, x.level(), p, more_levels);
  const Params& params = x.params();
  if (const auto level = steady_level(params, x.level(), p.levels(), p.depth())) return *level;
  int most = p.levels() - 1;
  while (most > 1 && !steady_level(params, x.level(), most, most)) --most;
  throw LevelError(operation,
                   "level " + std::to_string(x.level()) +
                       ", below which scales are not constant for " + std::to_string(p.levels()) +
                       " levels",
                   "at most " + std::to_string(most) + " levels",
                   "encrypt at the default level, or take a polynomial of a smaller degree");
}

Contents evaluated(const ckks::Evaluator& e, const Contents& x, const ckks::Polynomial& p,
                   std::optional<Interval> domain, const KnownAfter& after) {
  Parts parts = evaluate(e, p, x.parts);
  const Series series = series_of(p);
  Known before = domain ? x.known.within_domain(*domain) : x.known;
  if (is_mapped(p)) before = before.times_number(1, 0, rounded_stretch(x, p));
  const Evaluation how(x.params(), x.level(), p, x.slots());
  Known known = after ? after(before, how) : before.polynomial(series, how);
  UnusedSlots rest = rest_after(x, series, known.reach());
  return {std::move(parts), std::move(known), rest};
}

bool leaves(const Contents& x, const ckks::Polynomial& p) {
  // Size of T_n or of a power that may be too large.
  constexpr double kLarge = 8 * std::numbers::ln2;
  const Series series = series_of(p);
  // Unknown numbers are replaced by zeros before.
  const bool unknown = x.rest.kind == UnusedSlots::Kind::Unknown;
  double y = 0;
  if (unknown || x.rest.number) {
    y = std::abs(mapped(series, unknown ? 0 : *x.rest.number));
  } else if (x.rest.bound > x.known.reach()) {
    y = std::max(std::abs(mapped(series, -x.rest.bound)), std::abs(mapped(series, x.rest.bound)));
  } else {  // these slots hold copies of values
    return false;
  }
  if (series.chebyshev) return y > 1 && p.degree() * std::acosh(y) > kLarge;
  const Range& r = x.known.range();
  const double of_values = std::max(std::abs(mapped(series, {r.re.low, r.im.low})),
                                    std::abs(mapped(series, {r.re.high, r.im.high})));
  return y > std::max(1.0, of_values) && p.degree() * std::log(y) > kLarge;
}

double number_within(double reach, Interval domain) {
  const double middle = (domain.low + domain.high) / 2;
  const double near = std::abs(middle) > reach ? std::copysign(reach, middle) : middle;
  return std::clamp(near, domain.low, domain.high);
}

}  // namespace latticino::session
