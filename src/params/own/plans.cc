// Plans chains (drafts) without choosing primes. If all scales are 2^s, each level has s bits more
// than the one below it. Its primes are mains of M bits, and units of U bits, which are one to
// three terminals each. The levels repeat in cycles: L levels add k mains in all, L s = k M. Either
// each level inside a cycle adds p mains and gives back a unit, s = p M - U, or it adds a unit and
// b mains, s = U + b M. L = 1 is a chain without terminals, with k primes per level. M and U may
// have any size, so that there is a cycle for every s. Long cycles have larger mains and so fewer
// limbs, but more terminals.
#include "params/own/plans.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "crypto/per_process.h"
#include "math/primes.h"

namespace latticino::own {
namespace {

constexpr int kLongestCycle = 8;
constexpr int kMaxUnit = 3;
constexpr int kBaseMains = 4;
constexpr double kHeadroom = 10;  // bits by which Q_0 is larger than its scale
constexpr double kMinRatio = 6;   // the same with bootstrapping, where q0 has few bits
constexpr double kMaxBase = 59;   // log2 q0 with bootstrapping; 121 with two auxiliary primes
constexpr double kCtsMains = 58;
constexpr int kCtsLevels = 4;
// Bits of a CoeffToSlot level that adds terminals, about.
constexpr double kTerminalStepBits = 50;
const double kBaseSteps[] = {0, 0.5, 1, 2, 3, 4, 6, 8};

// Sizes that a single prime may have. Below, hardly any primes are 1 mod 2N.
struct Sizes {
  double low, high;
  bool fit(double bits, int count) const {
    return count == 0 ? std::abs(bits) < 1e-9 : bits >= count * low && bits <= count * high;
  }
};

// How many primes there are of about this size: within half a bit, at most 200.
int primes_available(int log_n, int half_bits) {
  constexpr std::size_t kMaxSizes = 4096;  // more than there are
  static auto& known = *new crypto::PerProcess<std::pair<int, int>, int>(kMaxSizes);
  return known.get({log_n, half_bits}, [&] {
    return static_cast<int>(
        ntt_primes_near(log_n, log2_fixed(half_bits / 2.0), log2_fixed(0.5), 200, {}).size());
  });
}

// The number of primes of each size that a draft needs.
class PrimeDemand {
 public:
  explicit PrimeDemand(int log_n) : log_n_(log_n) {}
  void add(double bits, int count) { count_[static_cast<int>(std::lround(2 * bits))] += count; }
  // Leaves a margin for the choice, also for drafts of neighbouring sizes that use the same primes.
  bool met() const {
    return std::all_of(count_.begin(), count_.end(), [&](const auto& x) {
      return x.second == 0 || x.second + x.second / 4 + 1 <= primes_available(log_n_, x.first);
    });
  }

 private:
  int log_n_;
  std::map<int, int> count_;
};

Sizes sizes_of(const Schedule& s) { return {s.log_n + 2.0, s.word}; }

struct Cycle {
  double main = 0, unit = 0;
  int terminals = 0;  // terminals of a unit
  int units = 0;      // the most units
  bool down = true;   // whether levels give units back
  int within = 0;     // mains that a level inside the cycle adds
  int jump = 0;       // mains that the last level of a cycle adds (negative: gives back)
};

std::vector<Cycle> cycles_of(double s, Sizes sizes) {
  std::vector<Cycle> out;
  for (int length = 1; length <= kLongestCycle; ++length) {
    const int least = std::max(1, static_cast<int>(std::ceil(length * s / sizes.high - 1e-9)));
    for (int k = least; k <= least + 2; ++k) {
      const double main = length * s / k;
      if (main < sizes.low || std::gcd(length, k) > 1) continue;
      if (length == 1) {
        out.push_back({main, 0, 0, 0, true, 0, k});
        continue;
      }
      const int c = length - 1;
      for (int g = 1; g <= kMaxUnit; ++g) {
        for (int p = 1; p * main - s <= g * sizes.high; ++p) {
          if (p * c >= k && sizes.fit(p * main - s, g)) {
            out.push_back({main, p * main - s, g, c, true, p, k - p * c});
          }
        }
        for (int b = 0; s - b * main >= g * sizes.low; ++b) {
          if (k - c * b > 0 && sizes.fit(s - b * main, g)) {
            out.push_back({main, s - b * main, g, c, false, b, k - c * b});
          }
        }
      }
    }
  }
  return out;
}

class Drafter {
 public:
  explicit Drafter(const Schedule& s) : s_(s), sizes_(sizes_of(s)) {}

