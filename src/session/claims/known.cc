// What is claimed of an array, and the same claims in other forms. Operations are in
// known_operations.cc.
#include "session/claims/known.h"
#include "math/text.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace latticino::session {
namespace {

constexpr std::size_t kReplicas = 4;
// How many other data sets are made. Few values need more of them, because their sums have no other
// source of information.
constexpr std::size_t kOtherSetsSmallSample = 12, kOtherSetsLargeSample = 4, kManyValues = 1 << 12;
// Limit for the values and their replicas: 64 MiB.
constexpr std::size_t kMaxSamples = std::size_t{1} << 22;
// For fewer values than this, errors are averaged as root mean squares.
constexpr double kFewValues = 256;
// A margin on expected largest errors. The error of a division is a product of two normal numbers.
// Such products have a long tail, so the largest of many is sometimes much larger than expected.
// `latticino fuzz` checks that no error is more than 1 bit above its claim.
const double kMoreThanExpected = std::exp2(0.75);
constexpr double kMaxAboveSample = 4;  // estimates count up to this multiple of what samples show
// If fewer values than this have errors near the largest one, they are few. In 10,092 results of
// the fuzz on sparse data, largest errors with 8 to 16 such values exceeded what replicas show by
// up to 3.5 bits.
constexpr double kFewLargest = 16;
// If few values have large errors, the largest one is claimed to be half of its estimate, but at
// least and at most these multiples of what replicas show. In the same results, errors were then at
// most 2.2 bits larger than claimed, and 97 % of them within 2 bits.
constexpr double kMinAboveReplicas = 1.3, kMaxAboveReplicas = 5;
// If the values or errors of other data are this many times as large as those of the sample, values
// cancel in the sample.
constexpr double kCancellationRatio = 2;
const double kLarger = std::exp2(0.5), kMuchLarger = 4;
constexpr double kSigmasSmallSample = 6;  // deviations of other data, for each of few values
constexpr double kSigmasLargest = 4;      // deviations of the largest values of other data sets
// Means of the modulus of a complex Gaussian and of its real part, in units of its root mean
// square.
const double kMean = std::sqrt(std::numbers::pi) / 2;
const double kRealMean = 1 / std::sqrt(std::numbers::pi);
constexpr double kDouble = 0x1p-52;  // relative error of encoding and decoding in doubles

SamplePtr rows_of(NumbersView exact, std::size_t replicas, std::size_t others, double error) {
  auto out = std::make_shared<Sample>(replicas, others, exact.size());
  for (std::size_t r = 0; r < out->first_other(); ++r)
    std::ranges::copy(exact, out->row(r).begin());
  if (others > 0) fill_others(*out, static_cast<std::size_t>(kFewValues));
  add_noise(*out, error);
  return out;
}

// The errors that the replicas show.
struct Shown {
  double mean = 0, worst = 0;
  // Root mean square over the replicas, for the value with the largest error.
  double largest_rms = 0;
  double near_largest = 0;  // number of values whose errors are near that one
};

// Mean error and largest error of one row with noise.
Known::Errors of_row(const Sample& sample, std::size_t r, bool real) {
  const NumbersView exact = sample.row(sample.exact_of(r)), row = sample.row(r);
  Known::Errors out;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Complex off = row[i] - exact[i];
    const double size_of_it = real ? std::abs(off.real()) : std::abs(off);
    out.worst = std::max(out.worst, size_of_it);
    out.mean += size_of_it;
  }
  out.mean /= static_cast<double>(row.size());
  return out;
}

double mean_square_error(const Sample& sample, std::size_t r) {
  const NumbersView exact = sample.row(sample.exact_of(r)), row = sample.row(r);
  double squares = 0;
  for (std::size_t i = 0; i < row.size(); ++i) squares += std::norm(row[i] - exact[i]);
  return squares / static_cast<double>(row.size());
}

Shown shown_by(const Sample& sample, bool real) {
  const NumbersView exact = sample.row(0);
  const auto replicas = static_cast<double>(sample.replicas);
  std::vector<double> squares(sample.size);
  Shown out;
  for (std::size_t r = 1; r < sample.first_other(); ++r) {
    const NumbersView row = sample.row(r);
    const Known::Errors of = of_row(sample, r, real);
    out.mean += of.mean / replicas;
    out.worst += of.worst / replicas;
    for (std::size_t i = 0; i < row.size(); ++i)
      squares[i] += std::norm(row[i] - exact[i]) / replicas;
  }
  const double most = std::ranges::max(squares);
  out.largest_rms = std::sqrt(most);
  for (const double x : squares) out.near_largest += most > 0 ? x / most * (x / most) : 1;
  return out;
}

