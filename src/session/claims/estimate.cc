#include "session/claims/estimate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

constexpr int kMinSamples = 1024;  // number of points at which a polynomial is sampled
constexpr int kSamplesPerDegree = 8;
constexpr double kNarrow = 1e-6;  // the shortest part of a domain on which a slope is measured
constexpr int kPoints = 256;      // number of points of a range at which an evaluation is followed

// The coefficients of real values have a symmetry, and rounding keeps it. So the rounding error is
// real, and all of it counts as error of real values. Otherwise half of it does.
double of_rounding(const Range& x, const Range& plain) {
  return x.is_real() && plain.is_real() ? std::numbers::sqrt2 : 1;
}

double power(double x, int n) { return n == 0 ? 1.0 : std::pow(x, n); }

struct PolynomialFacts {
  Range range;
  double slope_rms = 0, slope_bound = 0;  // |p'| for samples and for bounds
};

Complex value(const Series& p, Complex x) { return evaluated(p, mapped(p, x)); }

// On a real interval the polynomial is sampled, and between samples bounded by its slope there.
PolynomialFacts on_interval(const Range& x, const Series& p) {
  const int samples =
      std::max(kMinSamples, kSamplesPerDegree * static_cast<int>(p.coefficients.size() - 1));
  const double width = x.re.high - x.re.low, step = width / samples;
  // In a narrow interval, the difference of two samples would be a rounding error.
  const double h = std::max(step / 2, kNarrow * (p.upper - p.lower));
  std::vector<Complex> values;
  for (int i = 0; i <= samples; ++i) values.push_back(value(p, x.re.low + step * i));
  PolynomialFacts out;
  double squares = 0;
  for (int i = 0; i < samples; ++i) {
    const double middle = x.re.low + step * (i + 0.5);
    const double slope = std::abs(value(p, middle + h) - value(p, middle - h)) / (2 * h);
    out.slope_bound = std::max(out.slope_bound, slope);
    squares += slope * slope;
  }
  out.slope_rms = std::sqrt(squares / samples);
  out.range = Range::of(values);
  const double between = out.slope_bound * step;
  out.range.claim = x.claim;
  out.range.of_a_sample = x.of_a_sample;
  for (Interval* part : {&out.range.re, &out.range.im}) {
    if (part->low == 0 && part->high == 0) continue;
    part->low -= between;
    part->high += between;
  }
  out.range.bound += between;
  out.range.rms = out.range.bound;
  return out;
}

// For complex values: sums of the magnitudes of terms.
PolynomialFacts in_disc(const Range& x, const Series& p) {
  const double stretch = 2 / (p.upper - p.lower);
  const double y = stretch * x.bound + std::abs(p.lower + p.upper) / (p.upper - p.lower);
  // |T_k(y)| <= (|y| + sqrt(|y|^2 + 1))^k.
  const double base = p.chebyshev ? y + std::sqrt(y * y + 1) : y;
  PolynomialFacts out;
  double bound = 0;
  for (std::size_t k = 0; k < p.coefficients.size(); ++k) {
    const double c = std::abs(p.coefficients[k]);
    const int n = static_cast<int>(k);
    bound += c * power(base, n);
    if (n > 0) out.slope_bound += c * n * power(base, n - 1) * stretch;
  }
  out.slope_rms = out.slope_bound;
  out.range = {x.claim, {-bound, bound}, {-bound, bound}, bound, bound, false, x.of_a_sample};
  return out;
}

