#include "params/chain/bitpacker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "params/chain/packing.h"

namespace latticino {
namespace {

using packing::Candidate;
using packing::RaisedLevels;
using packing::Supply;
using Terminals = PackingPlan::Terminals;

PackedChain chain_of(const Supply& supply, const Candidate& user, const RaisedLevels& raised) {
  PackedChain out{user.pool.primes(), {}, supply.aux, user.levels.shape, {}};
  if (user.pool.layout() != Terminals::Free) out.outer = raised.outer;
  int mains = 0;
  for (const PackedLevel& level : out.levels) mains = std::max(mains, level.mains);
  out.mains.assign(supply.words.begin(), supply.words.begin() + mains);
  out.terminals.insert(out.terminals.end(), raised.terminals.begin(), raised.terminals.end());
  out.mains.insert(out.mains.end(), raised.mains.begin(), raised.mains.end());
  out.levels.insert(out.levels.end(), raised.shape.begin(), raised.shape.end());
  return packing::with_used_primes(std::move(out));
}

// A chain, or the reason why there is none.
struct Attempt {
  std::optional<PackedChain> chain;
  packing::Found found;
  // The candidate that gets furthest in the raised levels, and the step at which it fails.
  int user = 0, stuck = -1;
};

Attempt pack(const Supply& supply, Terminals layout) {
  Attempt out{std::nullopt, packing::search(supply, layout)};
  for (std::size_t i = 0; i < out.found.complete.size(); ++i) {
    const Candidate& user = out.found.complete[i];
    packing::Work work;
    int stuck = 0;
    const std::optional<RaisedLevels> raised = packing::raise(supply, user, work, stuck);
    if (raised) {
      out.chain = chain_of(supply, user, *raised);
      return out;
    }
    if (stuck > out.stuck) out.stuck = stuck, out.user = static_cast<int>(i);
  }
  return out;
}

}  // namespace

PackedChain packing::with_used_primes(PackedChain chain) {
  std::uint32_t used = 0;
  int mains = 0;
  for (const PackedLevel& level : chain.levels) {
    used |= level.terminals;
    mains = std::max(mains, level.mains);
  }
  chain.mains.resize(mains);
  for (int t = static_cast<int>(chain.terminals.size()) - 1; t >= 0; --t) {
    if ((used >> t & 1) != 0) continue;
    const std::uint32_t below = (std::uint32_t{1} << t) - 1;
    const auto without = [&](std::uint32_t set) { return (set & below) | (set >> 1 & ~below); };
    chain.terminals.erase(chain.terminals.begin() + t);
    if (chain.outer) chain.outer = without(*chain.outer);
    for (PackedLevel& level : chain.levels) level.terminals = without(level.terminals);
  }
  return chain;
}

PackedChain pack_primes(const PackingPlan& plan) {
  const Supply supply(plan);
  std::vector<Terminals> layouts = {plan.terminals};
  if (plan.terminals == Terminals::Lists) layouts = {Terminals::Prefix, Terminals::Sides};
  if (plan.terminals == Terminals::Either) {
    layouts = {Terminals::Prefix, Terminals::Sides, Terminals::Free};
  }
  std::size_t tried = 0;
  Attempt attempt = pack(supply, layouts[0]);
  while (!attempt.chain && ++tried < layouts.size()) attempt = pack(supply, layouts[tried]);
  if (attempt.chain) return *std::move(attempt.chain);
  const packing::Found& found = attempt.found;
  if (found.complete.empty()) packing::refuse_level(supply, found.furthest.levels, layouts.back());
  packing::refuse_step(supply, found.complete[attempt.user], attempt.stuck);
}

}  // namespace latticino
