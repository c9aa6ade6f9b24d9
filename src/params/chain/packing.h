// What the parts of pack_primes share. Internal to src/params/chain.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "math/primes.h"
#include "params/chain/bitpacker.h"

namespace latticino::packing {

// Bits by which log2 Q_l of a user level may differ.
inline const Log2 kTolerance = log2_fixed(0.5);
constexpr int kMaxPool = 12;  // the most terminals of a chain

// The primes of a plan, by decreasing size.
struct Supply {
  // Throws ParameterError for word sizes and alpha that are out of range.
  explicit Supply(const PackingPlan& plan);

  const PackingPlan& plan;
  Log2 word = 0;
  std::uint32_t bound = 0;  // the bound of every prime
  // The auxiliary primes, which are the largest, and the primes of word size below them.
  std::vector<std::uint32_t> aux, words;
  std::vector<Log2> main_logs;            // [m]: log2 of the product of the first m words
  int most_mains = 0;                     // of user levels; words after them may become terminals
  std::vector<std::uint32_t> candidates;  // for terminals, increasing
  std::vector<Log2> candidate_logs;

  // The most mains whose product stays at or below 2^x; -1 for negative x.
  int mains_below(Log2 x) const;
  Log2 log_of(std::uint32_t candidate) const;
};

// Whether a set has the first ones of a list of terminals, that is, none after one that it lacks.
inline bool first_ones(std::uint32_t set, std::uint32_t list) {
  const std::uint32_t lacking = list & ~set;
  return lacking == 0 || (set & list) <= (lacking & -lacking);
}

// One choice of terminals, with log2 of their product.
struct Choice {
  Log2 sum = 0;
  std::uint32_t set = 0;
  int count = 0;
};

// Which terminals a level may choose: the first ones of one list, the first ones of two lists, or
// any.
using Layout = PackingPlan::Terminals;

// A pool of terminals, and which of them a level may choose: at most `most`, the first ones of one
// list or of two lists, or any (`Layout`).
class Pool {
 public:
  Pool(Layout layout, int most) : layout_(layout), most_(most) {}
  void add(std::uint32_t q, bool outer = false);  // outer: to the second list
  // The choices to which `room` terminals may be added: bit 0 of `lists`, to the first list, bit 1,
  // to the second.
  std::vector<Choice> open(int lists, int room) const;
  bool has(std::uint32_t q) const;
  bool allows(std::uint32_t set) const;
  // Whether one division takes a level to another. In lists the primes that leave, with the
  // auxiliary ones, are at most three runs, from which a GPU converts in one pass.
  bool divides(const PackedLevel& from, const PackedLevel& to) const;
  Log2 sum(std::uint32_t set) const;
  Layout layout() const { return layout_; }
  std::uint32_t outer() const { return outer_; }  // bit i: terminal i belongs to the second list

  // Both lists, the same for pools that allow the same choices.
  using Lists = std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;
  static Lists lists(Layout layout, const std::vector<std::uint32_t>& primes, std::uint32_t outer);
  const std::vector<std::uint32_t>& primes() const { return primes_; }
  int size() const { return static_cast<int>(primes_.size()); }
  const std::vector<Choice>& choices() const { return choices_; }  // by increasing product

 private:
  std::uint32_t all() const { return (std::uint32_t{1} << primes_.size()) - 1; }
  Layout layout_;
  int most_;
  std::uint32_t outer_ = 0;
  std::vector<std::uint32_t> primes_;
  std::vector<Log2> logs_;
  std::vector<Choice> choices_ = {Choice{}};
};

// The user levels that a pool can serve, from the base up to the first one that it cannot serve.
struct Levels {
  std::vector<PackedLevel> shape;
  std::vector<Log2> log_q, scale;
  int limbs = 0;  // limbs of all levels together
};

struct Candidate {
  Pool pool;
  Levels levels;
};

// How many pairs of choices a search of raised levels may still compare. The limit makes sure that
// every answer comes within a second.
struct Work {
  std::int64_t left = 1'200'000;
};

// The log2 Q of the next level for which its scale is exactly its target.
Log2 goal(const PackingPlan& plan, const Levels& below);
// The choice with the fewest limbs within `tolerance` of log2 Q = x; among equals the nearest.
std::optional<PackedLevel> choose(const Supply& supply, const Pool& pool, const Levels& below,
                                  Log2 x, Log2 tolerance);
// Adds levels to those of `from` as long as the pool serves them.
Levels walk(const Supply& supply, const Pool& pool, Levels from);

// Candidates that serve all user levels, the smallest pools first. If there is none, `furthest` is
// the one that serves the most levels.
struct Found {
  std::vector<Candidate> complete;
  Candidate furthest;
};
// The search ends when `furthest` has `enough` levels.
Found search(const Supply& supply, Layout layout, std::size_t enough = SIZE_MAX);

// The raised levels above the user levels: their shapes, with all terminals at the top, their
// mains, and terminals that the pool does not have. If a step is impossible there are none, and
// `stuck` becomes its index.
struct RaisedLevels {
  std::vector<PackedLevel> shape;
  std::vector<std::uint32_t> mains, terminals;
  std::uint32_t outer = 0;  // the lists of all terminals, as Pool::outer()
};
std::optional<RaisedLevels> raise(const Supply& supply, const Candidate& user, Work& work,
                                  int& stuck);

// The chain without primes that no level has: a pool may have a terminal that all levels do
// without.
PackedChain with_used_primes(PackedChain chain);

[[noreturn]] void refuse_level(const Supply& supply, const Levels& below, Layout layout);
[[noreturn]] void refuse_step(const Supply& supply, const Candidate& user, int step);

}  // namespace latticino::packing
