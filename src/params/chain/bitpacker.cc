#include "params/chain/bitpacker.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "params/chain/packing.h"

namespace latticino {
namespace {

using packing::Candidate;
using packing::Raised;
using packing::Supply;

PackedChain chain_of(const Supply& supply, const Candidate& user, const Raised& raised) {
  PackedChain out{user.pool.primes(), {}, supply.aux, user.levels.shape};
  int mains = 0;
  for (const PackedLevel& level : out.levels) mains = std::max(mains, level.mains);
  out.mains.assign(supply.words.begin(), supply.words.begin() + mains);
  out.terminals.insert(out.terminals.end(), raised.terminals.begin(), raised.terminals.end());
  out.mains.insert(out.mains.end(), raised.mains.begin(), raised.mains.end());
  out.levels.insert(out.levels.end(), raised.shape.begin(), raised.shape.end());
  return out;
}

// A chain, or what a refusal is about.
struct Attempt {
  std::optional<PackedChain> chain;
  packing::Found found;
  int user = 0, stuck = -1;  // the candidate that met most raised levels, and how many
};

Attempt pack(const Supply& supply, bool prefix) {
  Attempt out{std::nullopt, packing::search(supply, prefix)};
  for (std::size_t i = 0; i < out.found.complete.size(); ++i) {
    const Candidate& user = out.found.complete[i];
    packing::Work work;
    int stuck = 0;
    const std::optional<Raised> raised = packing::raise(supply, user, prefix, work, stuck);
    if (raised) {
      out.chain = chain_of(supply, user, *raised);
      return out;
    }
    if (stuck > out.stuck) out.stuck = stuck, out.user = static_cast<int>(i);
  }
  return out;
}

}  // namespace

bool PackedChain::prefix() const {
  return std::all_of(levels.begin(), levels.end(), [](const PackedLevel& level) {
    return std::has_single_bit(std::uint64_t{level.terminals} + 1);
  });
}

PackedChain pack_primes(const PackingPlan& plan) {
  using Terminals = PackingPlan::Terminals;
  const Supply supply(plan);
  bool prefix = plan.terminals != Terminals::Free;
  Attempt attempt = pack(supply, prefix);
  if (!attempt.chain && plan.terminals == Terminals::Either) {
    prefix = false;
    attempt = pack(supply, prefix);
  }
  if (attempt.chain) return *std::move(attempt.chain);
  const packing::Found& found = attempt.found;
  if (found.complete.empty()) packing::refuse_level(supply, found.furthest.levels, prefix);
  packing::refuse_step(supply, found.complete[attempt.user], prefix, attempt.stuck);
}

}  // namespace latticino
