#include "bitpacker/bitpacker_sets.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "math/errors.h"
#include "params/chain/arrange.h"
#include "params/chain/bitpacker.h"
#include "params/chain/prime_chain.h"

namespace latticino::bench {
namespace {

constexpr int kDigits = 4;
constexpr int kStcLevels = 3, kEvalModLevels = 8, kCtsLevels = 4;
constexpr double kShort = 0.6;  // bits that two words may be short of twice their size
constexpr double kMaxBase = 59;
constexpr double kMinPair = 40;     // the least product of two primes at N = 2^16, about
constexpr double kGap = 0.3;        // bits from the scale times the message ratio to the base
constexpr double kMaxLogPq = 1747;  // largest log2(P Q) for 128 bits at N = 2^16
// Bits by which the largest primes are smaller than a word on average.
constexpr double kNarrow = 0.05;

// The properties that a chain may vary. The primes of a ring allow some of these and not others.
constexpr double kEvalModBits[] = {60, 59.5, 59, 58, 57, 56, 55.4};
constexpr double kCtsBits[] = {52, 50};
constexpr double kLowerScales[] = {0, 0.1, 0.2};
constexpr double kBaseStep = 1, kMoreBase = 4;
constexpr double kMoreEvalMod = 4;  // a packed level may exchange terminals
// Bits by which all primes of a packed chain stay below the word. In words of 31 bits sums of base
// conversion have no room for as many full words as a deep chain converts at once. In smaller words
// smaller primes make P smaller. With the last margin a chain is one of the next smaller word.
constexpr double kMargins[] = {0, 0.25, 0.5, 1};

struct Sizes {
  double log_scale, base, evalmod, cts;
  double margin = 0;  // for packed chains, PackingPlan::margin
};

// At most that of the presets, 2^7 at small scales and 2^6 at large ones.
int log_message_ratio(const ChainSize& size, double base) {
  const int most = size.log_scale <= 37 ? 7 : 6;
  return std::min(most, static_cast<int>(std::floor(base - size.log_scale)));
}

double most_base(const ChainSize& size) {
  return std::min({kMaxBase, 2.0 * size.word - kShort, 121 - 2.0 * size.word});
}

double base_bits(const ChainSize& size) {
  const int ratio = size.log_scale <= 37 ? 7 : 6;
  return std::min(most_base(size), std::max(kMinPair, size.log_scale + ratio + kGap));
}

double log2_of(const std::vector<std::uint32_t>& primes) {
  double sum = 0;
  for (const std::uint32_t q : primes) sum += std::log2(q);
  return sum;
}

ParamsLiteral literal_of(PrimeChain chain) {
  ParamsLiteral x;
  x.terminals = std::move(chain.terminals);
  x.mains = std::move(chain.mains);
  x.aux = std::move(chain.aux);
  x.levels = std::move(chain.levels);
  return x;
}

// Levels at one scale above a base; then, with bootstrapping, those of EvalMod and CoeffToSlot.
struct Levels {
  int user = 1;  // number of levels above 0
  bool bootstraps = false;
  Sizes bits;
};

double log2_q(const Levels& levels) {
  const Sizes& x = levels.bits;
  const double raised = kEvalModLevels * x.evalmod + kCtsLevels * x.cts;
  return x.base + levels.user * x.log_scale + (levels.bootstraps ? raised : 0);
}

double prime_bits(const ChainSize& size, const Levels& levels) {
  return size.word - levels.bits.margin - kNarrow;
}

// Auxiliary primes, if every prime were as large as the largest ones.
int least_alpha(const ChainSize& size, const Levels& levels) {
  const int primes = static_cast<int>(std::ceil(log2_q(levels) / prime_bits(size, levels)));
  return (primes + kDigits - 1) / kDigits;
}

bool may_be_secure(const ChainSize& size, const Levels& levels) {
  return log2_q(levels) + least_alpha(size, levels) * prime_bits(size, levels) <= kMaxLogPq;
}

ParamsLiteral packed(const ChainSize& size, const Levels& levels, int alpha) {
  PackingPlan plan;
  plan.log_n = size.log_n;
  plan.word_bits = size.word;
  plan.base_bits = levels.bits.base;
  plan.level_log_scale.assign(levels.user + 1, levels.bits.log_scale);
  plan.alpha = alpha;
  plan.terminals = PackingPlan::Terminals::Lists;
  plan.most_terminals = 5;
  plan.margin = levels.bits.margin;
  plan.advises = false;
  if (levels.bootstraps) {
    plan.raised.assign(kEvalModLevels, {levels.bits.evalmod});
    plan.raised.insert(plan.raised.end(), kCtsLevels, {levels.bits.cts, 0.5, true});
  }
  return arranged(pack_primes(plan));
}

ParamsLiteral whole(const ChainSize& size, const Levels& levels, int alpha) {
  ChainPlan plan;
  plan.log_n = size.log_n;
  const int base = static_cast<int>(std::ceil(levels.bits.base / size.word));
  const int each = primes_of_level(size);
  for (int l = 0; l <= levels.user; ++l) {
    plan.shapes.push_back({static_cast<std::uint16_t>(base + l * each), 0});
  }
  plan.steps.assign(levels.user, levels.bits.log_scale);
  plan.base_main_bits = levels.bits.base;
  plan.alpha = alpha;
  plan.aux_bound = plan.main_bound = std::uint32_t{1} << size.word;
  for (int l = 1; levels.bootstraps && l <= kEvalModLevels + kCtsLevels; ++l) {
    const LevelShape top = plan.shapes.back();
    plan.raised.push_back({{static_cast<std::uint16_t>(top.mains + 2 * l), 0},
                           l <= kEvalModLevels ? levels.bits.evalmod : levels.bits.cts});
  }
  return literal_of(pick_primes(plan));
}

ParamsLiteral chain_of(Chain chain, const ChainSize& size, const Levels& levels, int alpha) {
  ParamsLiteral x =
      chain == Chain::Packed ? packed(size, levels, alpha) : whole(size, levels, alpha);
  x.name = "bench-insecure";
  x.security = ParamsLiteral::Security::Insecure;
  x.log_n = size.log_n;
  x.alpha = alpha;
  x.log_scale = levels.bits.log_scale;
  x.level_log_scale.assign(levels.user + 1, levels.bits.log_scale);
  x.level_log_scale.resize(x.levels.size(), levels.bits.evalmod);
  return x;
}

int digits_of_four(const ParamsLiteral& x) {
  const auto primes = static_cast<int>(x.mains.size() + x.terminals.size() + x.outer.size());
  return (primes + kDigits - 1) / kDigits;
}

// A digit has as many primes as are auxiliary. How many primes the chain needs depends on which
// ones the auxiliary primes leave for it, so the chain is made again until the numbers agree.
ParamsLiteral with_four_digits(Chain chain, const ChainSize& size, const Levels& levels) {
  int alpha = least_alpha(size, levels);
  for (;;) {
    ParamsLiteral x = chain_of(chain, size, levels, alpha);
    const int needed = digits_of_four(x);
    if (needed == alpha) return x;
    if (needed < alpha) {
      throw ParameterError("bench", "a chain with fewer primes beside more auxiliary ones",
                           "four digits", "take another base");
    }
    alpha = needed;
  }
}

std::shared_ptr<const Params> bootstrapping(Chain chain, const ChainSize& size,
                                            const Levels& levels) {
  ParamsLiteral x = with_four_digits(chain, size, levels);
  x.name = "bench";
  x.security = ParamsLiteral::Security::Bits128;
  x.bootstrap = BootstrapLiteral{};
  double base = 0;
  const LevelShape lowest = x.levels[0];
  base += log2_of({x.mains.begin(), x.mains.begin() + lowest.mains});
  base += log2_of({x.terminals.begin(), x.terminals.begin() + lowest.terminals});
  base += log2_of({x.outer.begin(), x.outer.begin() + lowest.outer});
  x.bootstrap->log_message_ratio = log_message_ratio(size, base);
  return Params::check(std::move(x));
}

// Chains with the largest EvalMod levels come first, because they keep the most precision. If a
// chain with primes of each level's own does not exist for a base and a scale, it does not exist
// for neighbouring values either.
void add_tries(Chain chain, const ChainSize& size, double margin, std::vector<Sizes>& out) {
  const double most_evalmod =
      2.0 * size.word - kShort + (chain == Chain::Packed ? kMoreEvalMod : 0);
  for (const double evalmod : kEvalModBits) {
    if (evalmod > most_evalmod) continue;
    for (const double cts : kCtsBits) {
      for (const double lower : kLowerScales) {
        double base = base_bits(size);
        do {
          out.push_back({size.log_scale - lower, base, evalmod, cts, margin});
          base += kBaseStep;
        } while (base <= std::min(most_base(size), base_bits(size) + kMoreBase) &&
                 chain == Chain::Packed);
        if (chain == Chain::Whole) break;
      }
    }
  }
}

// Full words come first, because they make the fewest limbs.
std::vector<Sizes> tries(Chain chain, const ChainSize& size) {
  std::vector<Sizes> out;
  for (const double margin : kMargins) {
    if (margin > 0 && chain == Chain::Whole) break;
    add_tries(chain, size, margin, out);
  }
  return out;
}

}  // namespace

int primes_of_level(const ChainSize& size) {
  return static_cast<int>(std::ceil(size.log_scale / size.word));
}

std::shared_ptr<const Params> deepest(Chain chain, const ChainSize& size) {
  const std::vector<Sizes> all = tries(chain, size);
  std::string why = "no room for a level within the bits of 128-bit security";
  for (int left = static_cast<int>(kMaxLogPq / size.log_scale); left >= 1; --left) {
    for (const Sizes& each : all) {
      const Levels levels{left + kStcLevels, true, each};
      if (!may_be_secure(size, levels)) continue;
      try {
        return bootstrapping(chain, size, levels);
      } catch (const ParameterError& error) {
        why = error.what();
      }
    }
  }
  throw ParameterError("bench", why, "a chain that leaves a level", "take another word or scale");
}

std::shared_ptr<const Params> two_levels(Chain chain, const ChainSize& size) {
  // Room for a message of size 2 above the square of the scale.
  Levels levels{1, false, {size.log_scale, size.log_scale + 8, size.log_scale, size.log_scale}};
  for (int i = 0;; ++i) {
    try {
      return Params::check(chain_of(chain, size, levels, 3));
    } catch (const ParameterError&) {
      if (i == 12) throw;
      levels.bits.base += 0.5;
    }
  }
}

}  // namespace latticino::bench
