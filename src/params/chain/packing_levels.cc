// The user levels of a packing: the available primes, and a search for the smallest pool of
// terminals.
#include <algorithm>
#include <bit>
#include <bitset>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <tuple>

#include "math/errors.h"
#include "math/text.h"
#include "params/chain/packing.h"

namespace latticino::packing {
namespace {

constexpr int kMaxMains = 200;  // the most mains that a chain may have
constexpr int kBeam = 32;       // pools of one size that are extended
constexpr int kMaxIdle = 4;     // a search ends after so many rounds without a further level
constexpr int kMaxPools = 12;   // complete pools that are kept
constexpr int kNearest = 6;     // primes of one size from which groups of new terminals are taken
const Log2 kGrid = log2_fixed(0.125);
// Bits by which a level may miss its goal while pools are compared.
const Log2 kGoalTolerance = log2_fixed(0.4);
const Log2 kMinLog = log2_fixed(0.5);  // the least log2 of Q_l / Q_(l-1)

constexpr std::size_t kMaxLevels = 200;  // the most levels of a plan
using LevelSet = std::bitset<kMaxLevels>;

// A pool in the search, and the levels that it serves if scales stay on their targets.
struct Draft {
  Pool pool;
  LevelSet served;
};

// A pool with more terminals. Most such pools are dropped at once, so the pool itself is built
// later.
struct Step {
  const Draft* from = nullptr;
  // New terminals of the pool, in the order in which they were added.
  std::vector<std::uint32_t> primes;
  std::uint32_t outer = 0;  // bit i: the i-th new one is added to the second list
  LevelSet served;
  std::size_t rank = 0;

  Pool pool() const {
    Pool out = from->pool;
    const auto before = static_cast<std::size_t>(out.size());
    for (std::size_t i = before; i < primes.size(); ++i) {
      out.add(primes[i], ((outer >> (i - before)) & 1) != 0);
    }
    return out;
  }
  // lists() of the pool.
  Pool::Lists lists() const {
    return Pool::lists(from->pool.layout(), primes,
                       from->pool.outer() | outer << from->pool.size());
  }
};

// Pools with one more terminal, or with several if one alone would not serve a level.
class Extension {
 public:
  Extension(const Supply& supply, Layout layout) : supply_(supply), layout_(layout) {
    const PackingPlan& plan = supply.plan;
    goals_.push_back(log2_fixed(plan.base_bits));
    for (std::size_t l = 1; l < plan.level_log_scale.size(); ++l) {
      goals_.push_back(goals_.back() + log2_fixed(2 * plan.level_log_scale[l]) -
                       log2_fixed(plan.level_log_scale[l - 1]));
    }
  }

  Draft drafted(Pool pool) const {
    Draft out{std::move(pool), {}};
    serve(out.pool.choices(), {}, out.served);
    return out;
  }

  void extend(const Draft& from, std::vector<Step>& out) {
    from_ = &from, out_ = &out;
    open_.assign(std::size_t{4} * static_cast<std::size_t>(supply_.plan.most_terminals), {});
    bool better = false;
    for (const std::uint32_t q : supply_.candidates) {
      better |= add({q}, 0);
      if (layout_ == Layout::Sides && from.pool.size() > 0) better |= add({q}, 1);
    }
    std::size_t missed = 0;
    while (missed < goals_.size() && from.served[missed]) ++missed;
    if (missed == goals_.size()) return;
    for (int count = 2; !better && count <= supply_.plan.most_terminals; ++count) {
      better = equal(goals_[missed], count);
    }
  }

 private:
  // A terminal that is added to every choice of a pool. The search tries many candidates for it.
  // To make a new list of choices for each candidate would take most of the time.
  struct More {
    Log2 sum = 0;
    int count = 0;
  };

  // Adds the levels that these choices serve.
  void serve(const std::vector<Choice>& choices, const More& more, LevelSet& served) const {
    for (std::size_t l = 0; l < goals_.size(); ++l) {
      if (!served[l] && serves(choices, more, l)) served.set(l);
    }
  }

