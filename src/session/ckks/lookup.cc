#include "session/ckks/lookup.h"
#include "math/text.h"
#include "session/claims/slot_noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

namespace latticino::session {
namespace {

std::string short_text(double x) { return formatted("%.4g", x); }

// The slots that flags choose, for each ciphertext. A ciphertext without a chosen value has none.
std::vector<std::vector<int>> chosen_slots(const Contents& x, const std::vector<bool>& where) {
  const auto slots = static_cast<std::size_t>(x.slots());
  std::vector<std::vector<int>> out(x.parts.size());
  for (std::size_t i = 0; i < where.size(); ++i) {
    if (where[i]) out.at(i / slots).push_back(static_cast<int>(i % slots));
  }
  return out;
}

// What the table makes of values without noise.
RealMap values_of(const switching::Table& table) {
  return [&table](std::span<const double> row) {
    std::vector<double> out;
    out.reserve(row.size());
    for (const double x : row) out.push_back(table.look_up(x));
    return out;
  };
}

double width(const Range& range) { return range.re.high - range.re.low; }

// Root mean square of f(x + noise) - f(x) for the argument within `ends` where it is largest. It is
// found on a grid of arguments, and of sizes of the noise.
double largest_error(const RealMap& f, const Interval& ends, double deviation) {
  constexpr int kArguments = 1 << 10, kSizes = 8;  // sizes to either side, up to four deviations
  std::vector<double> arguments;
  for (int i = 0; i <= kArguments; ++i) {
    arguments.push_back(ends.low + (ends.high - ends.low) * i / kArguments);
  }
  const std::vector<double> meant = f(arguments);
  std::vector<double> squares(arguments.size());
  double weights = 0;
  for (int k = -kSizes; k <= kSizes; ++k) {
    const double size = 4.0 * k / kSizes, weight = std::exp(-size * size / 2);
    std::vector<double> noisy = arguments;
    for (double& x : noisy) x += size * deviation;
    const std::vector<double> found = f(noisy);
    for (std::size_t i = 0; i < found.size(); ++i) {
      squares[i] += weight * std::pow(found[i] - meant[i], 2);
    }
    weights += weight;
  }
  return std::sqrt(std::ranges::max(squares) / weights);
}

// What is claimed of the error that a result has from the error of its argument. A sample shows
// what it is, and the estimate beside it is that of evenly spread arguments (`report`). Otherwise
// arguments may lie where the function is steepest.
double from_arguments(const Contents& x, const switching::Table& table,
                      const switching::TableReport& report, const Lookup& how) {
  const Known& known = x.known;
  const double argument = known.error() / std::numbers::sqrt2;  // its real part
  // If an argument may lie anywhere, so may the result.
  if (!(argument < table.bound)) return width(how.range);
  if (how.constant) return 0;
  if (known.sample() != nullptr && !known.shadow()) {
    return std::sqrt(std::max(std::pow(report.deviation, 2) - std::pow(report.packed, 2), 0.0));
  }
  const Interval& values = known.widest().re;
  const Interval ends{std::clamp(std::max(-table.bound, values.low), -table.bound, table.bound),
                      std::clamp(std::min(table.bound, values.high), -table.bound, table.bound)};
  return largest_error(values_of(table), ends, std::hypot(report.argument, argument));
}

}  // namespace

std::optional<Misfit> beyond(const Known& known, double bound) {
  const double slack = 6 * known.error(), largest = known.range().re.size();
  if (known.range().claim == Claim::Assumed || !(largest > bound * (1 + 1e-9) + slack)) return {};
  return Misfit{"values that may reach " + short_text(largest) + " (" + known.within() + ")",
                "values within " + short_text(bound), "raise the bound, or scale the values down"};
}

Contents looked_up(const ckks::Evaluator& e, const switching::Switcher& switcher,
                   const switching::Table& table, const Contents& x, const Lookup& how,
                   const std::vector<bool>* where) {
  std::vector<std::vector<int>> chosen(x.parts.size());  // empty: all slots
  if (where != nullptr) chosen = chosen_slots(x, *where);
  const auto stays = [&](std::size_t i) { return where != nullptr && chosen[i].empty(); };
  Parts made = x.parts;
  std::optional<ckks::Ciphertext> changed;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (stays(i)) continue;
    made[i] = switcher.apply(e, x.parts[i], table, chosen[i]);
    changed = made[i];
  }
  if (!changed) return x;
  for (std::size_t i = 0; i < made.size(); ++i) {  // all parts of an array have one level
    if (stays(i)) made[i] = e.to_level(made[i], changed->level);
  }
  const switching::TableReport report = switcher.report(table);
  // The last product of the way back adds an error that does not become smaller with the table.
  const double product =
      multiplied_error(x.params(), changed->level + 1, changed->slots, changed->scale) /
      std::sqrt(2.0);
  const double beside = std::hypot(report.packed, product);
  // Results are real, and so is all of their error. Claims are root mean squares of complex errors,
  // of which the real part has one half.
  const double claimed =
      std::numbers::sqrt2 * std::hypot(from_arguments(x, table, report, how), beside);
  Known known =
      x.known.looked_up(values_of(table), how.range, claimed, {report.argument, beside}, where);
  const UnusedSlots rest = where != nullptr && x.rest.clean()
                               ? UnusedSlots::zero()
                               : UnusedSlots::of(std::max(x.rest.kind, UnusedSlots::Kind::Filler),
                                                 std::max(x.rest.bound, known.reach()));
  return {std::move(made), std::move(known), rest};
}

Contents chosen_within(Contents x, double bound) {
  x.known = x.known.within_domain({-bound, bound});
  return x;
}

}  // namespace latticino::session