// What the other data sets show, as root mean squares over the sets: values may cancel by chance in
// each of them, too.
Known::Errors shown_by_others(const Sample& sample, bool real) {
  Known::Errors out;
  for (std::size_t k = 0; k < sample.others; ++k) {
    const Known::Errors of = of_row(sample, sample.other(k) + 1, real);
    out.mean = std::hypot(out.mean, of.mean);
    out.worst = std::hypot(out.worst, of.worst);
  }
  const double root = std::sqrt(static_cast<double>(std::max<std::size_t>(sample.others, 1)));
  return {out.mean / root, out.worst / root};
}

// Estimates the largest error if only a few values have errors of about that size. The replicas
// show too little of it, because other data may have larger values in these places. `estimate` is
// too large, because it assumes that all factors are largest in one place.
double worst_of_few(const Shown& shown, double estimate) {
  const double least = std::max(shown.worst, shown.largest_rms);
  return std::clamp(estimate / 2, kMinAboveReplicas * least, kMaxAboveReplicas * least);
}

// Where the values of other data may lie, if values cancel in the sample. For many values, each
// other data set has a largest value, and the distances between these are known. For few values,
// only a deviation is known. Six deviations are exceeded once in 16,000 times if the deviation
// comes from 12 data sets, and once in 250 times if it comes from four.
std::optional<Range> range_over_other_data(const Sample& sample, const Range& own) {
  std::vector<double> squares(sample.size);
  const NumbersView exact = sample.row(0);
  double largest = 0, mean_square = 0, sum = 0, sum_of_squares = 0;
  const auto others = static_cast<double>(sample.others);
  Range out = own;
  for (std::size_t k = 0; k < sample.others; ++k) {
    const NumbersView other = sample.row(sample.other(k));
    const Range range = Range::of(other);
    out.re = {std::min(out.re.low, range.re.low), std::max(out.re.high, range.re.high)};
    if (!own.is_real()) {
      out.im = {std::min(out.im.low, range.im.low), std::max(out.im.high, range.im.high)};
    }
    largest = std::max(largest, range.bound);
    sum += range.bound / others;
    sum_of_squares += range.bound * range.bound / others;
    mean_square += range.rms * range.rms / others;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      squares[i] += std::norm(other[i] - exact[i]) / others;
    }
  }
  if (!(largest > kCancellationRatio * own.bound)) return std::nullopt;
  out.bound = largest + kSigmasLargest * std::sqrt(std::max(sum_of_squares - sum * sum, 0.0));
  const auto count = static_cast<double>(exact.size());
  const double furthest = count < kFewValues ? kSigmasSmallSample / (1 + std::log(count) / 2) : 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    out.bound = std::max(out.bound, std::abs(exact[i]) + furthest * std::sqrt(squares[i]));
  }
  for (Interval* part : {&out.re, &out.im}) {
    if (part == &out.im && own.is_real()) continue;
    part->low -= out.bound - largest;
    part->high += out.bound - largest;
  }
  out.rms = std::min(out.bound, std::max(own.rms, std::sqrt(mean_square)));
  return out;
}

Estimate of_encryption(const Range& range, double error) {
  return {range, Error::fresh(error, true, false)};
}

}  // namespace

Known::Known(Estimate estimate, SamplePtr sample, bool shadow, std::optional<double> white)
    : estimate_(std::move(estimate)), sample_(std::move(sample)) {
  if (sample_ == nullptr) return;
  shadow_ = shadow;
  white_noise_ = white;
  if (!shadow_) {
    estimate_.range = Range::of_sample(std::as_const(*sample_).row(0), range().is_real());
    if (auto wider =
            sample_->others > 0 ? range_over_other_data(*sample_, range()) : std::nullopt) {
      seen_ = estimate_.range;
      estimate_.range = *wider;
    }
  }
}

Known Known::fresh(const Range& range, double error) { return Known(of_encryption(range, error)); }

Known Known::fresh(NumbersView sample, bool real, double error) {
  const Range range = Range::of_sample(sample, real);
  if (sample.size() * (kReplicas + 1) > kMaxSamples) return fresh(range, error);
  const std::size_t others = sample.size() > kMaxWithOthers ? 0
                             : sample.size() > kManyValues  ? kOtherSetsLargeSample
                                                            : kOtherSetsSmallSample;
  return {of_encryption(range, error), rows_of(sample, kReplicas, others, error), false};
}

Known Known::with_shadow(const Range& range, double error, NumbersView values) {
  return {of_encryption(range, error), rows_of(values, 1, 0, error), true};
}

Known Known::following(NumbersView values) const {
  Known out(estimate_, rows_of(values, 1, 0, 0), true);
  out.measured_ = measured_;
  return out;
}

bool Known::too_large(std::size_t size) const {
  return sample_ != nullptr && !shadow_ && size * sample_->first_other() > kMaxSamples;
}