  std::vector<Draft> drafts() {
    if (s_.uniform()) {
      for (const Cycle& cycle : cycles_of(s_.scales[0], sizes_)) add_cycle(cycle);
    } else {
      add_groups();
    }
    std::stable_sort(drafts_.begin(), drafts_.end(), [](const Draft& a, const Draft& b) {
      return a.limbs != b.limbs ? a.limbs < b.limbs : a.log_q < b.log_q;
    });
    return std::move(drafts_);
  }

 private:
  int user_levels() const { return static_cast<int>(s_.scales.size()) - 1; }

  void add_cycle(const Cycle& cycle) {
    ++family_;
    const int most = s_.bootstrapping ? 2 : kBaseMains;
    for (int units = 0; units <= cycle.units; ++units) {
      for (int mains = 0; mains <= most - units * cycle.terminals; ++mains) {
        if (units + mains > 0) add_based(cycle, mains, units);
      }
    }
  }

  void add_based(const Cycle& cycle, int mains, int units) {
    std::vector<LevelShape> shapes = {shape(cycle, mains, units)};
    for (int l = 0; l < user_levels(); ++l) {
      const bool closes = cycle.units == 0 || units == (cycle.down ? 0 : cycle.units);
      units = closes ? (cycle.down ? cycle.units : 0) : units + (cycle.down ? -1 : 1);
      mains += closes ? cycle.jump : cycle.within;
      if (mains < 0 || mains + units == 0) return;
      shapes.push_back(shape(cycle, mains, units));
    }
    add_shapes(std::move(shapes), std::vector<double>(user_levels(), s_.scales[0]),
               cycle.terminals == 0 ? 0 : cycle.unit / cycle.terminals);
  }

  static LevelShape shape(const Cycle& cycle, int mains, int units) {
    return {static_cast<std::uint16_t>(mains), static_cast<std::uint16_t>(units * cycle.terminals)};
  }

  // A draft in which every level has primes of its own, as many as its step needs.
  void add_groups() {
    std::vector<double> steps;
    for (std::size_t l = 1; l < s_.scales.size(); ++l) {
      steps.push_back(2 * s_.scales[l] - s_.scales[l - 1]);
    }
    for (int mains = 1; mains <= (s_.bootstrapping ? 2 : kBaseMains); ++mains) {
      std::vector<LevelShape> shapes = {{static_cast<std::uint16_t>(mains), 0}};
      for (const double step : steps) {
        const int count = std::max(1, static_cast<int>(std::ceil(step / sizes_.high - 1e-9)));
        shapes.push_back({static_cast<std::uint16_t>(shapes.back().mains + count), 0});
      }
      add_shapes(std::move(shapes), steps, 0);
    }
  }

  void add_shapes(std::vector<LevelShape> shapes, std::vector<double> steps, double terminal) {
    Draft draft;
    draft.family = family_;
    draft.chain.log_n = s_.log_n;
    draft.chain.shapes = std::move(shapes);
    draft.chain.steps = std::move(steps);
    draft.chain.terminal_bits = terminal;
    const LevelShape base = draft.chain.shapes[0];
    const double least = s_.base_bits();
    for (const double more : kBaseSteps) {
      double bits = least + more - base.terminals * terminal;
      if (base.mains == 0) bits = 0;
      const double whole = bits + base.terminals * terminal;
      if (whole < least - 0.05 || (s_.bootstrapping && whole > kMaxBase)) continue;
      if (!user_sizes_fit(draft.chain, bits)) continue;
      draft.chain.base_main_bits = bits;
      double log_q = whole;
      for (const double step : draft.chain.steps) log_q += step;
      finish(draft, log_q);
      if (base.mains == 0) return;
    }
  }

  // Whether the mains that pick_primes will choose have sizes that primes may have.
  bool user_sizes_fit(const ChainPlan& plan, double base_main_bits) const {
    PrimeDemand demand(s_.log_n);
    int terminals = 0;
    for (const LevelShape& x : plan.shapes) terminals = std::max<int>(terminals, x.terminals);
    demand.add(plan.terminal_bits, terminals);
    std::map<int, std::pair<double, int>> targets;
    double modulus = base_main_bits + plan.shapes[0].terminals * plan.terminal_bits;
    for (std::size_t l = 0; l < plan.shapes.size(); ++l) {
      if (l > 0) modulus += plan.steps[l - 1];
      auto& [sum, count] = targets[plan.shapes[l].mains];
      sum += modulus - plan.shapes[l].terminals * plan.terminal_bits;
      ++count;
    }
    int mains = 0;
    double reached = 0;
    for (const auto& [m, target] : targets) {
      const double next = target.first / target.second;
      if (!sizes_.fit(next - reached, m - mains)) return false;
      if (m > mains) demand.add((next - reached) / (m - mains), m - mains);
      mains = m, reached = next;
    }
    return demand.met();
  }

