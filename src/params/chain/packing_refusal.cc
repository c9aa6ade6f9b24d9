// The error message for a level that cannot be packed: which level it is, and the nearest scales
// with which it can be packed.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "math/errors.h"
#include "math/text.h"
#include "params/chain/packing.h"

namespace latticino::packing {
namespace {

constexpr int kMaxTries = 3;        // scales that are tried on either side of a refused one
constexpr double kScaleStep = 0.2;  // bits between them
const Log2 kSearchRadius = log2_fixed(24.0);  // range of log2 Q around a refused one
constexpr std::int64_t kMaxWork = 8'000'000;  // comparisons of the search for factors

std::string number(double x) { return formatted("%.2f", x); }

double as_printed(double x) { return std::round(100 * x) / 100; }

// log2 of products of 0 to `most` distinct candidates, increasing: all up to two, and those of more
// on a grid (products of three and four lie close together).
std::vector<Log2> products(const Supply& supply, int most) {
  std::vector<std::vector<Log2>> by_count = {{0}};
  std::vector<Log2> logs;
  logs.reserve(supply.candidates.size());
  for (const std::uint32_t q : supply.candidates) logs.push_back(log2_fixed(q));
  std::vector<Log2> all = {0};
  const auto size = logs.size();
  for (std::size_t i = 0; i < size; ++i) {
    all.push_back(logs[i]);
    for (std::size_t j = 0; most >= 2 && j < i; ++j) {
      all.push_back(logs[i] + logs[j]);
      // Uses a third and a fourth candidate next to these, so that no prime is taken twice.
      for (std::size_t k = 0; most >= 3 && k < j; k += 3) {
        all.push_back(logs[i] + logs[j] + logs[k]);
        for (std::size_t n = 0; most >= 4 && n < k; n += 9) {
          all.push_back(logs[i] + logs[j] + logs[k] + logs[n]);
        }
      }
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Scales of the next level (or bits of the base) for which it has primes of its own, whatever other
// levels need.
std::vector<double> scales_in_reach(const Supply& supply, const Levels& below, bool two) {
  const bool base = below.shape.empty();
  const Log2 least = base ? 0 : below.log_q.back() + log2_fixed(0.5);
  const Log2 x = goal(supply.plan, below);
  const std::vector<Log2> sums = products(supply, two ? 2 : supply.plan.most_terminals);
  std::vector<double> out;
  for (int m = 0; m <= supply.most_mains; ++m) {
    for (const Log2 sum : sums) {
      const Log2 q = supply.main_logs[m] + sum;
      if (q < least || q == 0 || std::abs(q - x) > kSearchRadius) continue;
      if (two && (m > 2 || (m == 2 && sum != 0) || (m == 1 && sum > supply.word))) continue;
      const double bits = to_double(q);
      const double scale =
          base ? bits : (bits - to_double(below.log_q.back()) + to_double(below.scale.back())) / 2;
      out.push_back(as_printed(scale));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Whether a search with this scale (or base) gets past the level.
bool passes(const PackingPlan& plan, std::size_t level, double value, Layout layout) {
  PackingPlan other = plan;
  if (level == 0) {
    if (value < plan.level_log_scale[0]) return false;
    other.base_bits = value;
  } else {
    other.level_log_scale[level] = value;
  }
  return search(Supply(other), layout, level + 1).furthest.levels.shape.size() > level;
}

}  // namespace

void refuse_level(const Supply& supply, const Levels& below, Layout layout) {
  const PackingPlan& plan = supply.plan;
  const std::size_t level = below.shape.size();
  const Log2 x = goal(plan, below);
  const bool two = level == 0 && !plan.raised.empty();
  std::vector<double> able;
  if (plan.advises) able = scales_in_reach(supply, below, two);
  const double wanted = level == 0 ? plan.base_bits : plan.level_log_scale[level];
  std::sort(able.begin(), able.end(),
            [&](double a, double b) { return std::abs(a - wanted) < std::abs(b - wanted); });
  // The nearest scales on either side with which a search gets past the level.
  std::string nearest;
  std::vector<double> values;
  for (const bool over : {false, true}) {
    double last = 0;
    int tries = 0;
    for (const double value : able) {
      if ((value > wanted) != over || std::abs(value - last) < kScaleStep) continue;
      last = value;
      if (++tries > kMaxTries) break;
      if (!passes(plan, level, value, layout)) continue;
      nearest += (nearest.empty() ? "2^" : " or 2^") + number(value);
      values.push_back(value);
      break;
    }
  }
  const std::string what = level == 0 ? "a base" : "a scale";
  std::string had = "level " + std::to_string(level) + " with " + what + " of 2^" + number(wanted);
  if (level > 0) had += " above 2^" + number(to_double(below.scale.back()));
  throw PackingRefusal(
      static_cast<int>(level), std::move(values),
      had + ", that is log2 Q = " + number(to_double(x)),
      "log2 Q within 0.5 bit from primes below 2^" + formatted("%g", plan.prime_bits()) +
          " that are 1 mod 2N, N = 2^" + std::to_string(plan.log_n) + ", at most " +
          std::to_string(two ? 2 : plan.most_terminals) + (two ? " in all" : " beside the largest"),
      nearest.empty() ? "choose fewer levels, a larger word or a smaller N"
                      : "choose " + what + " of " + nearest + ", or a larger word");
}

void refuse_step(const Supply& supply, const Candidate& user, int step) {
  const PackingPlan& plan = supply.plan;
  const double wanted = plan.raised[step].bits;
  std::int64_t spent = 0;
  // The number of steps that are met with these bits at this step, and at every other one that has
  // the same bits.
  const auto met = [&](double bits) {
    PackingPlan other = plan;
    for (PackedStep& s : other.raised) {
      if (s.bits == wanted) s.bits = bits;
    }
    const Supply changed(other);
    Work work;
    const std::int64_t all = work.left;
    int reached = 0;
    if (raise(changed, user, work, reached)) reached = static_cast<int>(plan.raised.size());
    spent += all - work.left;
    return reached;
  };
  // The nearest bits on either side with which every step is met, else those that get past this
  // one.
  struct Side {
    double past = 0, every = 0;
    double nearest() const { return every > 0 ? every : past; }
  };
  Side under, over;
  const auto attempt = [&](Side& side, double bits) {
    if (side.every > 0 || bits < 10) return;
    const int reached = met(bits);
    if (reached > step && side.past == 0) side.past = bits;
    if (reached == static_cast<int>(plan.raised.size())) side.every = bits;
  };
  for (int i = 1; plan.advises && i <= 40 && spent < kMaxWork; ++i) {
    attempt(under, as_printed(wanted - 0.25 * i));
    attempt(over, as_printed(wanted + 0.25 * i));
    if (under.every > 0 && over.every > 0) break;
  }
  std::string nearest;
  std::vector<double> values;
  for (const double bits : {under.nearest(), over.nearest()}) {
    if (bits == 0) continue;
    nearest += (nearest.empty() ? "" : " or ") + number(bits);
    values.push_back(bits);
  }
  const int level = static_cast<int>(plan.level_log_scale.size()) + step;
  throw PackingRefusal(level, std::move(values),
                       "level " + std::to_string(level) + ", of bootstrapping, with a factor of " +
                           number(wanted) + " bits",
                       "mains of nearly " + formatted("%g", plan.prime_bits()) +
                           " bits and terminals that make it up, all of them at the top",
                       nearest.empty() ? "choose other factors, a larger word or a smaller N"
                                       : "choose " + nearest + " bits, or a larger word");
}

}  // namespace latticino::packing