double Known::error() const {
  if (sample_ != nullptr && !shadow_) return error_seen();
  if (measured_) return measured_->mean / (range().is_real() ? kRealMean : kMean);
  return estimate_.error.rms();
}

double Known::error_seen() const {
  if (sample_ == nullptr) return error();
  double squares = 0;
  for (std::size_t r = 1; r < sample_->first_other(); ++r)
    squares += mean_square_error(*sample_, r);
  return std::sqrt(squares / static_cast<double>(sample_->replicas));
}

double Known::rms_seen() const {
  return sample_ == nullptr ? range().rms : rms_of(std::as_const(*sample_).row(0));
}

Claim Known::claim() const {
  return measured_ || (sample_ != nullptr && !shadow_) ? Claim::Calibrated : range().basis();
}

std::string Known::within() const {
  switch (claim()) {
    case Claim::Assumed:
      return "values assumed in the unit box";
    case Claim::Calibrated:
      return "calibrated on sample data";
    default:
      return "values declared " + range().str();
  }
}

// Halfway between what the sample and other data show and the estimate. The former may be small by
// chance; the latter may be too large if errors cancel.
double Known::error_of_few() const {
  double own = 0, of_others = 0;
  for (std::size_t r = 1; r < sample_->rows; ++r) {
    if (sample_->noisy(r))
      (r < sample_->first_other() ? own : of_others) += mean_square_error(*sample_, r);
  }
  const auto rows = static_cast<double>(sample_->replicas + sample_->others);
  const double squares =
      std::max((own + of_others) / rows,
               sample_->others > 0 ? of_others / static_cast<double>(sample_->others) : 0);
  const double shown = std::sqrt(squares);
  const double most = std::max(shown, std::min(estimate_.error.rms(), kMaxAboveSample * shown));
  return std::sqrt((squares + most * most) / 2);
}

Known::Errors Known::errors_of_sample(double size, bool full) const {
  const bool real = range().is_real();
  const Shown seen = shown_by(*sample_, real);
  const Errors others = shown_by_others(*sample_, real);
  Errors out{seen.mean, seen.worst};
  if (size < kFewValues) {
    const double error = error_seen(), more = error > 0 ? error_of_few() / error : 1;
    out = {error * more * (real ? kRealMean : kMean), out.worst * more};
    if (others.worst > kLarger * out.worst) out.worst = others.worst;
  } else {
    if (seen.near_largest < kFewLargest) {
      out.worst = worst_of_few(seen, estimate_.error.worst(size, false));
    }
    // Sparse data have a claim of their own for the largest error, so other data decide it only if
    // they show much more.
    const double apart = others.mean > kLarger * out.mean ? kLarger : kMuchLarger;
    if (others.mean > kLarger * out.mean) out.mean = others.mean;
    if (others.worst > apart * out.worst) out.worst = others.worst;
  }
  const double normal = estimate_.error.worst(size, false);  // the noise of samples is normal
  if (full && normal > 0) out.worst *= estimate_.error.worst(size, true) / normal;
  return out;
}

Known::Errors Known::errors(double size, bool full) const {
  if (measured_) return *measured_;
  const double per_rms = range().is_real() ? kRealMean : kMean;
  Errors out{estimate_.error.rms() * per_rms,
             kMoreThanExpected * estimate_.error.worst(size, full)};
  if (sample_ != nullptr && !shadow_) out = errors_of_sample(size, full);
  return {std::max(out.mean, kDouble * range().rms),
          std::max(out.worst, 4 * kDouble * range().bound)};
}

Known::Errors Known::bits(double size, bool full) const {
  const auto bits = [](double error) {
    if (std::isnan(error)) return -HUGE_VAL;  // nothing is known of such errors
    return error > 0 ? -std::log2(error) : HUGE_VAL;
  };
  const Errors e = errors(size, full);
  return {bits(e.mean), bits(e.worst)};
}

double Known::largest_coefficient(int slots) const {
  if (sample_ != nullptr) {
    const double own = session::largest_coefficient(std::as_const(*sample_).row(0), slots);
    double largest = 0;
    for (std::size_t k = 0; k < sample_->others; ++k) {
      const NumbersView other = std::as_const(*sample_).row(sample_->other(k));
      largest = std::max(largest, session::largest_coefficient(other, slots));
    }
    return largest > kCancellationRatio * own ? largest : own;
  }
  const Range& r = range();
  if (r.random_like) {
    return std::min(r.rms, r.rms * std::sqrt((std::log(2.0 * slots) + 1) / slots));
  }
  return std::min(r.rms, std::hypot(r.re.size(), r.im.size()));
}

