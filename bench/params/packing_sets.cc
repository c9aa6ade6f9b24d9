#include "params/packing_sets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "math/errors.h"
#include "params/chain/bitpacker.h"
#include "params/params.h"

namespace latticino::bench {
namespace {

double log2_of(const std::vector<std::uint32_t>& primes) {
  double sum = 0;
  for (const std::uint32_t q : primes) sum += std::log2(q);
  return sum;
}

void print_row(const std::string& name, int left, std::size_t mains, std::size_t terminals,
               int alpha, double log_pq, int most, int limbs) {
  std::printf("| %s | %d | %zu+%zu | %d | %.1f | %d | %d |\n", name.c_str(), left, mains, terminals,
              alpha, log_pq, most, limbs);
}

// Bootstrapping chains at N = 2^16: three levels for SlotToCoeff, eight for EvalMod, four for
// CoeffToSlot.
struct Set {
  int word;
  double base, scale;
  int left, alpha;
  double evalmod, cts;
  PackingPlan::Terminals terminals;
  int most;
};

void print(const Set& s) {
  PackingPlan plan{16, s.word, s.base, std::vector<double>(s.left + 4, s.scale), s.alpha};
  plan.raised.assign(8, {s.evalmod});
  plan.raised.insert(plan.raised.end(), 4, {s.cts, 0.5, true});
  plan.terminals = s.terminals, plan.most_terminals = s.most;
  char name[80];
  const char* layout = s.terminals == PackingPlan::Terminals::Free    ? "free"
                       : s.terminals == PackingPlan::Terminals::Sides ? "sides"
                                                                      : "prefix";
  std::snprintf(name, sizeof name, "2^%d, 2^%.1f from 2^%.1f, EvalMod %.1f, %s", s.word, s.scale,
                s.base, s.evalmod, layout);
  std::optional<PackedChain> chain;
  try {
    chain = pack_primes(plan);
  } catch (const ParameterError&) {  // the row says that there is none
  }
  if (!chain) {
    std::printf("| %s | none ||||||\n", name);
    return;
  }
  int most = 0, limbs = 0;
  for (std::size_t l = 0; l < chain->levels.size(); ++l) {
    const PackedLevel& level = chain->levels[l];
    const int terminals = std::popcount(level.terminals);
    limbs += level.mains + terminals;
    if (l + 4 < chain->levels.size()) most = std::max(most, terminals);
  }
  print_row(name, s.left, chain->mains.size(), chain->terminals.size(), s.alpha,
            log2_of(chain->mains) + log2_of(chain->terminals) + log2_of(chain->aux), most, limbs);
}

void print(const std::string& name) {
  const auto p = preset(name);
  int most = 0, limbs = 0;
  for (int l = 0; l <= p->top_level(); ++l) {
    limbs += p->limbs(l);
    if (l + 4 <= p->top_level()) most = std::max<int>(most, p->literal().levels[l].terminals);
  }
  print_row("`" + name + "`", p->level_after_bootstrap(), p->literal().mains.size(),
            p->literal().terminals.size(), p->alpha(), p->log_pq(), most, limbs);
}

}  // namespace

int sets() {
  using Terminals = PackingPlan::Terminals;
  std::printf(
      "| words, scale and base | levels left | mains+terminals | alpha | log2 PQ | most terminals "
      "below CoeffToSlot | limbs of all levels |\n|---|---|---|---|---|---|---|\n");
  print("n16-d35-boot-v1");
  print(Set{30, 50.4, 34.9, 16, 12, 58, 52, Terminals::Prefix, 5});
  print(Set{28, 50, 35, 15, 13, 55.3, 52, Terminals::Prefix, 5});
  print(Set{28, 48.5, 34.9, 16, 13, 55.4, 52, Terminals::Sides, 4});
  print(Set{28, 49, 34.8, 15, 13, 55.3, 52, Terminals::Free, 4});
  print("n16-d45-boot-v1");
  print(Set{30, 53, 45, 11, 12, 59, 52, Terminals::Prefix, 4});
  print(Set{28, 53, 45, 11, 13, 58, 53, Terminals::Prefix, 5});
  print(Set{28, 55.5, 44.9, 11, 13, 59.5, 50, Terminals::Sides, 5});
  print(Set{28, 55, 44.7, 11, 13, 58, 53, Terminals::Free, 4});
  return 0;
}

}  // namespace latticino::bench
