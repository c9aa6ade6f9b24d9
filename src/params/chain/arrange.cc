#include "params/chain/arrange.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <tuple>
#include <utility>

namespace latticino {
namespace {

constexpr int kSearchRounds = 4;   // rounds of the search
constexpr int kOneConversion = 3;  // the number of runs that a GPU converts in one pass
constexpr int kHalf = 6;           // terminals of one table look-up
constexpr std::uint32_t kLookUp = (1u << kHalf) - 1;

// The ring's order as a line of bits: terminals on the left, three bits for the mains, terminals on
// the right, one bit for the auxiliary primes. The three bits for the mains stand for the first
// one, those between, and the very last one: a level without the last one is not next to the
// terminals on the right.
constexpr std::uint32_t kFirst = 1, kBetween = 2, kLast = 4, kMains = 3;

// Sets of primes that operations handle together.
struct Set {
  std::uint32_t terminals = 0, mains = 0;
  bool aux = false;
  int beside = 0;       // additional runs of a level without a digit that lies among its mains
  bool source = false;  // whether a conversion reads it
  auto operator<=>(const Set&) const = default;
};

struct Arrangement {
  std::vector<int> order;  // terminals in order from left to right
  int left = 0;            // how many of them come before the mains
};

struct Score {
  int most = 0, sum = 0;  // number of runs
  auto operator<=>(const Score&) const = default;
};

std::uint32_t mains_between(int from, int to, int all) {
  if (to <= from) return 0;
  return (from == 0 ? kFirst : 0) | kBetween | (to == all ? kLast : 0);
}

std::vector<Set> sets_of(const PackedChain& chain) {
  const int all = static_cast<int>(chain.mains.size()), alpha = static_cast<int>(chain.aux.size());
  const int levels = static_cast<int>(chain.levels.size());
  std::set<Set> out;
  PackedLevel key;
  for (int l = 0; l < levels; ++l) {
    const PackedLevel& x = chain.levels[l];
    const int limbs = x.mains + std::popcount(x.terminals);
    const std::uint32_t mains = mains_between(0, x.mains, all);
    out.insert({x.terminals, mains, true, limbs > 2 * alpha ? 1 : 0, false});
    out.insert({x.terminals, limbs > alpha ? mains & ~kLast : mains, false, 0, true});
    key.terminals |= x.terminals;
    key.mains = std::max(key.mains, x.mains);
    out.insert({key.terminals, mains_between(0, key.mains, all), true, 0, false});
    for (int b = 0; b < l; ++b) {
      const PackedLevel& y = chain.levels[b];
      const Set leaving{x.terminals & ~y.terminals, mains_between(y.mains, x.mains, all), false, 0,
                        true};
      out.insert(leaving);
      out.insert(
          {y.terminals & ~x.terminals, mains_between(x.mains, y.mains, all), false, 0, false});
      if (b + 1 < l) continue;
      out.insert({leaving.terminals, leaving.mains, true, 0, true});
      out.insert({x.terminals & y.terminals, mains_between(0, std::min(x.mains, y.mains), all),
                  false, 0, false});
    }
  }
  return {out.begin(), out.end()};
}

class Search {
 public:
  explicit Search(const PackedChain& chain)
      : count_(static_cast<int>(chain.terminals.size())), sets_(sets_of(chain)) {}

  Arrangement best() {
    Arrangement start;
    for (int t = 0; t < count_; ++t) start.order.push_back(t);
    start.left = count_;
    std::pair<Score, Arrangement> best = climbed(start);
    for (int i = 1; i < kSearchRounds; ++i) {
      shuffle(start);
      const std::pair<Score, Arrangement> other = climbed(start);
      if (other.first < best.first) best = other;
    }
    return best.second;
  }

 private:
  std::uint32_t next() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(random_ >> 33);
  }
  void shuffle(Arrangement& x) {
    for (int i = count_ - 1; i > 0; --i) std::swap(x.order[i], x.order[next() % (i + 1)]);
    x.left = static_cast<int>(next() % (count_ + 1));
  }

