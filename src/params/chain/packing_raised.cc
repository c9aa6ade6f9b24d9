// The bootstrapping levels of a packing. Their rescale factors must be exact to 0.05 bit where
// EvalMod multiplies, so their mains are chosen by size, as those of other chains are, and the
// terminals change so that the mains can be nearly full words.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <tuple>

#include "math/errors.h"
#include "params/chain/groups.h"
#include "params/chain/packing.h"

namespace latticino::packing {
namespace {

constexpr int kMaxNew = 3;    // the most mains that one level adds
constexpr int kMaxExtra = 3;  // the most terminals that are added for the raised levels alone
// With more choices of terminals than this, a CoeffToSlot level may only add terminals.
constexpr std::size_t kMaxSwapped = 512;
const Log2 kSmallest = log2_fixed(3.0);  // bits by which a main may be smaller than a word
// Bits by which the factor of a level that takes terminals in may exceed its target.
const Log2 kMaxExcess = log2_fixed(4.0);
const Log2 kExtraGrid = log2_fixed(0.5);

// The best way found so far to reach a choice of terminals: the one with the fewest limbs.
struct Reached {
  int limbs = 0;
  Log2 excess = 0;  // log2 Q, minus the sum of the steps' bits
  int mains = 0, from = -1;
  Log2 rest = 0;  // bits of the new mains that are still to be chosen
  bool known = false;
};

// A step in fixed point: pairs of choices are compared by the million.
struct Factor {
  Factor(const PackedStep& s, Log2 word)
      : bits(log2_fixed(s.bits)),
        tolerance(log2_fixed(s.tolerance)),
        over(s.pulls ? kMaxExcess : tolerance),
        least(-over),
        most(kMaxNew * word + tolerance),
        pulls(s.pulls) {}
  Log2 bits, tolerance;
  Log2 over;         // bits by which it may be larger
  Log2 least, most;  // no mains add fewer bits, or more
  bool pulls;
};

// A choice of terminals that is reached, before a step.
struct From {
  From(const Choice& choice, const Reached& reached, int at)
      : have(choice),
        limbs(reached.limbs + reached.mains),
        mains(reached.mains),
        index(at),
        excess(reached.excess) {}
  Choice have;
  int limbs;  // of all levels, if the next one has these mains and no terminals
  int mains, index;
  Log2 excess;
};

class RaisedLevelSearch {
 public:
  RaisedLevelSearch(const Supply& supply, const Candidate& user)
      : supply_(supply), pool_(user.pool), levels_(user.levels) {
    for (const PackedLevel& l : levels_.shape) fixed_ = std::max(fixed_, l.mains);
    const std::uint32_t all = (std::uint32_t{1} << pool_.primes().size()) - 1;
    for (std::uint32_t set = 0; set <= all; ++set) {
      if (!pool_.allows(set)) continue;
      sets_.push_back({pool_.sum(set), set, std::popcount(set)});
    }
  }

  // The number of steps that can be met. At the last step every terminal must be in use.
  int steps_met(Work& work) {
    const auto& steps = supply_.plan.raised;
    std::vector<Reached> below(sets_.size());
    const PackedLevel top = levels_.shape.back();
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      if (sets_[i].set == top.terminals) below[i] = {0, 0, top.mains, -1, 0, true};
    }
    for (std::size_t k = 0; k < steps.size(); ++k) {
      std::vector<From> from;
      for (std::size_t i = 0; i < sets_.size(); ++i) {
        if (below[i].known) from.push_back({sets_[i], below[i], static_cast<int>(i)});
      }
      std::vector<Reached> now(sets_.size());
      const Factor factor(steps[k], supply_.word);
      const bool keeps = steps[k].pulls && sets_.size() > kMaxSwapped;
      bool any = false;
      for (std::size_t j = 0; j < sets_.size(); ++j) {
        if (!allowed(sets_[j], k)) continue;
        work.left -= static_cast<std::int64_t>(from.size());
        for (const From& f : from) {
          if (now[j].known && f.limbs + sets_[j].count > now[j].limbs) continue;
          const Log2 mains = factor.bits - sets_[j].sum + f.have.sum;  // bits that mains must add
          if (mains < factor.least || mains > factor.most) continue;
          if (keeps && (f.have.set & ~sets_[j].set) != 0) continue;
          step(factor, f, mains, sets_[j], now[j]);
        }
        any = any || now[j].known;
      }
      if (!any || work.left < 0) return static_cast<int>(k);
      reached_.push_back(now);
      below = std::move(now);
    }
    return static_cast<int>(steps.size());
  }

