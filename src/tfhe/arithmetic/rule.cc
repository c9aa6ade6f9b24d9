#include "tfhe/arithmetic/rule.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "math/errors.h"
#include "ops/rotation_effort.h"

namespace latticino::tfhe {
namespace {

constexpr auto kBoth = {BlindRotateArithmetic::Exact, BlindRotateArithmetic::Fft64};
// Larger batches take as long per ciphertext as a batch of this size, so none is compared.
constexpr std::uint32_t kMaxAtOnce = 4096;

struct Point {
  double count, seconds;
};

// Interpolates between points by a line. Before the first point the time is that of the first;
// after the last it is proportional.
double interpolated(const std::vector<Point>& points, double count) {
  if (count <= points.front().count) return points.front().seconds;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point &a = points[i - 1], &b = points[i];
    if (count <= b.count) {
      return a.seconds + (b.seconds - a.seconds) * (count - a.count) / (b.count - a.count);
    }
  }
  return points.back().seconds * count / points.back().count;
}

std::vector<Point> points_of(const RotationTime& shape, std::span<const RotationTime> measured,
                             BlindRotateArithmetic arithmetic) {
  std::vector<Point> points;
  for (const RotationTime& t : measured) {
    const int us = arithmetic == BlindRotateArithmetic::Exact ? t.exact_us : t.fourier_us;
    if (t.same_shape(shape) && us > 0) points.push_back({double(t.count), us * 1e-6});
  }
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.count < b.count; });
  return points;
}

double predicted(const TfheParams& params, const RecordRate& rate, BlindRotateArithmetic arithmetic,
                 std::uint32_t count) {
  BlindRotate op;
  op.gadget = params.literal().bootstrap;
  op.glwe_dimension = params.glwe_dimension();
  op.group = params.literal().group;
  op.ternary = params.literal().ternary;
  op.arithmetic = arithmetic;
  const Effort e =
      rotation_effort(op, params.log_n(), static_cast<int>(params.literal().primes.size()),
                      static_cast<std::uint32_t>(params.lwe_dimension()), count);
  const auto quotient = [](double amount, double of) { return of > 0 ? amount / of : 0; };
  return quotient(e.work, rate.work_per_second) + quotient(e.path, rate.path_per_second) +
         quotient(e.fourier_work, rate.fourier_work_per_second) +
         quotient(e.fourier_path, rate.fourier_path_per_second);
}

}  // namespace

const char* name(BlindRotateArithmetic arithmetic) {
  return arithmetic == BlindRotateArithmetic::Exact ? "exact" : "fft64";
}

BlindRotateArithmetic arithmetic_of(const std::string& name) {
  for (const auto arithmetic : kBoth) {
    if (name == tfhe::name(arithmetic)) return arithmetic;
  }
  throw ParameterError("tfhe.context", "the arithmetic '" + name + "'",
                       "'auto', 'exact' or 'fft64'", "choose one of them");
}

ArithmeticRule::ArithmeticRule(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
  bool good = !ranges_.empty() && ranges_.front().from == 1;
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    good = good && ranges_[i].from > ranges_[i - 1].from &&
           ranges_[i].arithmetic != ranges_[i - 1].arithmetic;
  }
  if (!good) {
    throw ParameterError("tfhe.context", "ranges of an arithmetic that are out of order",
                         "a first range from 1, and rising ones that differ", "sort them");
  }
}

BlindRotateArithmetic ArithmeticRule::of(std::uint32_t count) const {
  std::size_t i = ranges_.size() - 1;
  while (i > 0 && ranges_[i].from > count) --i;
  return ranges_[i].arithmetic;
}

bool ArithmeticRule::can_use(BlindRotateArithmetic arithmetic) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const Range& r) { return r.arithmetic == arithmetic; });
}

const char* ArithmeticRule::name() const {
  return ranges_.size() > 1 ? "auto" : tfhe::name(ranges_.front().arithmetic);
}

std::string ArithmeticRule::text() const {
  if (ranges_.size() == 1) return name();
  std::string out;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const bool last = i + 1 == ranges_.size();
    out += (i == 0 ? "" : ", ") + std::string(tfhe::name(ranges_[i].arithmetic)) +
           (last ? " from " + std::to_string(ranges_[i].from)
                 : " to " + std::to_string(ranges_[i + 1].from - 1)) +
           (i == 0 ? " at once" : "");
  }
  return out;
}

RotationTime rotation_shape(const TfheParams& params) {
  const TfheLiteral& x = params.literal();
  const int keys = x.ternary ? 2 : (1 << x.group) - 1;
  return {params.log_n(), params.glwe_dimension() + 1, static_cast<int>(x.primes.size()),
          16 * x.bootstrap.levels + keys};
}

ArithmeticRule faster_arithmetic(const TfheParams& params, std::span<const RotationTime> measured,
                                 const RateTable& rates) {
  if (!params.fourier_refusal().empty()) return BlindRotateArithmetic::Exact;
  const RotationTime shape = rotation_shape(params);
  const auto exact = points_of(shape, measured, BlindRotateArithmetic::Exact);
  const auto fourier = points_of(shape, measured, BlindRotateArithmetic::Fft64);
  const bool known = !exact.empty() && !fourier.empty();
  const RecordRate& rate = rates.records.at("BlindRotate");
  // Above 1 if FP64 is faster.
  const auto gain = [&](std::uint32_t count) {
    return known ? interpolated(exact, count) / interpolated(fourier, count)
                 : predicted(params, rate, BlindRotateArithmetic::Exact, count) /
                       predicted(params, rate, BlindRotateArithmetic::Fft64, count);
  };
  if (params.literal().primes.size() > 1) {
    double mean = 0;  // mean of the logarithm, over single rotations and batches of all sizes
    for (std::uint32_t count = 1; count <= kMaxAtOnce; count *= 2) mean += std::log(gain(count));
    return mean > 0 ? BlindRotateArithmetic::Fft64 : BlindRotateArithmetic::Exact;
  }
  std::vector<ArithmeticRule::Range> ranges;
  for (std::uint32_t count = 1; count <= kMaxAtOnce; ++count) {
    const auto faster =
        gain(count) > 1 ? BlindRotateArithmetic::Fft64 : BlindRotateArithmetic::Exact;
    if (ranges.empty() || ranges.back().arithmetic != faster) ranges.push_back({count, faster});
  }
  return ArithmeticRule(std::move(ranges));
}

}  // namespace latticino::tfhe
