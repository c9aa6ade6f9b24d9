#include "params/chain/prime_chain.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>

#include "math/errors.h"
#include "math/primes.h"

namespace latticino {
namespace {

constexpr int kPool = 70;  // candidates a pair is chosen from
const Log2 kWidths[] = {log2_fixed(0.25), log2_fixed(0.5), log2_fixed(1.0)};
const Log2 kGood = log2_fixed(0.005);  // error of a pair above which wider pools are tried
const Log2 kClose = log2_fixed(2e-4);  // below this, prefer primes of equal size

Log2 sum_of_logs(const std::vector<std::uint32_t>& primes, std::size_t count) {
  Log2 sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += log2_fixed(primes[i]);
  return sum;
}

class Picker {
 public:
  explicit Picker(const ChainPlan& plan) : plan_(plan) {}

  PrimeChain pick() {
    chain_.levels = plan_.shapes;
    chain_.aux = ntt_primes_below(plan_.log_n, plan_.aux_bound, plan_.alpha);
    if (static_cast<int>(chain_.aux.size()) < plan_.alpha) fail("auxiliary primes");
    used_ = chain_.aux;
    pick_terminals();
    pick_user_mains();
    pick_raised_mains();
    return std::move(chain_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ParameterError(
        "params.pick_primes", "too few " + what + " at N = 2^" + std::to_string(plan_.log_n),
        "distinct primes q = 1 mod 2N near the target", "choose other word sizes or fewer levels");
  }

  std::vector<std::uint32_t> near(Log2 target, Log2 width, int count) const {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t q : ntt_primes_near(plan_.log_n, target, width, kPool, used_)) {
      if (q < plan_.main_bound && static_cast<int>(out.size()) < count) out.push_back(q);
    }
    return out;
  }

  void take(std::uint32_t q, std::vector<std::uint32_t>& list) {
    list.push_back(q);
    used_.push_back(q);
  }

  void take_nearest(Log2 target) {
    const std::vector<std::uint32_t> one = near(target, kWidths[2], 1);
    if (one.empty()) fail("main primes near " + bits(target));
    take(one[0], chain_.mains);
  }

  // Error first (all within kClose are equal), then distance from equal size.
  using Rank = std::tuple<Log2, Log2, std::uint32_t, std::uint32_t>;

  Rank best_pair(Log2 target, Log2 width) const {
    const std::vector<std::uint32_t> pool = near(target / 2, width, kPool);
    std::vector<Log2> logs;
    for (const std::uint32_t q : pool) logs.push_back(log2_fixed(q));
    Rank best{log2_fixed(4.0), 0, 0, 0};
    for (std::size_t i = 0; i < pool.size(); ++i) {
      for (std::size_t j = i + 1; j < pool.size(); ++j) {
        const Log2 error = std::abs(logs[i] + logs[j] - target);
        const Log2 spread = std::abs(2 * logs[i] - target) + std::abs(2 * logs[j] - target);
        const auto [low, high] = std::minmax(pool[i], pool[j]);
        best = std::min(best, Rank{std::max(error, kClose), spread, low, high});
      }
    }
    return best;
  }

  // The pair whose product is nearest to 2^target, from a pool no wider than a good one needs.
  void take_pair(Log2 target, std::vector<std::uint32_t>& list) {
    Rank best;
    for (const Log2 width : kWidths) {
      best = best_pair(target, width);
      if (std::get<0>(best) <= kGood) break;
    }
    if (std::get<2>(best) == 0) fail("primes for a pair of " + bits(target));
    take(std::get<2>(best), list);
    take(std::get<3>(best), list);
  }

  // `count` new mains with product 2^target.
  void take_group(Log2 target, int count) {
    for (; count > 2; --count) {
      take_nearest(target / count);
      target -= log2_fixed(chain_.mains.back());
    }
    if (count == 2) take_pair(target, chain_.mains);
    if (count == 1) take_nearest(target);
  }

  static std::string bits(Log2 x) { return "2^" + std::to_string(to_double(x)); }

  void pick_terminals() {
    std::size_t count = 0;
    for (const LevelShape& s : plan_.shapes) count = std::max<std::size_t>(count, s.terminals);
    for (const RaisedLevel& r : plan_.raised) {
      count = std::max<std::size_t>(count, r.shape.terminals);
    }
    while (chain_.terminals.size() < count) {
      take_pair(log2_fixed(2 * plan_.terminal_bits), chain_.terminals);
    }
    if (chain_.terminals.size() > count) {
      chain_.terminals.pop_back();
      used_.pop_back();
    }
  }

  void pick_user_mains() {
    // Targets of log2(product of the first m mains), averaged over the levels that have m mains.
    const LevelShape base = plan_.shapes[0];
    Log2 modulus = log2_fixed(plan_.base_main_bits) + sum_of_logs(chain_.terminals, base.terminals);
    std::map<int, std::pair<Log2, int>> targets;
    for (std::size_t l = 0; l < plan_.shapes.size(); ++l) {
      if (l > 0) modulus += log2_fixed(plan_.steps[l - 1]);
      const LevelShape s = plan_.shapes[l];
      auto& [sum, count] = targets[s.mains];
      sum += modulus - sum_of_logs(chain_.terminals, s.terminals);
      ++count;
    }
    Log2 reached = 0;
    for (const auto& [m, target] : targets) {
      if (m == 0) continue;
      take_group(target.first / target.second - reached, m - static_cast<int>(chain_.mains.size()));
      reached = sum_of_logs(chain_.mains, chain_.mains.size());
    }
  }

  void pick_raised_mains() {
    LevelShape below = plan_.shapes.back();
    for (const RaisedLevel& r : plan_.raised) {
      const Log2 pulled = sum_of_logs(chain_.terminals, r.shape.terminals) -
                          sum_of_logs(chain_.terminals, below.terminals);
      take_group(log2_fixed(r.bits) - pulled,
                 r.shape.mains - static_cast<int>(chain_.mains.size()));
      chain_.levels.push_back(r.shape);
      below = r.shape;
    }
  }

  const ChainPlan& plan_;
  PrimeChain chain_;
  std::vector<std::uint32_t> used_;
};

}  // namespace

std::vector<LevelShape> rescaling_cycle(LevelShape base, int scale_bits, int levels,
                                        WordBits words) {
  std::vector<LevelShape> out = {base};
  for (int l = 0; l < levels; ++l) {
    const LevelShape s = out.back();
    int t = 0;
    for (; t < 16; ++t) {
      const int main_bits = scale_bits - words.terminal * (t - s.terminals);
      const int mains = s.mains + main_bits / words.main;
      if (main_bits % words.main != 0 || mains < 0) continue;
      out.push_back({static_cast<std::uint16_t>(mains), static_cast<std::uint16_t>(t)});
      break;
    }
    if (t == 16) {
      throw ParameterError("params.rescaling_cycle", "scale 2^" + std::to_string(scale_bits),
                           "a scale that terminals and mains can make up",
                           "choose another scale or other word sizes");
    }
  }
  return out;
}

PrimeChain pick_primes(const ChainPlan& plan) { return Picker(plan).pick(); }

}  // namespace latticino
