#include "switch_cases.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace latticino::bench {
namespace {

constexpr double kBound = 1;

std::function<double(double)> random_steps() {
  constexpr int kSteps = 16;
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(kSteps);
  for (double& v : values) v = uniform(generator);
  return [values](double x) {
    const int i = static_cast<int>(std::floor((x + 1) * kSteps / 2));
    return values[static_cast<std::size_t>(std::clamp(i, 0, kSteps - 1))];
  };
}

}  // namespace

std::vector<SwitchCase> switch_cases() {
  return {{"identity", [](double x) { return x; }, true},
          {"sigmoid", [](double x) { return 1 / (1 + std::exp(-4 * x)); }, true},
          {"relu", [](double x) { return std::max(x, 0.0); }, true},
          {"sign", [](double x) { return x > 0   ? 1.0
                                         : x < 0 ? -1.0
                                                 : 0.0; }, false, true},
          {"sqrt", [](double x) { return std::sqrt(std::abs(x)); }},
          {"random", random_steps()}};
}

switching::Table make_table(const std::shared_ptr<const switching::Context>& context,
                            const SwitchCase& c) {
  return c.sign ? switching::make_sign_table(context, kBound, 1)
                : switching::make_table(context, c.f, kBound);
}

SwitchErrors::SwitchErrors(const SwitchCase& c, const switching::Table& table)
    : case_(c), predicted_(table.report.mean / c.range()), deviation_(table.report.deviation) {
  constexpr double kDeviations = 6;
  const SwitchParams& params = table.context->params();
  step_ = 2 * table.bound / (params.n() * params.fill());
  tolerance_ = kDeviations * table.report.packed;
}

double SwitchErrors::argument_error(double x, double y) const {
  const auto answers = [&](double at) { return std::abs(case_.f(at) - y) <= tolerance_; };
  if (answers(x)) return 0;
  const double range = case_.range(), nearest = std::round(x / step_);
  for (int k = 0; k * step_ <= 2 * range; ++k) {
    double least = INFINITY;
    for (const int d : {-k, k}) {
      const double at = std::clamp((nearest + d) * step_, -range, range);
      if (answers(at)) least = std::min(least, std::abs(at - x));
    }
    if (std::isfinite(least)) return least;
  }
  return 2 * range;  // not a value of the function
}

void SwitchErrors::add(double x, double y) {
  const double error = std::abs(y - case_.f(x)) / case_.range();
  const double argument = argument_error(x, y) / case_.range();
  sum_ += error;
  argument_sum_ += argument;
  largest_ = std::max(largest_, error);
  argument_largest_ = std::max(argument_largest_, argument);
  ++count_;
}

bool SwitchErrors::agrees() const {
  return std::abs(mean() - predicted_) <=
         0.1 * predicted_ + 5 * deviation_ / case_.range() / std::sqrt(count_);
}

}  // namespace latticino::bench
