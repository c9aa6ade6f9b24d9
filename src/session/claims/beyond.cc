// How far other data may lead beyond a sample: values that cancel in a sum of the sample may add up
// in a sum of theirs.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "session/claims/known.h"

namespace latticino::session {
namespace {

constexpr double kWorthSaying = 0.01;  // of what the sample reaches

// Deviations of a sum that it may differ by between two sets of data: that of a difference is the
// root of two of one's own, and it exceeds four of these once in 16,000 times.
const double kFurthest = 4 * std::numbers::sqrt2;

}  // namespace

double Known::deviation_seen() const {
  const NumbersView exact = std::as_const(*sample_).row(0);
  const auto size = static_cast<double>(exact.size());
  const Complex mean = std::accumulate(exact.begin(), exact.end(), Complex(0)) / size;
  double squares = 0;
  for (const Complex& z : exact) squares += std::norm(z - mean);
  return std::sqrt(squares / size);
}

// Other data have the sample's mean and lie within its range, but their signs may differ: then a
// sum is as far from the sample's as two sums of independent values are from each other, and at
// most the sum of magnitudes.
Known Known::after_sums(Known result, double l1, double l2) const {
  result.beyond_ = l1 * beyond_;
  if (sample_ == nullptr || shadow_) return result;
  const double most = std::max(0.0, l1 * range().reach() - result.range().reach());
  result.beyond_ += std::min(most, kFurthest * deviation_seen() * l2);
  return result;
}

Known Known::after_sum_with(const Known& other, Known result) const {
  if (result.sample_ == nullptr || result.shadow_) return result;
  const double all = range().reach() + other.range().reach();
  const double most = std::max(0.0, all - result.range().reach());
  const double deviation = std::hypot(deviation_seen(), other.deviation_seen());
  result.beyond_ += std::min(most, kFurthest * deviation);
  return result;
}

std::string Known::of_whom() const {
  return within() + (beyond_ > kWorthSaying * range().reach()
                         ? ", whose sums may be larger in other data"
                         : "");
}

Range Known::widest() const {
  if (beyond_ == 0) return range();
  Range out = range();
  for (Interval* part : {&out.re, &out.im}) {
    if (part == &out.im && out.is_real()) continue;
    part->low -= beyond_;
    part->high += beyond_;
  }
  out.bound += beyond_;
  out.rms += beyond_;
  return out;
}

Known Known::with_beyond(double beyond) const {
  Known out = *this;
  out.beyond_ = beyond;
  return out;
}

Known Known::with_estimate(Estimate estimate) const {
  const double beyond = std::clamp(estimate.range.reach() - range().reach(), 0.0, beyond_);
  return with(std::move(estimate), sample_).with_beyond(beyond);
}

}  // namespace latticino::session
