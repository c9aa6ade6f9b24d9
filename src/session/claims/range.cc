#include "session/claims/range.h"

#include <algorithm>
#include <cmath>

#include "math/errors.h"
#include "math/text.h"

namespace latticino::session {
namespace {

constexpr double kNegligibleImaginary = 1e-150;
constexpr double kSlack = 1 + 1e-9;

Interval plus(const Interval& a, const Interval& b) { return {a.low + b.low, a.high + b.high}; }
Interval minus(const Interval& a) { return {-a.high, -a.low}; }

Interval times(const Interval& a, const Interval& b) {
  const auto [low, high] =
      std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}

// Clips both parts to the bound of the modulus.
Range clipped(Range x) {
  for (Interval* part : {&x.re, &x.im}) {
    part->low = std::max(part->low, -x.bound);
    part->high = std::min(part->high, x.bound);
  }
  x.bound = std::min(x.bound, std::hypot(x.re.size(), x.im.size()));
  x.rms = std::min(x.rms, x.bound);
  return x;
}

std::string number(double x) { return formatted("%.4g", x); }

}  // namespace

const char* name_of(Claim claim) {
  switch (claim) {
    case Claim::Assumed:
      return "assumed";
    case Claim::Declared:
      return "declared";
    default:
      return "calibrated";
  }
}

double Interval::size() const { return std::max(std::abs(low), std::abs(high)); }

Range Range::assumed(bool real) {
  const Interval unit{-1, 1};
  if (real) return {Claim::Assumed, unit, {}, 1, 1, false};
  return {Claim::Assumed, unit, unit, std::sqrt(2.0), std::sqrt(2.0), false};
}

Range Range::unit_disc() {
  Range disc = assumed(false);
  disc.bound = disc.rms = 1;
  return disc;
}

Range Range::declared(Interval re, Interval im, double rms, bool random_like) {
  for (const Interval& part : {re, im}) {
    if (!(part.low <= part.high) || !std::isfinite(part.low) || !std::isfinite(part.high)) {
      throw ValueError("range", "an interval from " + number(part.low) + " to " + number(part.high),
                       "finite ends in order", "correct the range");
    }
  }
  const double bound = std::hypot(re.size(), im.size());
  if (!(rms >= 0) || rms > bound * (1 + 1e-12)) {
    throw ValueError("range", "the root mean square " + number(rms),
                     "a number from 0 to the bound " + number(bound), "correct the range");
  }
  return {Claim::Declared, re, im, bound, rms > 0 ? std::min(rms, bound) : bound, random_like};
}

Range Range::of(std::span<const std::complex<double>> values) {
  if (values.empty()) return {Claim::Calibrated, {}, {}, 0, 0, false};
  Range out{Claim::Calibrated,
            {values[0].real(), values[0].real()},
            {values[0].imag(), values[0].imag()},
            0,
            0,
            false};
  double squares = 0, largest = 0;
  for (const std::complex<double>& z : values) {
    out.re = {std::min(out.re.low, z.real()), std::max(out.re.high, z.real())};
    out.im = {std::min(out.im.low, z.imag()), std::max(out.im.high, z.imag())};
    largest = std::max(largest, std::norm(z));
    squares += std::norm(z);
  }
  out.bound = std::sqrt(largest);
  out.rms = std::min(out.bound, std::sqrt(squares / static_cast<double>(values.size())));
  return out;
}

Range Range::of(std::complex<double> value) { return of({&value, 1}); }

Range Range::of_sample(std::span<const std::complex<double>> values, bool real) {
  Range out = of(values);
  out.of_a_sample = true;
  if (!real && out.im.low == 0 && out.im.high == 0) {
    out.im.high = kNegligibleImaginary;
    out.bound = std::max(out.bound, kNegligibleImaginary);
  }
  return out;
}

Range Range::stated(Claim claim, Interval re, Interval im, double bound, double rms,
                    bool random_like) {
  Range out = declared(re, im, 0, random_like);
  out.claim = claim;
  out.bound = std::min(out.bound, bound);
  out.rms = std::min(out.bound, rms);
  return out;
}

Range Range::with_basis_of(const Range& x) const {
  Range out = *this;
  out.claim = x.claim == Claim::Assumed ? Claim::Assumed : Claim::Declared;
  out.of_a_sample = x.of_a_sample;
  return out;
}

Claim Range::basis() const {
  return of_a_sample && claim != Claim::Assumed ? Claim::Calibrated : claim;
}

bool Range::contains(const Range& other) const {
  const auto within = [](const Interval& a, const Interval& b) {
    const double slack = (kSlack - 1) * a.size();
    return a.low - slack <= b.low && b.high <= a.high + slack;
  };
  return within(re, other.re) && within(im, other.im) && other.bound <= bound * kSlack;
}

bool Range::serves(const Range& other) const {
  constexpr double kMoreThanSampled = 1.25;
  if (claim == Claim::Calibrated) {
    return other.claim == Claim::Calibrated && other.bound <= kMoreThanSampled * bound;
  }
  return contains(other) && other.rms <= kSlack * rms && (other.random_like || !random_like);
}

std::string Range::str() const {
  if (is_real()) return number(re.low) + " to " + number(re.high);
  return "real parts " + number(re.low) + " to " + number(re.high) + ", imaginary parts " +
         number(im.low) + " to " + number(im.high);
}

std::string Range::described() const {
  const char* of_values = random_like ? ", random" : "";
  const std::string size = claim == Claim::Declared && !of_a_sample && rms * kSlack < bound
                               ? ", root mean square " + number(rms)
                               : "";
  return str() + " (" + name_of(basis()) + of_values + size + ")";
}

Range operator+(const Range& x, const Range& y) {
  const Claim claim = std::min(x.claim, y.claim);
  return clipped({claim, plus(x.re, y.re), plus(x.im, y.im), x.bound + y.bound, x.rms + y.rms,
                  x.random_like && y.random_like, x.of_a_sample || y.of_a_sample});
}

Range operator-(const Range& x) {
  return {x.claim, minus(x.re), minus(x.im), x.bound, x.rms, x.random_like, x.of_a_sample};
}

Range operator*(const Range& x, const Range& y) {
  const Claim claim = std::min(x.claim, y.claim);
  return clipped({claim, plus(times(x.re, y.re), minus(times(x.im, y.im))),
                  plus(times(x.re, y.im), times(x.im, y.re)), x.bound * y.bound,
                  std::min(x.rms * y.bound, x.bound * y.rms), x.random_like || y.random_like,
                  x.of_a_sample || y.of_a_sample});
}

Range conjugate(const Range& x) {
  return {x.claim, x.re, minus(x.im), x.bound, x.rms, x.random_like, x.of_a_sample};
}

Range hull(std::span<const Range> several, std::span<const std::size_t> sizes) {
  Range out = several[0];
  double squares = 0, count = 0, largest = 0;
  for (std::size_t i = 0; i < several.size(); ++i) {
    const Range& x = several[i];
    out.claim = std::min(out.claim, x.claim);
    out.re = {std::min(out.re.low, x.re.low), std::max(out.re.high, x.re.high)};
    out.im = {std::min(out.im.low, x.im.low), std::max(out.im.high, x.im.high)};
    out.bound = std::max(out.bound, x.bound);
    out.random_like = out.random_like && x.random_like;
    out.of_a_sample = out.of_a_sample || x.of_a_sample;
    squares += x.rms * x.rms * static_cast<double>(sizes[i]);
    count += static_cast<double>(sizes[i]);
    largest = std::max(largest, x.rms);
  }
  // Any part of the values may have the root mean square of all of them, unless a sample shows it.
  out.rms = out.claim == Claim::Calibrated ? std::sqrt(squares / count) : largest;
  // Rules for values of a sample need that sample.
  if (out.claim == Claim::Calibrated) out.claim = Claim::Declared;
  return out;
}

Range square(const Range& x) {
  Range out = x * x;
  out.random_like = false;
  if (x.is_real()) {
    const double least = x.re.low > 0 ? x.re.low : x.re.high < 0 ? -x.re.high : 0;
    out.re = {least * least, x.bound * x.bound};
  }
  return out;
}

Range sum(const Range& x, double count) {
  return {x.claim,
          {count * x.re.low, count * x.re.high},
          {count * x.im.low, count * x.im.high},
          count * x.bound,
          count * x.rms,
          false,
          x.of_a_sample};
}

Range with_zero(const Range& x) {
  Range out = x;
  for (Interval* part : {&out.re, &out.im}) {
    part->low = std::min(part->low, 0.0);
    part->high = std::max(part->high, 0.0);
  }
  return out;
}

Range mapped(const Range& x, double l1, bool real) {
  const double bound = l1 * x.bound, re = l1 * (real ? x.re.size() : x.bound);
  const double im = real ? l1 * x.im.size() : bound;
  return clipped({x.claim, {-re, re}, {-im, im}, bound, l1 * x.rms, false, x.of_a_sample});
}

}  // namespace latticino::session
