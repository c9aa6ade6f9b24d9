#include "switch/table.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "math/errors.h"

namespace latticino::switching {
namespace {

constexpr const char* kTable = "switching.make_table";

void require_values(const SwitchParams& params, const std::vector<double>& values, double bound) {
  const std::vector<double> arguments = table_arguments(params, bound);
  if (values.size() != arguments.size()) {
    throw ShapeError(kTable, std::to_string(values.size()) + " values",
                     std::to_string(arguments.size()) + ", one for each argument", "pass as many");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw ValueError(kTable,
                     "f(" + std::to_string(arguments[i]) + ") = " + std::to_string(values[i]),
                     "a finite value everywhere within the bound", "define f there");
  }
}

// The distance of two arguments within the bound.
double step_of(const SwitchParams& params, double bound) {
  return 4 * bound / (2.0 * params.n() * params.fill());
}

// The number that EvalMod brings to `part` of the modulus: the inverse of sin(2 pi x) / (2 pi). If
// the set corrects the sine itself, it is `part`.
double before_sine(const Params& ckks, double part) {
  if (ckks.bootstrap()->arcsine) return part;
  return std::asin(2 * std::numbers::pi * part) / (2 * std::numbers::pi);
}

// `coefficients`: values divided by the largest one. EvalMod must give these.
Poly upload(const Context& context, const std::vector<double>& coefficients) {
  const SwitchParams& params = context.params();
  const Ring& ring = context.tfhe()->ring();
  const std::size_t n = coefficients.size();
  const Queue::Keeping keeping(context.queue());
  Poly poly = context.queue().allocate(ring, context.tfhe()->basis(), Domain::Coeff);
  if (context.is_dry()) return poly;
  const double modulus = static_cast<double>(ring.prime(0)) * ring.prime(1);
  std::vector<std::uint32_t> words(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const double part = before_sine(params.ckks(), coefficients[i] * params.amplitude());
    const auto x = static_cast<std::int64_t>(std::nearbyint(part * modulus));
    for (int p = 0; p < 2; ++p) words[p * n + i] = reduce_s64(x, make_modulus(ring.prime(p)));
  }
  context.queue().upload(poly.view, words.data());
  return poly;
}

// Coefficient k is the value for k steps above 0. Coefficient N' - k, with the other sign, is the
// value for k steps below 0.
std::vector<double> coefficients_of(const std::vector<double>& values, double largest) {
  const std::size_t half = values.size() / 2;
  std::vector<double> out;
  for (std::size_t k = 0; k < half; ++k) out.push_back(values[half + k] / largest);
  for (std::size_t k = 0; k < half; ++k) out.push_back(-values[k] / largest);
  return out;
}

void require_bound(double bound) {
  if (bound > 0 && std::isfinite(bound)) return;
  throw ValueError(kTable, "the bound " + std::to_string(bound), "a positive number",
                   "state the largest size of an argument");
}

// Noise of deviation `deviation` (in steps, before the rounding to the table) moves an argument
// that lies `offset` steps beside an argument of the table. These are the probabilities that it is
// then looked up d steps from it, for |d| <= reach.
std::vector<double> lookups(double offset, double deviation, int reach) {
  const auto below = [&](double x) { return 0.5 * std::erfc(-x / (std::sqrt(2.0) * deviation)); };
  std::vector<double> out;
  for (int d = -reach; d <= reach; ++d) {
    out.push_back(below(d + 0.5 - offset) - below(d - 0.5 - offset));
  }
  return out;
}

// Deviations of the noise that are taken into account; the largest errors reach so far.
constexpr double kDeviations = 5;

// The errors of the result that come from noise of the argument.
struct TableErrors {
  double argument = 0, mean = 0, square = 0, largest = 0;
};

// Errors over all arguments within the bound, also those between arguments of the table. `y`: the
// table.
TableErrors errors_of(const SwitchParams& params, const std::function<double(double)>& f,
                      const std::vector<double>& y, double bound) {
  constexpr double kOffsets[] = {-0.375, -0.125, 0.125, 0.375};
  const int half = params.n() / 2, inside = static_cast<int>(half * params.fill());
  const double step = step_of(params, bound);
  TableErrors out;
  out.argument = 4 * bound / params.fill() * std::sqrt(params.lookup_variance());
  const double noise = std::sqrt(std::pow(out.argument / step, 2) - 1.0 / 12);
  const int reach = std::max(1, static_cast<int>(std::ceil(kDeviations * noise)));
  double mean = 0, square = 0, cases = 0;
  for (const double offset : kOffsets) {
    const std::vector<double> weight = lookups(offset, noise, reach);
    for (int k = -inside; k < inside; ++k, ++cases) {
      const double want = f(step * (k + offset));
      for (int d = -reach; d <= reach; ++d) {
        const double e = std::abs(y[std::clamp(k + d + half, 0, 2 * half - 1)] - want);
        mean += weight[d + reach] * e;
        square += weight[d + reach] * e * e;
        out.largest = std::max(out.largest, e);
      }
    }
  }
  out.mean = mean / cases;
  out.square = square / cases;
  return out;
}

// The mean error, if noise of variance `variance` is added to the largest value. If the table
// decides the error, this is the table's mean error. If other noise decides it, it is the mean of a
// normal error.
TableReport report_of(const TableErrors& table, double largest, double variance) {
  TableReport report;
  report.argument = table.argument;
  report.packed = largest * std::sqrt(variance);
  report.mean = std::hypot(table.mean, std::sqrt(2 / std::numbers::pi) * report.packed);
  report.deviation = std::sqrt(table.square + report.packed * report.packed);
  report.largest = table.largest + kDeviations * report.packed;
  return report;
}

void set_reports(const SwitchParams& params, const TableErrors& errors, Table& table) {
  table.report = report_of(errors, table.largest, params.packed_variance());
  table.matvec_report = report_of(errors, table.largest, params.value_variance());
}

}  // namespace

std::vector<double> table_arguments(const SwitchParams& params, double bound) {
  require_bound(bound);
  std::vector<double> out;
  for (int k = -params.n() / 2; k < params.n() / 2; ++k) {
    out.push_back(std::clamp(4 * bound * k / (2.0 * params.n() * params.fill()), -bound, bound));
  }
  return out;
}

double Table::look_up(double x) const {
  if (!std::isfinite(x)) return std::nan("");
  if (values.empty()) return x > 0 ? largest : -largest;
  const double last = static_cast<double>(values.size()) - 1;
  const std::size_t middle = values.size() / 2;
  const double at = x / step_of(context->params(), bound) + static_cast<double>(middle);
  return values[static_cast<std::size_t>(std::lround(std::clamp(at, 0.0, last)))];
}

Table make_table(const std::shared_ptr<const Context>& context,
                 const std::function<double(double)>& f, double bound) {
  std::vector<double> values;
  for (const double x : table_arguments(context->params(), bound)) values.push_back(f(x));
  return make_table(context, std::move(values), f, bound);
}

Table make_table(const std::shared_ptr<const Context>& context, std::vector<double> values,
                 const std::function<double(double)>& f, double bound) {
  require_values(context->params(), values, bound);
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v));
  if (largest == 0) largest = 1;
  Table table{
      context,          upload(*context, coefficients_of(values, largest)), bound, largest, {}, {},
      std::move(values)};
  set_reports(context->params(), errors_of(context->params(), f, table.values, bound), table);
  return table;
}

// Every entry is height or -height, also the one of 0. So the result is one of the two, whatever
// the noise of the argument is. Errors of arguments within a step of 0 are those of the function.
// Beyond the noise, only packing causes errors.
Table make_sign_table(const std::shared_ptr<const Context>& context, double bound, double height) {
  require_bound(bound);
  if (!(height > 0) || !std::isfinite(height)) {
    throw ValueError(kTable, "the height " + std::to_string(height), "a positive number",
                     "negate the result for the other sign");
  }
  const SwitchParams& params = context->params();
  const std::vector<double> coefficients(static_cast<std::size_t>(params.n()), 1.0);
  Table table{context, upload(*context, coefficients), bound, height, {}, {}, {}};
  TableErrors errors;
  errors.argument = 4 * bound / params.fill() * std::sqrt(params.lookup_variance());
  // x is uniform over 4 bound. The result is wrong by 2 height if noise carries x over 0.
  const double wrong = errors.argument / std::sqrt(2 * std::numbers::pi) / (2 * bound);
  errors.mean = 2 * height * wrong;
  errors.square = 4 * height * height * wrong;
  errors.largest = 2 * height;
  set_reports(params, errors, table);
  return table;
}

}  // namespace latticino::switching
