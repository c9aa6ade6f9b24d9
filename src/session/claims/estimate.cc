#include "session/claims/estimate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

constexpr int kMinSamples = 1024;  // at which a polynomial is sampled
constexpr int kSamplesPerDegree = 8;
constexpr double kNarrow = 1e-6;  // the shortest part of a domain on which a slope is measured
constexpr int kPoints = 256;      // of an interval, at which errors of products are computed

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

Complex value(const Series& p, Complex x) {
  const Complex y = (2.0 * x - p.lower - p.upper) / (p.upper - p.lower);
  Complex b1 = 0, b2 = 0;
  if (p.chebyshev) {  // Clenshaw
    for (std::size_t k = p.coefficients.size(); k-- > 1;) {
      const Complex next = 2.0 * y * b1 - b2 + p.coefficients[k];
      b2 = b1;
      b1 = next;
    }
    return y * b1 - b2 + p.coefficients[0];
  }
  for (std::size_t k = p.coefficients.size(); k-- > 0;) b1 = b1 * y + p.coefficients[k];
  return b1;
}

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

// Complex values: sums of magnitudes of the terms.
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

// Products inside have errors too. The error of the power (or T) of index g = 1, 2, 4, ... is
// multiplied by the derivative of the result with respect to it. If ranges are only bounds, nothing
// is known about signs, so terms add up linearly; otherwise they add up in squares.
double inner_gain(const Series& p, double y, bool linear) {
  double squares = 0;
  const int degree = static_cast<int>(p.coefficients.size()) - 1;
  for (int g = 2; g <= degree; g *= 2) {
    double sum = 0;
    for (int k = g; k <= degree; ++k) {
      const double ratio = static_cast<double>(k) / g;
      const double growth = p.chebyshev
                                ? ratio * (y > 1 ? power(y + std::sqrt(y * y - 1), k - g) : 1.0)
                                : ratio * power(y, k - g);
      const double term = std::abs(p.coefficients[static_cast<std::size_t>(k)]) * growth;
      sum += linear ? term : term * term;
    }
    squares += linear ? sum * sum : sum;
  }
  return std::sqrt(squares);
}

// The factors by which errors grow: the error of the argument, at the point where that grows most,
// and the errors of products.
struct Gains {
  double of_argument = 0, of_products = 0;
};

// Follows the error of each product in the evaluation of a polynomial by halves: p = q T_g + r for
// g = 2^k (or x^g in place of T_g), down to terms of degree 1.
class Splits {
 public:
  explicit Splits(const Series& p)
      : chebyshev_(p.chebyshev),
        lower_(p.lower),
        upper_(p.upper),
        depth_(std::bit_width(p.coefficients.size() - 1)) {
    leaves_.assign(p.coefficients.begin(), p.coefficients.end());
    leaves_.resize(std::size_t{1} << depth_);
    if (chebyshev_) {
      for (std::size_t g = leaves_.size() / 2; g >= 2; g /= 2) {
        for (std::size_t first = 0; first < leaves_.size(); first += 2 * g) {
          for (std::size_t i = 1; i < g; ++i) {
            leaves_[first + g - i] -= leaves_[first + g + i];
            leaves_[first + g + i] *= 2;
          }
        }
      }
    }
  }

  // The factors for values anywhere in an interval, or (`worst`) at the point where products lose
  // most.
  Gains gains(const Interval& x, bool worst) const {
    Gains out;
    double squares = 0;
    std::vector<double> points;
    for (int i = 0; i <= kPoints; ++i) {
      points.push_back(mapped(x.low + (x.high - x.low) * i / kPoints));
    }
    for (const double y : {-1.0, -0.5, 0.0, 0.5, 1.0}) {  // squares of T_n lose most here
      if (worst && points.front() <= y && y <= points.back()) points.push_back(y);
    }
    for (const double y : points) {
      const auto [argument, products] = at(y);
      out.of_argument = std::max(out.of_argument, argument);
      out.of_products = std::max(out.of_products, products);
      squares += products * products;
    }
    if (!worst) out.of_products = std::sqrt(squares / static_cast<double>(points.size()));
    return out;
  }

 private:
  double mapped(double x) const { return (2 * x - lower_ - upper_) / (upper_ - lower_); }