  // Moves one terminal at a time, and the mains, as long as that helps.
  std::pair<Score, Arrangement> climbed(Arrangement at) const {
    Score reached = score(at);
    for (bool better = true; better;) {
      better = false;
      const Arrangement from = at;
      for (int x = 0; x < count_; ++x) {
        for (int y = 0; y < count_; ++y) {
          Arrangement moved = from;
          moved.order.erase(moved.order.begin() + x);
          moved.order.insert(moved.order.begin() + y, from.order[x]);
          for (moved.left = 0; moved.left <= count_; ++moved.left) {
            const Score other = score(moved);
            if (other < reached) reached = other, at = moved, better = true;
          }
        }
      }
    }
    return {reached, at};
  }

  Score score(const Arrangement& x) const {
    std::array<std::uint32_t, kLookUp + 1> low{}, high{};  // maps terminals to bits of the line
    for (int place = 0; place < count_; ++place) {
      const std::uint32_t bit = std::uint32_t{1} << (place < x.left ? place : place + kMains);
      const int t = x.order[place];
      auto& table = t < kHalf ? low : high;
      for (std::uint32_t set = 0; set <= kLookUp; ++set) {
        if ((set >> t % kHalf & 1) != 0) table[set] |= bit;
      }
    }
    Score out;
    for (const Set& s : sets_) {
      std::uint32_t line = low[s.terminals & kLookUp] | high[s.terminals >> kHalf & kLookUp];
      line |= s.mains << x.left;
      if (s.aux) line |= std::uint32_t{1} << (count_ + kMains);
      const int runs = std::popcount(line & ~(line << 1));
      out.most = std::max(out.most, runs + s.beside);
      out.sum += runs + (s.source ? 4 * std::max(0, runs - kOneConversion) : 0);
    }
    return out;
  }

  int count_;
  std::vector<Set> sets_;
  std::uint64_t random_ = 1;
};

// The lists in the order of PackedChain::outer, or in that of an arrangement.
std::pair<std::vector<int>, std::vector<int>> lists_of(const PackedChain& chain) {
  std::pair<std::vector<int>, std::vector<int>> out;
  if (chain.outer) {
    for (int t = 0; t < static_cast<int>(chain.terminals.size()); ++t) {
      ((*chain.outer >> t & 1) != 0 ? out.second : out.first).push_back(t);
    }
    return out;
  }
  const Arrangement best = Search(chain).best();
  const auto middle = best.order.begin() + best.left;
  out.first.assign(std::make_reverse_iterator(middle), best.order.rend());
  out.second.assign(best.order.rbegin(), std::make_reverse_iterator(middle));
  return out;
}

// How many terminals of a list a level has, and which, where they are not the first ones.
std::pair<std::uint16_t, std::uint16_t> chosen(const std::vector<int>& list,
                                               std::uint32_t terminals) {
  std::uint32_t set = 0;
  for (std::size_t i = 0; i < list.size(); ++i) set |= (terminals >> list[i] & 1) << i;
  const bool first = (set & (set + 1)) == 0;
  return {static_cast<std::uint16_t>(std::popcount(set)),
          static_cast<std::uint16_t>(first ? 0 : set)};
}

}  // namespace

ParamsLiteral arranged(const PackedChain& chain) {
  if (chain.mains.empty()) {
    PackedChain other = chain;
    other.mains = {chain.terminals.front()};
    other.terminals.erase(other.terminals.begin());
    if (other.outer) *other.outer >>= 1;
    for (PackedLevel& level : other.levels) {
      level.mains = static_cast<int>(level.terminals & 1);
      level.terminals >>= 1;
    }
    return arranged(other);
  }
  const auto [inner, outer] = lists_of(chain);
  ParamsLiteral out;
  out.mains = chain.mains;
  out.aux = chain.aux;
  out.alpha = static_cast<int>(chain.aux.size());
  for (const int t : inner) out.terminals.push_back(chain.terminals[t]);
  for (const int t : outer) out.outer.push_back(chain.terminals[t]);
  for (const PackedLevel& level : chain.levels) {
    LevelShape& s = out.levels.emplace_back();
    s.mains = static_cast<std::uint16_t>(level.mains);
    std::tie(s.terminals, s.chosen) = chosen(inner, level.terminals);
    std::tie(s.outer, s.chosen_outer) = chosen(outer, level.terminals);
  }
  return out;
}

}  // namespace latticino