  bool serves(const std::vector<Choice>& choices, const More& more, std::size_t level) const {
    if (choices.empty()) return false;
    const Log2 x = goals_[level];
    const bool two = level == 0 && !supply_.plan.raised.empty();
    for (int m = std::min(supply_.mains_below(x + kGoalTolerance), supply_.most_mains); m >= 0;
         --m) {
      const Log2 rest = x - supply_.main_logs[m] - more.sum;
      if (rest - kGoalTolerance > choices.back().sum) return false;
      auto c = std::lower_bound(choices.begin(), choices.end(), rest - kGoalTolerance,
                                [](const Choice& choice, Log2 s) { return choice.sum < s; });
      for (; c != choices.end() && c->sum <= rest + kGoalTolerance; ++c) {
        const int limbs = m + c->count + more.count;
        if (limbs > 0 && (!two || limbs <= 2)) return true;
      }
    }
    return false;
  }

  // Adds the levels that choices with some of these new terminals serve. Choices without them serve
  // no further level.
  void serve_with(const std::vector<std::uint32_t>& primes, std::uint32_t outer, LevelSet& served) {
    const std::uint32_t all = (1u << primes.size()) - 1;
    for (std::uint32_t set = 1; set <= all; ++set) {
      const int count = std::popcount(set);
      if (count > supply_.plan.most_terminals) continue;
      int lists = 1;
      if (layout_ != Layout::Free) {
        if (!first_ones(set, all & ~outer) || !first_ones(set, outer)) continue;
        lists = ((set & ~outer) != 0 ? 1 : 0) + ((set & outer) != 0 ? 2 : 0);
      }
      Log2 sum = 0;
      for (std::size_t i = 0; i < primes.size(); ++i) {
        if ((set >> i) & 1) sum += supply_.log_of(primes[i]);
      }
      serve(open(lists, count), {sum, count}, served);
    }
  }

  // Pool::open() of the pool, made once.
  const std::vector<Choice>& open(int lists, int room) {
    std::vector<Choice>& out = open_[std::size_t{4} * static_cast<std::size_t>(room - 1) +
                                     static_cast<std::size_t>(lists)];
    if (out.empty()) out = from_->pool.open(lists, room);
    return out;
  }

  // Whether more levels are served. Bit i of `outer`: the i-th new terminal is added to the second
  // list.
  bool add(const std::vector<std::uint32_t>& primes, std::uint32_t outer) {
    const Pool& before = from_->pool;
    if (before.size() + static_cast<int>(primes.size()) > kMaxPool) return false;
    for (const std::uint32_t q : primes) {
      if (before.has(q)) return false;
    }
    Step step{from_, before.primes(), outer, from_->served, 0};
    step.primes.insert(step.primes.end(), primes.begin(), primes.end());
    serve_with(primes, outer, step.served);
    // The search prefers low ranks. A terminal costs 1, and a level that is not served yet costs 2:
    // so one more terminal pays off as soon as it serves one more level.
    step.rank = step.primes.size() + 2 * (~step.served).count();
    out_->push_back(std::move(step));
    return out_->back().served != from_->served;
  }

  // `count` new terminals of about equal size, for each choice of the present ones.
  bool equal(Log2 goal, int count) {
    if (supply_.candidates.empty()) return false;  // the mains already take every prime
    bool better = false;
    std::vector<Log2> tried;
    for (int m = std::min(supply_.mains_below(goal), supply_.most_mains); m >= 0; --m) {
      const Log2 rest = goal - supply_.main_logs[m];
      if (rest > supply_.plan.most_terminals * supply_.word) break;
      for (const Choice& c : from_->pool.choices()) {
        if (c.count + count > supply_.plan.most_terminals) continue;
        if (!extends(c, false) && !extends(c, true)) continue;
        const Log2 size = (rest - c.sum) / count;
        if (size < log2_fixed(supply_.candidates.front()) - kTolerance || size >= supply_.word)
          continue;
        const bool known = std::any_of(tried.begin(), tried.end(), [&](Log2 other) {
          return std::abs(other - size) < kTolerance / 2;
        });
        if (known) continue;
        tried.push_back(size);
        better |= near(size, count, c);
      }
    }
    return better;
  }