  Gains at(double y) const {
    std::vector<double> element = {y};  // T_1, T_2, T_4 ..
    for (int k = 1; k < depth_; ++k) {
      const double t = element.back();
      element.push_back(chebyshev_ ? 2 * t * t - 1 : t * t);
    }
    std::vector<Complex> nodes = leaves_, by_element(static_cast<std::size_t>(depth_));
    std::vector<std::vector<Complex>> high(static_cast<std::size_t>(depth_));
    for (std::size_t k = 0; k < element.size(); ++k) {
      for (std::size_t j = 0; j < nodes.size() / 2; ++j) {
        high[k].push_back(nodes[2 * j + 1]);
        nodes[j] = nodes[2 * j] + element[k] * nodes[2 * j + 1];
      }
      nodes.resize(nodes.size() / 2);
    }
    // From the root down: the factor with which each node counts in the result.
    std::vector<double> weights = {1};
    double squares = 1;
    for (std::size_t k = element.size(); k-- > 0;) {
      std::vector<double> below;
      for (std::size_t j = 0; j < weights.size(); ++j) {
        by_element[k] += weights[j] * high[k][j];
        below.push_back(weights[j]);
        below.push_back(weights[j] * element[k]);
        // Sums of degree 1 and less come without a product.
        if (k > 1 && high[k][j] != Complex(0)) squares += below.back() * below.back();
      }
      weights = std::move(below);
    }
    for (std::size_t k = element.size(); k-- > 1;) {
      squares += std::norm(by_element[k]);
      by_element[k - 1] += by_element[k] * (chebyshev_ ? 4.0 : 2.0) * element[k - 1];
    }
    return {std::abs(by_element[0]), std::sqrt(squares)};
  }

  bool chebyshev_;
  double lower_, upper_;
  int depth_;
  std::vector<Complex> leaves_;
};

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

Estimate times_plain(const Estimate& x, const Range& plain, double rounding, double added) {
  return {x.range * plain,
          times(x.error, plain, x.range.only_bounds()) +
              Error::fresh(x.range.rms * rounding * of_rounding(x.range, plain), true, false) +
              Error::fresh(added)};
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

Complex evaluated(const Series& p, Complex y) {
  Complex b1 = 0, b2 = 0;
  if (!p.chebyshev) {
    for (std::size_t k = p.coefficients.size(); k-- > 0;) b1 = b1 * y + p.coefficients[k];
    return b1;
  }
  for (std::size_t k = p.coefficients.size(); k-- > 1;) {  // Clenshaw
    const Complex next = 2.0 * y * b1 - b2 + p.coefficients[k];
    b2 = b1;
    b1 = next;
  }
  return y * b1 - b2 + p.coefficients[0];
}

Estimate polynomial(const Estimate& x, const Series& p, double added, double mapping) {
  const PolynomialFacts facts = x.range.is_real() ? on_interval(x.range, p) : in_disc(x.range, p);
  const bool bounded = x.range.only_bounds();
  const double slope = bounded ? facts.slope_bound : facts.slope_rms;
  const double y = std::max(std::abs(2 * x.range.re.high - p.lower - p.upper),
                            std::abs(2 * x.range.re.low - p.lower - p.upper)) /
                       (p.upper - p.lower) +
                   2 * x.range.im.size() / (p.upper - p.lower);
  const double stretch = 2 / (p.upper - p.lower);
  if (x.range.is_real() && p.coefficients.size() > 2) {
    const Gains gains = Splits(p).gains(x.range.re, bounded);
    const double steepest = std::max(facts.slope_bound, gains.of_argument * stretch);
    return {facts.range, x.error.times(bounded ? steepest : slope, steepest) +
                             Error::fresh(mapping * (bounded ? steepest : slope) / stretch) +
                             Error::fresh(added * gains.of_products)};
  }
  return {facts.range, x.error.times(slope, facts.slope_bound) + Error::fresh(added) +
                           Error::fresh(mapping * slope / stretch) +
                           Error::fresh(added * inner_gain(p, y, bounded))};
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
  // This error follows the values. If these are equal, its mean is its root mean square, unlike the
  // mean of a normal error. It is real if the values are.
  loss *= range.is_real() ? std::sqrt(std::numbers::pi) : 2 / std::sqrt(std::numbers::pi);
  return {range, x.error + Error::uneven(noise, of_slots, uneven, slots) +
                     Error::of_values(loss, worst, slots)};
}

}  // namespace latticino::session