std::vector<Misfit> Known::misfits(int level, double log_q, double scale, double rest) const {
  const double whole = std::exp2(log_q), reach = this->reach();
  const bool rest_fits = !(rest * scale * 2 >= whole), fits = reach * scale * 2 < whole;
  std::vector<Misfit> out;
  // The text is made only if the check fails, because making it takes longer than the check.
  if (rest_fits && fits) return out;
  const std::string where =
      " at level " + std::to_string(level) + " and scale 2^" + formatted("%.1f", std::log2(scale));
  if (!rest_fits) {
    out.push_back({"slots without values that hold up to " + formatted("%.3g", rest),
                   "less than " + formatted("%.3g", whole / 2 / scale) + where,
                   "clear them before: x.contiguous()"});
  }
  if (!fits) {
    out.push_back({"values that may reach " + formatted("%.3g", reach) + " (" + origin_text() + ")",
                   "values below " + formatted("%.3g", whole / 2 / scale) + where,
                   "scale the values down, or state a smaller range with declare()"});
  }
  return out;
}

Known Known::detached(double size, bool full) const {
  Known out(estimate_);
  out.measured_ = measured_;
  if (sample_ != nullptr && !shadow_) {
    out.measured_ = errors(size, full);
  }
  return out;
}

Known Known::lost() const {
  return {session::plus_error(estimate_, reach(), false), shadow_ ? sample_ : nullptr, shadow_};
}

Known Known::renamed(std::uint64_t* source) const {
  Known out = *this;
  out.estimate_.error = estimate_.error.renamed(source);
  return out;
}

Known Known::with_sources(std::span<const std::pair<std::uint64_t, double>> grown) const {
  Known out(estimate_);
  for (const auto& [source, factor] : grown) {
    out.estimate_.error = out.estimate_.error.with_source(source, factor);
  }
  if (grown.empty()) out.measured_ = measured_;
  return out;
}

Known Known::of_a_sample() const {
  Known out = *this;
  out.estimate_.range.of_a_sample = true;
  if (out.seen_) out.seen_->of_a_sample = true;
  return out;
}

Known Known::declared(const Range& range) const {
  Known out({range, estimate_.error}, shadow_ ? sample_ : nullptr, shadow_, white_noise_);
  out.name_ = name_;
  return out;
}

Known Known::within_domain(Interval domain) const {
  const Range& r = range();
  const Interval wanted = domain;
  if (r.re.high >= domain.low && r.re.low <= domain.high) {
    domain = {std::max(domain.low, r.re.low), std::min(domain.high, r.re.high)};
  }
  Known out = *this;
  if (r.claim == Claim::Calibrated) {
    const Interval hull{std::min(wanted.low, r.re.low), std::max(wanted.high, r.re.high)};
    if (sample_ == nullptr) return out;
    out = with({r, estimate_.error}, others_within(hull), white_noise_).limited(hull);
    out.name_ = name_;
    return out;
  }
  if (domain.low == r.re.low && domain.high == r.re.high) return out;
  out.estimate_.range =
      Range::stated(r.claim, domain, r.im, r.bound, r.rms, r.random_like).with_basis_of(r);
  out.white_noise_.reset();
  return out;
}

Known Known::as_real() const {
  const Range& r = range();
  auto sample = sample_ == nullptr ? nullptr : std::make_shared<Sample>(*sample_);
  if (sample != nullptr) {
    for (std::size_t r = 0; r < sample->rows; ++r) {
      if (sample->noisy(r)) continue;
      for (Complex& z : sample->row(r)) z = z.real();
    }
  }
  const Range real =
      Range::stated(r.claim, r.re, {}, r.bound, r.rms, r.random_like).with_basis_of(r);
  Known out({real, estimate_.error}, std::move(sample), shadow_);
  out.measured_ = measured_;
  out.name_ = name_;
  return out;
}

Known Known::limited(Interval ends) && {
  if (!seen_) return std::move(*this);
  Range& r = estimate_.range;
  r.re = {std::max(r.re.low, ends.low), std::min(r.re.high, ends.high)};
  r.bound = std::min(r.bound, std::hypot(r.re.size(), r.im.size()));
  r.rms = std::min(r.rms, r.bound);
  return std::move(*this);
}

// The sample, with its other data clamped to an interval. A caller that names an interval states
// that all data are in it.
SamplePtr Known::others_within(Interval domain) const {
  if (sample_->others == 0) return sample_;
  auto out = std::make_shared<Sample>(*sample_);
  for (std::size_t k = 0; k < out->others; ++k) {
    const std::span<Complex> exact = out->row(out->other(k)), noisy = out->row(out->other(k) + 1);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double off = std::clamp(exact[i].real(), domain.low, domain.high) - exact[i].real();
      exact[i] += off;
      noisy[i] += off;
    }
  }
  return out;
}

std::string Known::origin_text() const {
  return within() + (seen_ ? ", where values cancel that may add up in other data" : "");
}

}  // namespace latticino::session
