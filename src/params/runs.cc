// Checks that the primes of all levels, and the sets that operations form of them, are few enough
// runs of the ring's order. Bands need no check: they are for sets whose levels are one run each,
// and their extra primes are the neighbours of P.
#include <bitset>
#include <map>
#include <string>
#include <vector>

#include "math/errors.h"
#include "params/checks.h"

namespace latticino::params {
namespace {

using Primes = std::bitset<256>;  // positions in the ring's order; check_literal allows 250

int runs(const Primes& x) { return static_cast<int>((x & ~(x << 1)).count()); }

class Order {
 public:
  explicit Order(const ParamsLiteral& x)
      : x_(x),
        terminals_(static_cast<int>(x.terminals.size())),
        outer_(static_cast<int>(x.outer.size())),
        q_(terminals_ + static_cast<int>(x.mains.size()) + outer_) {
    for (const LevelShape& s : x.levels) level_.push_back(of(s));
    for (int i = 0; i < x.alpha; ++i) aux_.set(q_ + i);
  }

  void check() const {
    for (int l = 0; l < static_cast<int>(level_.size()); ++l) {
      const Primes extended = level_[l] | aux_;
      need(runs(extended), l, "with the auxiliary primes");
      check_digits(l, extended);
      if (l > 0) {
        need(runs((level_[l] & ~level_[l - 1]) | aux_), l, "that leave it");
        need(runs(level_[l] & level_[l - 1]), l, "that stay below it");
      }
      for (int below = 0; below < l; ++below) {
        const std::string to = "on the way to level " + std::to_string(below);
        need(runs(level_[l] & ~level_[below]), l, "that leave " + to);
        need(runs(level_[below] & ~level_[l]), l, "that enter " + to);
      }
    }
    Primes all;  // primes of a key
    for (int l = 0; l < static_cast<int>(level_.size()); ++l) {
      all |= level_[l];
      need(runs(all | aux_), l, "of a key up to it");
      for (int j = 0; j * x_.alpha < q_; ++j) {
        need(runs(all & digit(j)), l, "of digit " + std::to_string(j) + " of a key up to it");
      }
    }
  }

  // Sums of two digits of a key, for the levels that switch them as one.
  void check_sums(const Params& p) const {
    std::map<std::vector<int>, Primes> sums;
    for (int l = 0; l < static_cast<int>(level_.size()); ++l) {
      const std::vector<int>& group = p.digit_groups(l).front();
      if (group.size() < 2 || p.band(l) != 0) continue;
      Primes& sum = sums[group];
      sum |= level_[l];
      need(runs(sum | aux_), l, "of a sum of digits up to it");
    }
  }

 private:
  Primes of(const LevelShape& s) const {
    Primes out;
    for (int i = 0; i < terminals_; ++i) out[terminals_ - 1 - i] = s.has_terminal(i);
    for (int i = 0; i < s.mains; ++i) out.set(terminals_ + i);
    for (int i = 0; i < outer_; ++i) out[q_ - 1 - i] = s.has_outer(i);
    return out;
  }

  // Digits count from the outer terminals on (Params::digit).
  Primes digit(int j) const {
    Primes out;
    for (int k = j * x_.alpha; k < (j + 1) * x_.alpha && k < q_; ++k) {
      out.set(k < outer_ ? q_ - outer_ + k : k - outer_);
    }
    return out;
  }

  // ModUp of a digit, and of the first and the last one together.
  void check_digits(int l, const Primes& extended) const {
    Primes first, last;
    const auto both = [&](const Primes& digit, const std::string& what) {
      need(runs(extended & digit), l, "of " + what);
      need(runs(extended & ~digit), l, "beside " + what);
    };
    for (int j = 0; j * x_.alpha < q_; ++j) {
      const Primes d = digit(j) & level_[l];
      if (d.none()) continue;
      both(d, "digit " + std::to_string(j));
      if (first.none()) first = d;
      last = d;
    }
    both(first | last, "its first and last digit");
  }

  static void need(int runs, int level, const std::string& what) {
    if (runs <= Basis::kMaxRuns) return;
    throw ParameterError(
        "params.check",
        std::to_string(runs) + " runs of primes at level " + std::to_string(level) + ", of those " +
            what,
        "at most " + std::to_string(Basis::kMaxRuns) +
            " in the order: terminals reversed, mains, outer terminals reversed, auxiliary primes",
        "list terminals that levels have together side by side, or move some to the other list");
  }

  const ParamsLiteral& x_;
  int terminals_, outer_, q_;
  std::vector<Primes> level_;
  Primes aux_;
};

}  // namespace

void check_runs(const ParamsLiteral& x) { Order(x).check(); }

void check_runs_of_sums(const Params& p) { Order(p.literal()).check_sums(p); }

}  // namespace latticino::params
