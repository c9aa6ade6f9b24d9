#include "params/chain/prime_chain.h"

#include <algorithm>
#include <map>
#include <string>

#include "math/errors.h"
#include "math/primes.h"
#include "params/chain/groups.h"

namespace latticino {
namespace {

Log2 sum_of_logs(const std::vector<std::uint32_t>& primes, std::size_t count) {
  Log2 sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += log2_fixed(primes[i]);
  return sum;
}

class Picker {
 public:
  explicit Picker(const ChainPlan& plan) : plan_(plan), groups_(plan.log_n, plan.main_bound) {}

  PrimeChain pick() {
    chain_.levels = plan_.shapes;
    chain_.aux = ntt_primes_below(plan_.log_n, plan_.aux_bound, plan_.alpha);
    if (static_cast<int>(chain_.aux.size()) < plan_.alpha) fail("auxiliary primes");
    for (const std::uint32_t q : chain_.aux) groups_.reserve(q);
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

  void pick_terminals() {
    std::size_t count = 0;
    for (const LevelShape& s : plan_.shapes) count = std::max<std::size_t>(count, s.terminals);
    for (const RaisedLevel& r : plan_.raised) {
      count = std::max<std::size_t>(count, r.shape.terminals);
    }
    while (chain_.terminals.size() < count) {
      groups_.take_pair(log2_fixed(2 * plan_.terminal_bits), chain_.terminals);
    }
    if (chain_.terminals.size() > count) {
      chain_.terminals.pop_back();
      groups_.release();
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
      groups_.take_group(target.first / target.second - reached,
                         m - static_cast<int>(chain_.mains.size()), chain_.mains);
      reached = sum_of_logs(chain_.mains, chain_.mains.size());
    }
  }

  void pick_raised_mains() {
    LevelShape below = plan_.shapes.back();
    for (const RaisedLevel& r : plan_.raised) {
      const Log2 pulled = sum_of_logs(chain_.terminals, r.shape.terminals) -
                          sum_of_logs(chain_.terminals, below.terminals);
      // Mains that the level below has given up are used again.
      const std::size_t all = chain_.mains.size();
      const Log2 again = sum_of_logs(chain_.mains, all) -
                         sum_of_logs(chain_.mains, std::min<std::size_t>(below.mains, all));
      groups_.take_group(log2_fixed(r.bits) - pulled - again,
                         r.shape.mains - static_cast<int>(chain_.mains.size()), chain_.mains);
      chain_.levels.push_back(r.shape);
      below = r.shape;
    }
  }

  const ChainPlan& plan_;
  PrimeChain chain_;
  PrimeGroups groups_;
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