  // Whether a level with this choice may have further terminals of the first list, or of the
  // second.
  bool extends(const Choice& c, bool outer) const {
    const Pool& pool = from_->pool;
    const std::uint32_t all = (std::uint32_t{1} << pool.size()) - 1;
    if (layout_ == Layout::Free) return !outer;
    if (layout_ == Layout::Prefix) return !outer && c.set == all;
    const std::uint32_t list = outer ? pool.outer() : all & ~pool.outer();
    return (c.set & list) == list;
  }

  bool near(Log2 size, int count, const Choice& beside) {
    std::vector<std::uint32_t> nearest = supply_.candidates;
    const auto distance = [&](std::uint32_t q) { return std::abs(supply_.log_of(q) - size); };
    std::erase_if(nearest, [&](std::uint32_t q) { return from_->pool.has(q); });
    const std::size_t most = std::min<std::size_t>(nearest.size(), kNearest);
    std::partial_sort(nearest.begin(), nearest.begin() + static_cast<long>(most), nearest.end(),
                      [&](auto a, auto b) { return distance(a) < distance(b); });
    nearest.resize(most);
    bool better = false;
    for (std::uint32_t set = 0; set < (1u << most); ++set) {
      if (std::popcount(set) != count) continue;
      std::vector<std::uint32_t> primes;
      for (std::size_t i = 0; i < most; ++i) {
        if ((set >> i) & 1) primes.push_back(nearest[i]);
      }
      for (std::uint32_t outer = 0; outer < (1u << count); ++outer) {
        const bool first = outer != (1u << count) - 1;
        if ((first && !extends(beside, false)) || (outer != 0 && !extends(beside, true))) continue;
        better |= add(primes, outer);
      }
    }
    return better;
  }

