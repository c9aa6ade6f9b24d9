#include "params/chain/bitpacker.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "math/errors.h"
#include "math/primes.h"

namespace latticino {
namespace {

constexpr int kMaxTerminals = 10;
constexpr std::size_t kLookahead = 8;  // levels a new terminal may be chosen for
const Log2 kTolerance = log2_fixed(0.5);

// Depth-first over levels; a state is the list of terminals so far and the levels' shapes.
class Packer {
 public:
  explicit Packer(const PackingPlan& plan) : plan_(plan) {
    if (plan.word_bits < 28 || plan.word_bits > 31 || plan.level_log_scale.empty()) {
      throw ParameterError("params.pack_primes", "word size " + std::to_string(plan.word_bits),
                           "28 to 31 bits and a scale for every level", "choose another");
    }
    const std::uint32_t bound = std::uint32_t{1} << plan.word_bits;
    full_words_ = ntt_primes_below(plan.log_n, bound, 160);
    if (static_cast<int>(full_words_.size()) <= plan.alpha) fail();
    aux_.assign(full_words_.begin(), full_words_.begin() + plan.alpha);
    full_words_.erase(full_words_.begin(), full_words_.begin() + plan.alpha);
    main_logs_.push_back(0);
    for (const std::uint32_t q : full_words_)
      main_logs_.push_back(main_logs_.back() + log2_fixed(q));
  }

  PrimeChain pack() {
    for (int budget = 0; budget <= kMaxTerminals; ++budget) {
      if (!extend(0, budget)) continue;
      std::size_t mains = 0, terminals = 0;
      for (const LevelShape& s : shapes_) {
        mains = std::max<std::size_t>(mains, s.mains);
        terminals = std::max<std::size_t>(terminals, s.terminals);
      }
      full_words_.resize(mains);
      terminals_.resize(terminals);
      return {terminals_, full_words_, aux_, shapes_};
    }
    fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw ParameterError("params.pack_primes",
                         "no packing into words of " + std::to_string(plan_.word_bits) + " bits",
                         "primes for every level within 0.5 bit",
                         "choose other scales, a larger word or a smaller N");
  }

  Log2 terminal_log(std::size_t count) const {
    Log2 sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += log2_fixed(terminals_[i]);
    return sum;
  }

  Log2 modulus(LevelShape s) const { return main_logs_[s.mains] + terminal_log(s.terminals); }

  // log2 Q_level that puts the scale on its target, from the actual scale below.
  Log2 target(std::size_t level) const {
    if (level == 0) return log2_fixed(plan_.base_bits);
    Log2 scale = log2_fixed(plan_.level_log_scale[0]);  // S_l^2 = S_(l-1) Q_l / Q_(l-1)
    for (std::size_t l = 1; l < level; ++l) {
      scale = (scale + modulus(shapes_[l]) - modulus(shapes_[l - 1])) / 2;
    }
    return modulus(shapes_[level - 1]) + 2 * log2_fixed(plan_.level_log_scale[level]) - scale;
  }

  // The most mains whose product stays at or below 2^x; -1 for negative x.
  int mains_below(Log2 x) const {
    const auto above = std::upper_bound(main_logs_.begin(), main_logs_.end(), x);
    return static_cast<int>(above - main_logs_.begin()) - 1;
  }

  // The shape from primes at hand that is nearest to the target, if within tolerance.
  std::optional<LevelShape> reuse(Log2 goal) const {
    std::optional<LevelShape> best;
    Log2 best_error = kTolerance;
    for (std::size_t t = 0; t <= terminals_.size(); ++t) {
      const int below = mains_below(goal - terminal_log(t));
      for (const int m : {below, below + 1}) {
        if (m < 0 || m >= static_cast<int>(main_logs_.size()) || m + t == 0) continue;
        const LevelShape s{static_cast<std::uint16_t>(m), static_cast<std::uint16_t>(t)};
        const Log2 error = std::abs(modulus(s) - goal);
        if (error <= best_error) best = s, best_error = error;
      }
    }
    return best;
  }

  // Sizes of a next terminal that would put this level, or one of the following, on its target,
  // or halfway to it.
  std::vector<Log2> terminal_sizes(std::size_t level, Log2 goal) const {
    const Log2 word = log2_fixed(static_cast<double>(plan_.word_bits));
    const Log2 smallest = log2_fixed(plan_.log_n + 3.5);
    std::vector<Log2> sizes;
    const auto propose = [&](Log2 size) {
      const bool known = std::any_of(sizes.begin(), sizes.end(), [&](Log2 other) {
        return std::abs(other - size) < kTolerance / 2;
      });
      if (smallest <= size && size < word && !known) sizes.push_back(size);
    };
    const std::size_t end = std::min(level + kLookahead, plan_.level_log_scale.size());
    Log2 future = goal;
    for (std::size_t l = level; l < end; ++l) {
      if (l > level) {
        future +=
            2 * log2_fixed(plan_.level_log_scale[l]) - log2_fixed(plan_.level_log_scale[l - 1]);
      }
      const Log2 rest = future - terminal_log(terminals_.size());
      if (rest < 0) continue;
      const Log2 size = rest - main_logs_[mains_below(rest)];
      propose(size);
      if (l == level) propose((size + word) / 2);
    }
    return sizes;
  }

  // Finds shapes for this level and all above with at most `budget` further terminals.
  bool extend(std::size_t level, int budget) {
    if (level == plan_.level_log_scale.size()) return true;
    const Log2 goal = target(level);
    if (goal > main_logs_.back()) return false;
    if (const auto s = reuse(goal)) {
      shapes_.push_back(*s);
      if (extend(level + 1, budget)) return true;
      shapes_.pop_back();
      return false;
    }
    if (budget == 0) return false;
    std::vector<std::uint32_t> used = terminals_;
    used.insert(used.end(), aux_.begin(), aux_.end());
    used.insert(used.end(), full_words_.begin(), full_words_.end());
    for (const Log2 size : terminal_sizes(level, goal)) {
      const auto found = ntt_primes_near(plan_.log_n, size, kTolerance, 1, used);
      if (found.empty()) continue;
      terminals_.push_back(found[0]);
      if (extend(level, budget - 1)) return true;
      terminals_.pop_back();
    }
    return false;
  }

  const PackingPlan& plan_;
  std::vector<std::uint32_t> aux_, full_words_, terminals_;
  std::vector<Log2> main_logs_;  // [m]: log2 of the product of the first m full words
  std::vector<LevelShape> shapes_;
};

}  // namespace

PrimeChain pack_primes(const PackingPlan& plan) { return Packer(plan).pack(); }

}  // namespace latticino
