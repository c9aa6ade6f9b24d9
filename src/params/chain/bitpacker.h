// BitPacker selection (paper: BitPacker, Sec. 3.3 and Listing 7): full words wherever possible, and
// at most a few smaller primes, the terminals, so that every level may have a scale of its own.
//
// In the paper every level has terminals of its own. Here all levels choose from one short pool,
// because keys are made for the product of all primes: a prime that only some levels use would cost
// security at every level. Pools of 3 to 8 terminals serve any schedule, since their subsets have
// many different products.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "math/errors.h"

namespace latticino {

// A bootstrapping level above the user levels: log2 of its rescale factor, and how far from it the
// packed one may be. Equal steps within 0.05 bit are equal within 0.1 bit of each other.
struct PackedStep {
  double bits = 0;
  double tolerance = 0.05;
  // CoeffToSlot levels take terminals in again, so that the top level has every prime. They may
  // have more terminals than others, and their factor may be larger by up to four bits.
  bool pulls = false;
};

struct PackingPlan {
  int log_n = 16;
  int word_bits = 28;                   // primes below 2^word_bits, 28..31; mains are the largest
  double base_bits = 0;                 // log2 of Q_0
  std::vector<double> level_log_scale;  // log2 of the canonical scale that is wanted at level l
  // The number of auxiliary primes. A set that bootstraps needs as many as its base has primes:
  // two.
  int alpha = 12;
  // Raised levels, in increasing order; empty: no bootstrapping.
  std::vector<PackedStep> raised = {};
  int most_terminals = 4;  // the most terminals of one level
  // Prefix: every level has the first terminals of the list, so that it is one run of primes.
  // Sides: of two lists, one before the mains and one behind them, so that it is at most two runs.
  // Free: any subset; chain/arrange.h finds an order in which that is a few runs. Either: the first
  // of these in which a chain is found. Lists: a prefix, or sides.
  enum class Terminals { Either, Prefix, Sides, Free, Lists } terminals = Terminals::Either;
  // At most 1: every prime is below 2^(word_bits - margin). Sums of base conversion have room for
  // 16 primes of 31 bits on average, which is too few for twelve auxiliary primes and those that a
  // level divides by. With primes a quarter of a bit smaller there is room for 22.
  double margin = 0;
  bool advises = true;  // a refusal names what can be met, and takes several searches to find it
  double prime_bits() const { return word_bits - margin; }
};

struct PackedLevel {
  int mains = 0;
  std::uint32_t terminals = 0;  // bit i: the level has terminal i
};

struct PackedChain {
  std::vector<std::uint32_t> terminals, mains, aux;
  std::vector<PackedLevel> levels;  // first the user levels, then the raised ones
  // Prefix: 0. Sides: bit i says that terminal i belongs to the list behind the mains. Every level
  // has the first terminals of both lists. Free: not set.
  std::optional<std::uint32_t> outer;
};

// Why a plan cannot be packed.
class PackingRefusal : public ParameterError {
 public:
  PackingRefusal(int level, std::vector<double> nearest, const std::string& had,
                 const std::string& needs, const std::string& remedy)
      : ParameterError("params.pack_primes", had, needs, remedy),
        level_(level),
        nearest_(std::move(nearest)) {}
  int level() const { return level_; }  // the first level that cannot be met
  // What it can be met with: log2 of its scale, of Q_0 at level 0, or of its factor if it is a
  // level of bootstrapping.
  const std::vector<double>& nearest() const { return nearest_; }

 private:
  int level_;
  std::vector<double> nearest_;
};

// Every log2 Q_l of a user level is within 0.5 bit of what puts S_l on its target, given the actual
// S_(l-1): scales end within 0.25 bit (S_l^2 = S_(l-1) Q_l / Q_(l-1)). Throws PackingRefusal, or
// ParameterError where a field of the plan is out of range.
PackedChain pack_primes(const PackingPlan& plan);

}  // namespace latticino
