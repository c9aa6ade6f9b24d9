// What is claimed, and the same claims restated. Operations: known_operations.cc.
#include "session/claims/known.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace latticino::session {
namespace {

constexpr std::size_t kReplicas = 4;
constexpr std::size_t kMostSamples = std::size_t{1} << 22;  // values with their replicas: 64 MiB
constexpr double kFew = 256;  // values, below which errors are averaged as root mean squares
// A margin on expected largest errors: of 5,600 results of the fuzz the furthest exceeded its own
// by 1.35 bits, and a claim may be too small by 1 bit at most.
const double kMoreThanExpected = std::exp2(0.5);
constexpr double kMostByChance = 4;  // times what samples of a few values show, the error may be
// Values with errors near the largest one, below which they are few. Of 10,092 results of the fuzz
// on sparse data, those of 8 to 16 such values exceeded what replicas show by up to 3.5 bits.
constexpr double kFewLargest = 16;
// The largest error of few values is claimed to be half of its estimate, where that lies within
// these multiples of what replicas show. Of the same results the errors were then at most 2.2 bits
// larger than claimed, and 97 % of them within 2 bits.
constexpr double kLeastOfFew = 1.3, kMostOfFew = 5;
// Means of the modulus of a complex Gaussian and of its real part, in units of its root mean
// square.
const double kMean = std::sqrt(std::numbers::pi) / 2;
const double kRealMean = 1 / std::sqrt(std::numbers::pi);
constexpr double kDouble = 0x1p-52;  // relative: what encoding and decoding in doubles lose

std::string number(const char* format, double x) {
  char text[48];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

SamplePtr replicas(NumbersView exact, std::size_t rows, double error) {
  auto out = std::make_shared<Sample>(rows, exact.size());
  for (std::size_t r = 0; r < rows; ++r) std::ranges::copy(exact, out->row(r).begin());
  add_noise(*out, error);
  return out;
}

// What the replicas show.
struct Shown {
  double mean = 0, worst = 0;
  double largest_rms = 0;   // over the replicas, of the value with the largest error
  double near_largest = 0;  // how many values have errors near that one
};

Shown shown_by(const Sample& sample, bool real) {
  const NumbersView exact = sample.row(0);
  const auto replicas = static_cast<double>(sample.rows - 1);
  std::vector<double> squares(sample.size);
  Shown out;
  for (std::size_t r = 1; r < sample.rows; ++r) {
    const NumbersView row = sample.row(r);
    double largest = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Complex off = row[i] - exact[i];
      const double size_of_it = real ? std::abs(off.real()) : std::abs(off);
      largest = std::max(largest, size_of_it);
      out.mean += size_of_it;
      squares[i] += std::norm(off) / replicas;
    }
    out.worst += largest / replicas;
  }
  out.mean /= replicas * static_cast<double>(sample.size);
  const double most = std::ranges::max(squares);
  out.largest_rms = std::sqrt(most);
  for (const double x : squares) out.near_largest += most > 0 ? x / most * (x / most) : 1;
  return out;
}

// Where few values have errors near the largest, the largest one follows these: replicas show
// little of it, and other data may have larger values there. The estimate takes all factors to be
// largest in one place, which they seldom are.
double worst_of_few(const Shown& shown, double estimate) {
  const double least = std::max(shown.worst, shown.largest_rms);
  return std::clamp(estimate / 2, kLeastOfFew * least, kMostOfFew * least);
}

Estimate of_encryption(const Range& range, double error) {
  return {range, Error::fresh(error, true, false)};
}

}  // namespace

Known::Known(Estimate estimate, SamplePtr sample, bool shadow, std::optional<double> white)
    : estimate_(std::move(estimate)), sample_(std::move(sample)) {
  if (sample_ == nullptr) return;
  shadow_ = shadow;
  white_ = white;
  if (!shadow_) {
    estimate_.range = Range::of_sample(std::as_const(*sample_).row(0), range().is_real());
  }
}

Known Known::fresh(const Range& range, double error) { return Known(of_encryption(range, error)); }

Known Known::fresh(NumbersView sample, bool real, double error) {
  const Range range = Range::of_sample(sample, real);
  if (sample.size() * (kReplicas + 1) > kMostSamples) return fresh(range, error);
  return {of_encryption(range, error), replicas(sample, kReplicas + 1, error), false};
}

Known Known::with_shadow(const Range& range, double error, NumbersView values) {
  return {of_encryption(range, error), replicas(values, 2, error), true};
}

Known Known::following(NumbersView values) const {
  Known out(estimate_, replicas(values, 2, 0), true);
  out.measured_ = measured_;
  return out;
}

bool Known::too_large(std::size_t size) const {
  return sample_ != nullptr && !shadow_ && size * sample_->rows > kMostSamples;
}

double Known::error() const {
  if (sample_ != nullptr && !shadow_) return error_seen();
  if (measured_) return measured_->mean / (range().is_real() ? kRealMean : kMean);
  return estimate_.error.rms();
}