  void finish(Draft draft, double log_q) {
    LevelShape most, top = draft.chain.shapes.back();
    draft.limbs = 0;
    for (const LevelShape& x : draft.chain.shapes) {
      most.mains = std::max(most.mains, x.mains);
      most.terminals = std::max(most.terminals, x.terminals);
      draft.limbs += x.mains + x.terminals;
    }
    const double terminal = draft.chain.terminal_bits;
    if (!s_.bootstrapping) {
      // Mains that the top level has given up are still part of the keys.
      draft.primes = most.mains + most.terminals;
      draft.log_q = log_q + (most.terminals - top.terminals) * terminal +
                    (most.mains - top.mains) * sizes_.high;
      drafts_.push_back(std::move(draft));
      return;
    }
    // The first EvalMod level takes two mains: one may be among those that a level below has.
    if (top.mains + 1 < most.mains || !raise(draft, top, most.terminals - top.terminals)) return;
    for (const RaisedLevel& r : draft.chain.raised) {
      log_q += r.bits;
      draft.limbs += r.shape.mains + r.shape.terminals;
    }
    draft.log_q = log_q;
    draft.primes =
        draft.chain.raised.back().shape.mains + draft.chain.raised.back().shape.terminals;
    drafts_.push_back(std::move(draft));
  }

  // Adds the levels of EvalMod, then those of CoeffToSlot. The last ones add the `missing`
  // terminals that the level below them leaves out: the top level holds every prime.
  bool raise(Draft& draft, LevelShape top, int missing) const {
    const double terminal = draft.chain.terminal_bits;
    const auto add = [&](int mains, int terminals, double bits) {
      top.mains += mains, top.terminals += terminals;
      draft.chain.raised.push_back({top, bits});
    };
    for (int i = 0; i < BootstrapLiteral{}.evalmod_levels; ++i) add(2, 0, evalmod_bits(s_));
    const bool pairs = 2 * terminal >= kTerminalStepBits - 6;
    const int pulls = pairs ? (missing + 1) / 2 : missing;
    if (pulls > kCtsLevels) return false;
    for (int i = pulls; i < kCtsLevels; ++i) add(2, 0, std::min(kCtsMains, evalmod_bits(s_)));
    while (missing > 0) {
      const bool pair = pairs && missing >= 2;
      const double main =
          std::clamp(kTerminalStepBits + 5 - terminal, sizes_.low + 4, sizes_.high - 1);
      if (pair) add(0, 2, 2 * terminal);
      if (!pair) add(1, 1, terminal + main);
      missing -= pair ? 2 : 1;
    }
    return true;
  }

  const Schedule& s_;
  Sizes sizes_;
  int family_ = 0;
  std::vector<Draft> drafts_;
};

}  // namespace

bool Schedule::uniform() const {
  return std::all_of(scales.begin(), scales.end(), [&](double x) { return x == scales[0]; });
}

double Schedule::base_bits() const {
  if (!bootstrapping) return scales[0] + kHeadroom;
  const double most = std::min(kMaxBase - 1, 2 * word);  // the base has two primes
  return std::max(std::min(scales[0] + kHeadroom, most), scales[0] + kMinRatio);
}

double evalmod_bits(const Schedule& s) { return std::min(58.0, 2 * s.word - 0.7); }

int log_message_ratio(double log_scale, double base_bits) {
  return std::min(log_scale <= 37 ? 7 : 6, static_cast<int>(base_bits - log_scale + 0.05));
}

std::vector<Digits> digits_of(int primes, int dnum) {
  std::vector<Digits> out;
  for (int alpha = 1; alpha <= primes; ++alpha) {
    const int digits = (primes + alpha - 1) / alpha;
    // Among equal numbers of digits, the smallest alpha.
    if (!out.empty() && out.back().dnum == digits) continue;
    if (dnum == 0 || dnum == digits) out.push_back({alpha, digits});
  }
  // The work of a key switch, in transforms and products: each digit on all primes, and both
  // results.
  std::stable_sort(out.begin(), out.end(), [&](Digits a, Digits b) {
    return (a.dnum + 2) * (primes + a.alpha) < (b.dnum + 2) * (primes + b.alpha);
  });
  return out;
}

std::vector<Draft> drafts_of(const Schedule& schedule) { return Drafter(schedule).drafts(); }

}  // namespace latticino::own