// Points of a range at which an evaluation is followed, mapped to y: on a real interval, or on the
// edge of a complex range, where the modulus of a polynomial is largest. `worst`: also where
// squares of T_n lose most.
std::vector<Complex> points_of(const Range& x, const Series& p, bool worst) {
  const int degree = static_cast<int>(p.coefficients.size()) - 1;
  std::vector<Complex> out;
  const auto add = [&](Complex z) {
    const double size = std::abs(z);
    out.push_back(mapped(p, size > x.bound ? z * (x.bound / size) : z));
  };
  if (x.is_real()) {
    const double width = x.re.high - x.re.low;
    for (int i = 0; i <= kPoints; ++i) add(x.re.low + width * i / kPoints);
    const double low = mapped(p, x.re.low).real(), high = mapped(p, x.re.high).real();
    for (const double y : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
      if (worst && low <= y && y <= high) out.push_back(y);
    }
    return out;
  }
  const int side = std::max(kPoints, 2 * degree) / 4;
  const Complex from(x.re.low, x.im.low), to(x.re.high, x.im.high);
  for (int i = 0; i <= side; ++i) {
    const double part = static_cast<double>(i) / side;
    const double re = std::lerp(x.re.low, x.re.high, part);
    const double im = std::lerp(x.im.low, x.im.high, part);
    for (const Complex z : {Complex(re, from.imag()), Complex(re, to.imag()),
                            Complex(from.real(), im), Complex(to.real(), im)}) {
      add(z);
    }
  }
  return out;
}

// A size at the points of a range: over all of them, and at the point where it is largest.
struct Extent {
  double rms = 0, largest = 0;
  void add(double size) {
    if (!(size < HUGE_VAL)) size = HUGE_VAL;  // larger than a double can hold
    rms += size * size;
    largest = std::max(largest, size);
  }
  void divide(std::size_t count) { rms = std::sqrt(rms / static_cast<double>(count)); }
};

struct Gains {
  double slope = 0;  // the largest slope, with respect to y
  Extent noise, off;
};

Gains gains(const Range& x, const Series& p, const Evaluation& how) {
  Gains out;
  const std::vector<Complex> points = points_of(x, p, x.only_bounds());
  for (const Complex& y : points) {
    const Evaluation::Point at = how.at(y);
    out.slope = std::max(out.slope, std::abs(at.slope));
    out.noise.add(at.noise);
    out.off.add(std::abs(at.off));
  }
  out.noise.divide(points.size());
  out.off.divide(points.size());
  return out;
}

Error error_of(const Gains& g, const Range& x) {
  const bool bounded = x.only_bounds();
  const double noise = bounded ? g.noise.largest : g.noise.rms;
  const double off = bounded ? g.off.largest : g.off.rms;
  if (noise == HUGE_VAL || off == HUGE_VAL) return Error::fresh(HUGE_VAL);
  // This error is a function of the values. If they are equal, its mean is its root mean square,
  // unlike the mean of a normal error. It is real if the values are.
  const double equal = x.is_real() ? std::sqrt(std::numbers::pi) : 2 / std::sqrt(std::numbers::pi);
  return Error::fresh(noise).times(1, noise > 0 ? g.noise.largest / noise : 1) +
         Error::of_values(off * equal, g.off.largest, 1);
}

// A range that no sample shows is only a bound. Values may be large where the errors of the other
// factor are large, for example in powers of a value that was divided by small numbers.
Error times(const Error& error, const Range& by, bool bounded) {
  return bounded ? error.times_aligned(by.rms, by.bound) : error.times(by.rms, by.bound);
}

}  // namespace

double slot_error(double variance, double slots, double scale) {
  return std::sqrt(2 * slots * variance) / scale;
}

Estimate operator+(const Estimate& x, const Estimate& y) {
  return {x.range + y.range, x.error + y.error};
}

Estimate operator-(const Estimate& x) { return {-x.range, x.error}; }

Estimate product(const Estimate& x, const Estimate& y, bool same, double added) {
  const bool bounded = x.range.only_bounds() || y.range.only_bounds();
  const Error cross = times(x.error, y.range, bounded) + times(y.error, x.range, bounded) +
                      Error::fresh(x.error.rms() * y.error.rms(), false);
  return {same ? square(x.range) : x.range * y.range, cross + Error::fresh(added)};
}