  const Supply& supply_;
  Layout layout_;
  std::vector<Log2> goals_;
  const Draft* from_ = nullptr;
  std::vector<std::vector<Choice>> open_;  // of its pool, see open()
  std::vector<Step>* out_ = nullptr;
};

// Compared by the most levels first, then by the smallest pool, then by the fewest limbs. Ties are
// decided by the primes' values.
bool better(const Candidate& a, const Candidate& b) {
  const auto rank = [](const Candidate& x) {
    return std::tuple(-static_cast<int>(x.levels.shape.size()), x.pool.primes().size(),
                      x.levels.limbs, x.pool.primes());
  };
  return rank(a) < rank(b);
}

}  // namespace

Supply::Supply(const PackingPlan& p) : plan(p) {
  const auto need = [&](bool holds, const std::string& had, const std::string& needs) {
    if (!holds) throw ParameterError("params.pack_primes", had, needs, "choose another");
  };
  need(p.log_n >= 10 && p.log_n <= 17, "N = 2^" + std::to_string(p.log_n), "N = 2^10 .. 2^17");
  need(p.word_bits >= 28 && p.word_bits <= 31, "word size " + std::to_string(p.word_bits),
       "28 to 31 bits");
  need(p.margin >= 0 && p.margin <= 1, "a margin of " + formatted("%g", p.margin) + " bits",
       "0 to 1 bit");
  need(!p.level_log_scale.empty() && p.level_log_scale.size() + p.raised.size() <= kMaxLevels,
       std::to_string(p.level_log_scale.size()) + " scales",
       "a scale for every level, at most " + std::to_string(kMaxLevels) + " levels");
  need(p.alpha >= 1 && p.alpha <= 40, "alpha = " + std::to_string(p.alpha), "1 to 40");
  need(p.most_terminals >= 1 && p.most_terminals <= kMaxPool,
       std::to_string(p.most_terminals) + " terminals of a level",
       "1 to " + std::to_string(kMaxPool));
  for (const double s : p.level_log_scale) {
    need(s >= 10 && s <= 120, "a scale of 2^" + std::to_string(s), "2^10 .. 2^120");
  }
  for (const PackedStep& s : p.raised) {
    need(s.bits >= 10 && s.bits <= 120 && s.tolerance > 0 && s.tolerance <= 1,
         "a bootstrapping level of " + std::to_string(s.bits) + " bits",
         "10 to 120 bits, within at most one bit");
  }
  need(p.base_bits >= p.level_log_scale[0] && p.base_bits <= 240,
       "a base of " + std::to_string(p.base_bits) + " bits", "the scale of level 0 to 240 bits");
  word = log2_fixed(p.prime_bits());
  bound = static_cast<std::uint32_t>(std::exp2(p.prime_bits()));
  words = ntt_primes_below(p.log_n, bound, kMaxMains + p.alpha);
  need(static_cast<int>(words.size()) > p.alpha + 1,
       "N = 2^" + std::to_string(p.log_n) + " and words of " + formatted("%g", p.prime_bits()) +
           " bits",
       "primes for mains beside the auxiliary ones");
  aux.assign(words.begin(), words.begin() + p.alpha);
  words.erase(words.begin(), words.begin() + p.alpha);
  main_logs.push_back(0);
  for (const std::uint32_t q : words) main_logs.push_back(main_logs.back() + log2_fixed(q));
  // The highest user level's modulus if every scale meets its target.
  double bits = p.base_bits, most = bits;
  for (std::size_t l = 1; l < p.level_log_scale.size(); ++l) {
    bits += 2 * p.level_log_scale[l] - p.level_log_scale[l - 1];
    most = std::max(most, bits);
  }
  most_mains = std::min<int>(static_cast<int>(words.size()), mains_below(log2_fixed(most)) + 1);
  for (Log2 size = log2_fixed(p.log_n + 1.0); size < word; size += kGrid) {
    const auto found = ntt_primes_near(p.log_n, size, kGrid, 1, candidates);
    if (found.empty() || found[0] >= bound) continue;
    const auto end = words.begin() + most_mains;
    if (std::find(words.begin(), end, found[0]) != end) continue;
    if (std::find(aux.begin(), aux.end(), found[0]) != aux.end()) continue;
    candidates.push_back(found[0]);
  }
  std::sort(candidates.begin(), candidates.end());
  for (const std::uint32_t q : candidates) candidate_logs.push_back(log2_fixed(q));
}

Log2 Supply::log_of(std::uint32_t candidate) const {
  const auto at = std::lower_bound(candidates.begin(), candidates.end(), candidate);
  return candidate_logs[static_cast<std::size_t>(at - candidates.begin())];
}

int Supply::mains_below(Log2 x) const {
  const auto above = std::upper_bound(main_logs.begin(), main_logs.end(), x);
  return static_cast<int>(above - main_logs.begin()) - 1;
}

Log2 goal(const PackingPlan& plan, const Levels& below) {
  const std::size_t level = below.shape.size();
  if (level == 0) return log2_fixed(plan.base_bits);
  return below.log_q.back() + 2 * log2_fixed(plan.level_log_scale[level]) - below.scale.back();
}

std::optional<PackedLevel> choose(const Supply& supply, const Pool& pool, const Levels& below,
                                  Log2 x, Log2 tolerance) {
  const bool base = below.shape.empty();
  const PackedLevel last = base ? PackedLevel{} : below.shape.back();
  const int most_limbs = base && !supply.plan.raised.empty() ? 2 : 1000;
  std::optional<PackedLevel> best;
  std::tuple<int, Log2, std::uint32_t> least{most_limbs + 1, 0, 0};
  for (int m = std::min(supply.mains_below(x + tolerance), supply.most_mains); m >= 0; --m) {
    const Log2 rest = x - supply.main_logs[m];
    if (rest - tolerance > pool.choices().back().sum) break;
    const auto first =
        std::lower_bound(pool.choices().begin(), pool.choices().end(), rest - tolerance,
                         [](const Choice& c, Log2 s) { return c.sum < s; });
    for (auto c = first; c != pool.choices().end() && c->sum <= rest + tolerance; ++c) {
      const bool leaves =
          base ? m + c->count > 0 : m > last.mains || (c->set & ~last.terminals) != 0;
      if (!leaves) continue;
      if (!base && supply.main_logs[m] + c->sum < below.log_q.back() + kMinLog) continue;
      if (!base && !pool.divides({m, c->set}, last)) continue;
      const std::tuple rank{m + c->count, std::abs(c->sum - rest), c->set};
      if (rank < least) least = rank, best = PackedLevel{m, c->set};
    }
  }
  return best;
}

Levels walk(const Supply& supply, const Pool& pool, Levels from) {
  while (from.shape.size() < supply.plan.level_log_scale.size()) {
    const Log2 x = goal(supply.plan, from);
    const auto shape = choose(supply, pool, from, x, kTolerance);
    if (!shape) break;
    const Log2 log_q = supply.main_logs[shape->mains] + pool.sum(shape->terminals);
    const Log2 scale = from.shape.empty() ? log2_fixed(supply.plan.level_log_scale[0])
                                          : (from.scale.back() + log_q - from.log_q.back()) / 2;
    from.shape.push_back(*shape);
    from.log_q.push_back(log_q);
    from.scale.push_back(scale);
    from.limbs += shape->mains + std::popcount(shape->terminals);
  }
  return from;
}

Found search(const Supply& supply, Layout layout, std::size_t enough) {
  const std::size_t all = supply.plan.level_log_scale.size();
  const Pool none(layout, supply.plan.most_terminals);
  Extension extension(supply, layout);
  std::vector<Draft> beam = {extension.drafted(none)};
  Found found{{}, {none, {}}};
  std::size_t most_served = 0;
  int idle = 0;  // rounds in which no more levels were served
  for (int round = 0; !beam.empty() && found.complete.size() < kMaxPools; ++round) {
    for (const Draft& draft : beam) {
      Candidate candidate{draft.pool, walk(supply, draft.pool, {})};
      const std::size_t reached = candidate.levels.shape.size();
      if (reached > found.furthest.levels.shape.size()) found.furthest = candidate;
      if (reached == all) found.complete.push_back(std::move(candidate));
    }
    if (found.furthest.levels.shape.size() >= enough) break;
    const std::size_t served = beam.front().served.count();
    idle = served > most_served ? 0 : idle + 1;
    most_served = std::max(most_served, served);
    if (round == kMaxPool || (idle == kMaxIdle && found.complete.empty())) break;
    std::vector<Step> next;
    for (const Draft& draft : beam) extension.extend(draft, next);
    std::sort(next.begin(), next.end(), [](const Step& a, const Step& b) {
      return std::tie(a.rank, a.primes) < std::tie(b.rank, b.primes);
    });
    // Several orders of adding terminals lead to the same set.
    std::set<Pool::Lists> seen;
    std::vector<Draft> kept;
    for (const Step& step : next) {
      if (!seen.insert(step.lists()).second) continue;
      kept.push_back({step.pool(), step.served});
      if (static_cast<int>(kept.size()) == kBeam) break;
    }
    beam = std::move(kept);
  }
  std::sort(found.complete.begin(), found.complete.end(), better);
  if (found.complete.size() > kMaxPools)
    found.complete.erase(found.complete.begin() + kMaxPools, found.complete.end());
  return found;
}

}  // namespace latticino::packing