double Known::error_seen() const {
  if (sample_ == nullptr) return error();
  double squares = 0;
  const NumbersView exact = std::as_const(*sample_).row(0);
  for (std::size_t r = 1; r < sample_->rows; ++r) {
    const NumbersView row = std::as_const(*sample_).row(r);
    for (std::size_t i = 0; i < row.size(); ++i) squares += std::norm(row[i] - exact[i]);
  }
  return std::sqrt(squares / static_cast<double>((sample_->rows - 1) * sample_->size));
}

double Known::rms_seen() const {
  if (sample_ == nullptr) return range().rms;
  double squares = 0;
  for (const Complex& z : std::as_const(*sample_).row(0)) squares += std::norm(z);
  return std::sqrt(squares / static_cast<double>(sample_->size));
}

Claim Known::claim() const {
  return measured_ || (sample_ != nullptr && !shadow_) ? Claim::Calibrated : range().claim;
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

// Halfway between what samples show, which may be small by chance, and the estimate, which may be
// too large where errors cancel.
double Known::error_of_few() const {
  const double shown = error(), most = std::min(estimate_.error.rms(), kMostByChance * shown);
  return std::sqrt((shown * shown + most * most) / 2);
}

Known::Errors Known::errors(double size, bool full) const {
  if (measured_) return *measured_;
  const double per_rms = range().is_real() ? kRealMean : kMean;
  Errors out{estimate_.error.rms() * per_rms,
             kMoreThanExpected * estimate_.error.worst(size, full)};
  if (sample_ != nullptr && !shadow_) {
    const Shown seen = shown_by(*sample_, range().is_real());
    out = {seen.mean, seen.worst};
    if (size < kFew) {
      const double error = error_seen(), more = error > 0 ? error_of_few() / error : 1;
      out = {error * more * per_rms, out.worst * more};
    } else if (seen.near_largest < kFewLargest) {
      out.worst = worst_of_few(seen, estimate_.error.worst(size, false));
    }
    const double normal = estimate_.error.worst(size, false);  // as the samples' noise is
    if (full && normal > 0) out.worst *= estimate_.error.worst(size, true) / normal;
  }
  return {std::max(out.mean, kDouble * range().rms),
          std::max(out.worst, 4 * kDouble * range().bound)};
}

Known::Errors Known::bits(double size, bool full) const {
  const auto bits = [](double error) { return error > 0 ? -std::log2(error) : HUGE_VAL; };
  const Errors e = errors(size, full);
  return {bits(e.mean), bits(e.worst)};
}

double Known::largest_coefficient(int slots) const {
  if (sample_ != nullptr) {
    return session::largest_coefficient(std::as_const(*sample_).row(0), slots);
  }
  const Range& r = range();
  if (r.random_like || r.claim == Claim::Assumed) {
    return std::min(r.rms, r.rms * std::sqrt((std::log(2.0 * slots) + 1) / slots));
  }
  return std::min(r.rms, std::hypot(r.re.size(), r.im.size()));
}

std::vector<Misfit> Known::misfits(int level, double log_q, double scale, double rest) const {
  const double whole = std::exp2(log_q), reach = range().reach();
  const std::string where =
      " at level " + std::to_string(level) + " and scale 2^" + number("%.1f", std::log2(scale));
  std::vector<Misfit> out;
  if (rest * scale * 2 >= whole) {
    out.push_back({"slots without values that hold up to " + number("%.3g", rest),
                   "less than " + number("%.3g", whole / 2 / scale) + where,
                   "clear them before: x.contiguous()"});
  }
  if (!(reach * scale * 2 < whole)) {
    out.push_back({"values that may reach " + number("%.3g", reach) + " (" + within() + ")",
                   "values below " + number("%.3g", whole / 2 / scale) + where,
                   "scale the values down, or state a smaller range with declare()"});
  }
  return out;
}

Known Known::detached(double size, bool full) const {
  Known out(estimate_);
  out.measured_ = measured_;
  if (sample_ != nullptr && !shadow_) out.measured_ = errors(size, full);
  return out;
}

Known Known::lost() const {
  return {session::plus_error(estimate_, range().reach(), false), shadow_ ? sample_ : nullptr,
          shadow_};
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

Known Known::declared(const Range& range) const {
  return {{range, estimate_.error}, shadow_ ? sample_ : nullptr, shadow_, white_};
}

Known Known::within_domain(Interval domain) const {
  const Range& r = range();
  if (r.re.high >= domain.low && r.re.low <= domain.high) {
    domain = {std::max(domain.low, r.re.low), std::min(domain.high, r.re.high)};
  }
  if ((domain.low == r.re.low && domain.high == r.re.high) || r.claim == Claim::Calibrated) {
    return *this;
  }
  Known out = *this;
  out.estimate_.range = Range::stated(r.claim, domain, r.im, r.bound, r.rms, r.random_like);
  out.white_.reset();
  return out;
}

Known Known::as_real() const {
  const Range& r = range();
  const Claim claim = r.claim == Claim::Assumed ? Claim::Assumed : Claim::Declared;
  auto sample = sample_ == nullptr ? nullptr : std::make_shared<Sample>(*sample_);
  if (sample != nullptr) {
    for (Complex& z : sample->row(0)) z = z.real();
  }
  Known out({Range::stated(claim, r.re, {}, r.bound, r.rms, r.random_like), estimate_.error},
            std::move(sample), shadow_);
  out.measured_ = measured_;
  return out;
}

}  // namespace latticino::session