  // Shapes and mains of the steps that steps_met() found. Throws ParameterError if there are too
  // few primes.
  RaisedLevels result() const {
    const std::size_t steps = supply_.plan.raised.size();
    std::vector<const Reached*> path(steps);
    std::vector<int> index(steps);
    int at = 0;
    for (std::size_t j = 0; j < sets_.size(); ++j) {
      if (reached_.back()[j].known) at = static_cast<int>(j);  // only the full set is allowed
    }
    for (std::size_t k = steps; k-- > 0;) {
      index[k] = at, path[k] = &reached_[k][at];
      at = path[k]->from;
    }
    RaisedLevels out;
    PrimeGroups groups(supply_.plan.log_n, supply_.bound);
    for (const auto* list : {&supply_.aux, &pool_.primes()}) {
      for (const std::uint32_t q : *list) groups.reserve(q);
    }
    for (int m = 0; m < fixed_; ++m) groups.reserve(supply_.words[m]);
    Log2 missed = 0;  // bits by which the mains so far are too small
    for (std::size_t k = 0; k < steps; ++k) {
      const std::size_t before = out.mains.size();
      const int total = path[k]->mains - fixed_;
      const int count = std::max(0, total - static_cast<int>(before));
      groups.take_group(path[k]->rest + missed, count, out.mains);
      Log2 taken = 0;
      for (std::size_t i = before; i < out.mains.size(); ++i) taken += log2_fixed(out.mains[i]);
      const Log2 error = count == 0 ? 0 : path[k]->rest + missed - taken;
      if (std::abs(error - missed) > log2_fixed(supply_.plan.raised[k].tolerance)) {
        throw ParameterError("params.pack_primes", "no mains of the size that a step needs",
                             "more primes below the word", "choose a larger word");
      }
      if (count > 0) missed = error;
      out.shape.push_back({path[k]->mains, sets_[index[k]].set});
    }
    return out;
  }

 private:
  bool allowed(const Choice& c, std::size_t k) const {
    const auto& steps = supply_.plan.raised;
    const bool full = std::popcount(c.set) == static_cast<int>(pool_.primes().size());
    if (k + 1 == steps.size()) return full;
    return steps[k].pulls || c.count <= supply_.plan.most_terminals;
  }

  // From one choice to another, with 0 to kMaxNew mains more that add `bits` bits. They are the
  // mains that user levels have fixed, then new ones.
  void step(const Factor& s, const From& from, Log2 bits, const Choice& to, Reached& best) const {
    for (int add = 0; add <= kMaxNew; ++add) {
      const int mains = from.mains + add, limbs = from.limbs + add + to.count;
      if (best.known && limbs > best.limbs) break;
      if (mains > static_cast<int>(supply_.words.size())) break;
      const int old = std::clamp(fixed_ - from.mains, 0, add), count = add - old;
      Log2 rest = bits - (supply_.main_logs[from.mains + old] - supply_.main_logs[from.mains]);
      Log2 excess = from.excess;
      if (count == 0) {
        if (rest > s.tolerance || -rest > s.over) continue;
        excess += std::max<Log2>(-rest, 0), rest = 0;
      } else {
        if (rest > supply_.main_logs[mains] - supply_.main_logs[mains - count]) continue;
        const Log2 least = count * (supply_.word - kSmallest);
        if (rest < least) {
          if (!s.pulls || least - rest > kMaxExcess) continue;
          excess += least - rest, rest = least;
        }
      }
      if (add == 0 && (to.set & ~from.have.set) == 0) continue;
      if (!pool_.divides({mains, to.set}, {from.mains, from.have.set})) continue;
      if (best.known && limbs == best.limbs && excess >= best.excess) continue;
      best = {limbs, excess, mains, from.index, rest, true};
    }
  }

  const Supply& supply_;
  const Pool& pool_;
  const Levels& levels_;
  int fixed_ = 0;  // mains of the user levels
  std::vector<Choice> sets_;
  std::vector<std::vector<Reached>> reached_;  // indexed by [step][set]
};

std::optional<RaisedLevels> try_raise(const Supply& supply, const Candidate& user, Work& work,
                                      int& stuck) {
  RaisedLevelSearch search(supply, user);
  stuck = search.steps_met(work);
  if (stuck < static_cast<int>(supply.plan.raised.size())) return std::nullopt;
  try {
    return search.result();
  } catch (const ParameterError&) {
    --stuck;
    return std::nullopt;
  }
}

}  // namespace

std::optional<RaisedLevels> raise(const Supply& supply, const Candidate& user, Work& work,
                                  int& stuck) {
  if (supply.plan.raised.empty()) return RaisedLevels{{}, {}, {}, user.pool.outer()};
  Candidate now = user;
  std::optional<RaisedLevels> out = try_raise(supply, now, work, stuck);
  // Repeatedly adds the terminal with which the most steps are met.
  for (int extra = 0; !out && extra < kMaxExtra && now.pool.size() < kMaxPool; ++extra) {
    std::optional<Candidate> best;
    int furthest = -1;
    Log2 size = 0;
    for (const std::uint32_t q : supply.candidates) {
      if (log2_fixed(q) - size < kExtraGrid || now.pool.has(q)) continue;
      if (work.left < 0) return std::nullopt;
      size = log2_fixed(q);
      const bool sides = now.pool.layout() == Layout::Sides;
      for (int outer = 0; !out && outer <= (sides ? 1 : 0); ++outer) {
        Candidate next = now;
        next.pool.add(q, outer == 1);
        int reached = 0;
        out = try_raise(supply, next, work, reached);
        if (reached > furthest || out) furthest = reached, best = next;
      }
      if (out) break;
    }
    if (!best) break;
    now = *std::move(best);
    stuck = std::max(stuck, furthest);
  }
  if (out) {
    const auto& all = now.pool.primes();
    out->terminals.assign(all.begin() + user.pool.size(), all.end());
    out->outer = now.pool.outer();
  }
  return out;
}

}  // namespace latticino::packing