// The rounding of the plain values is multiplied by x. So the error is largest where x is, and of
// sparse values that is far above the root mean square.
Estimate times_plain(const Estimate& x, const Range& plain, double rounding, double added) {
  const Error rounded = Error::fresh(rounding * of_rounding(x.range, plain), true, false);
  return {x.range * plain, times(x.error, plain, x.range.only_bounds()) +
                               rounded.times(x.range.rms, x.range.bound) + Error::fresh(added)};
}

Estimate plus_plain(const Estimate& x, const Range& plain, double rounding) {
  return {x.range + plain,
          x.error + Error::fresh(rounding * of_rounding(x.range, plain), true, false)};
}

Estimate times_number(const Estimate& x, std::complex<double> c, double added) {
  const double size = std::abs(c);
  return {x.range * Range::of(c), x.error.times(size, size) + Error::fresh(added)};
}

Estimate conjugate(const Estimate& x, double added) {
  return {conjugate(x.range), x.error.moved(~std::uint64_t{0}) + Error::fresh(added)};
}

Estimate moved(const Estimate& x, std::uint64_t steps, bool masked, double added) {
  const Error error = masked ? x.error.at_values() : x.error;
  return {masked ? with_zero(x.range) : x.range, error.moved(steps) + Error::fresh(added)};
}

Estimate summed(const Estimate& x, double count, double added, double unused) {
  return {sum(x.range, count),
          x.error.summed(count, std::sqrt(count), unused) + Error::fresh(added, false)};
}

Estimate mapped(const Estimate& x, double l1, double l2, bool real, double added,
                double correlation) {
  return {mapped(x.range, l1, real), x.error.mapped(l1, l2, correlation) + Error::fresh(added)};
}

Estimate plus_error(const Estimate& x, double added, bool white) {
  return {x.range, x.error + Error::fresh(added, white)};
}

Complex mapped(const Series& p, Complex x) {
  return (2.0 * x - p.lower - p.upper) / (p.upper - p.lower);
}

Range range_of_polynomial(const Range& x, const Series& p) {
  return (x.is_real() ? on_interval(x, p) : in_disc(x, p)).range;
}

Estimate polynomial(const Estimate& x, const Series& p, const Evaluation& how) {
  const PolynomialFacts facts = x.range.is_real() ? on_interval(x.range, p) : in_disc(x.range, p);
  const double stretch = 2 / (p.upper - p.lower);
  const Gains g = gains(x.range, p, how);
  const double steepest = std::max(facts.slope_bound, g.slope * stretch);
  const double slope = x.range.only_bounds() ? steepest : facts.slope_rms;
  return {facts.range, x.error.times(slope, steepest) +
                           Error::fresh(how.mapping() * slope / stretch) + error_of(g, x.range)};
}

Estimate refreshed(const Estimate& x, double noise, double ratio, bool of_slots, double slots,
                   const Uneven& uneven) {
  const double gain = 2 * std::numbers::pi * std::numbers::pi / 3 * ratio * ratio;
  const Range& range = x.range;
  double loss = 0, worst = 0, largest = range.rms;
  if (of_slots) {
    largest = std::max(range.re.size(), range.im.size());
    worst = gain * std::hypot(std::pow(range.re.size(), 3), std::pow(range.im.size(), 3));
    loss = gain * largest * largest * std::min(largest * std::numbers::sqrt2, range.rms);
  } else {
    if (range.random_like) {
      largest = range.rms * std::sqrt((std::log(2 * slots) + 1) / slots);
    }
    loss = gain * largest * largest * range.rms;
  }
  // This error is a function of the values. If these are equal, its mean is its root mean square,
  // unlike the mean of a normal error. It is real if the values are.
  loss *= range.is_real() ? std::sqrt(std::numbers::pi) : 2 / std::sqrt(std::numbers::pi);
  return {range, x.error + Error::uneven(noise, of_slots, uneven, slots) +
                     Error::of_values(loss, worst, slots)};
}

}  // namespace latticino::session
