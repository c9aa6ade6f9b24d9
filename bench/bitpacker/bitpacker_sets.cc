#include "bitpacker/bitpacker_sets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "math/errors.h"
#include "params/chain/bitpacker.h"
#include "params/chain/prime_chain.h"

namespace latticino::bench {
namespace {

constexpr int kDigits = 4;
constexpr int kStcLevels = 3, kEvalModLevels = 8, kCtsLevels = 4;
constexpr double kShort = 0.6;  // bits that two words may be short of twice their size
constexpr double kMostEvalMod = 60;
constexpr double kMostBase = 59;
constexpr double kCtsBits = 52;
constexpr int kBases = 7;
constexpr double kLeastPair = 40;  // the least product of two primes at N = 2^16, about
constexpr double kGap = 0.7;       // from the scale times the message ratio to the base

double evalmod_bits(const ChainSize& size) {
  return std::min(kMostEvalMod, 2.0 * size.word - kShort);
}

// At most that of the presets, 2^7 at small scales and 2^6 at large ones.
int log_message_ratio(const ChainSize& size, double base) {
  const int most = size.log_scale <= 37 ? 7 : 6;
  return std::min(most, static_cast<int>(std::floor(base - size.log_scale)));
}

double most_base(const ChainSize& size) {
  return std::min({kMostBase, 2.0 * size.word - kShort, 121 - 2.0 * size.word});
}

double base_bits(const ChainSize& size) {
  const int ratio = size.log_scale <= 37 ? 7 : 6;
  return std::min(most_base(size), std::max(kLeastPair, size.log_scale + ratio + kGap));
}

double log2_of(const std::vector<std::uint32_t>& primes) {
  double sum = 0;
  for (const std::uint32_t q : primes) sum += std::log2(q);
  return sum;
}

ParamsLiteral literal_of(PackedChain chain) {
  ParamsLiteral x;
  const std::uint32_t outer = chain.outer.value();
  for (std::size_t i = 0; i < chain.terminals.size(); ++i) {
    (((outer >> i) & 1) != 0 ? x.outer : x.terminals).push_back(chain.terminals[i]);
  }
  for (const PackedLevel& level : chain.levels) {
    x.levels.push_back({static_cast<std::uint16_t>(level.mains),
                        static_cast<std::uint16_t>(std::popcount(level.terminals & ~outer)),
                        static_cast<std::uint16_t>(std::popcount(level.terminals & outer))});
  }
  x.mains = std::move(chain.mains);
  x.aux = std::move(chain.aux);
  return x;
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
  int user = 1;  // above level 0
  bool bootstraps = false;
  double base = 0;
};

ParamsLiteral packed(const ChainSize& size, const Levels& levels, int alpha) {
  PackingPlan plan;
  plan.log_n = size.log_n;
  plan.word_bits = size.word;
  plan.base_bits = levels.base;
  plan.level_log_scale.assign(levels.user + 1, size.log_scale);
  plan.alpha = alpha;
  plan.terminals = PackingPlan::Terminals::Lists;
  plan.most_terminals = 5;
  if (levels.bootstraps) {
    plan.raised.assign(kEvalModLevels, {evalmod_bits(size)});
    plan.raised.insert(plan.raised.end(), kCtsLevels, {kCtsBits, 0.5, true});
  }
  return literal_of(pack_primes(plan));
}

ParamsLiteral whole(const ChainSize& size, const Levels& levels, int alpha) {
  ChainPlan plan;
  plan.log_n = size.log_n;
  const int base = static_cast<int>(std::ceil(levels.base / size.word));
  const int each = primes_of_level(size);
  for (int l = 0; l <= levels.user; ++l) {
    plan.shapes.push_back({static_cast<std::uint16_t>(base + l * each), 0});
  }
  plan.steps.assign(levels.user, size.log_scale);
  plan.base_main_bits = levels.base;
  plan.alpha = alpha;
  plan.aux_bound = plan.main_bound = std::uint32_t{1} << size.word;
  for (int l = 1; levels.bootstraps && l <= kEvalModLevels + kCtsLevels; ++l) {
    const LevelShape top = plan.shapes.back();
    plan.raised.push_back({{static_cast<std::uint16_t>(top.mains + 2 * l), 0},
                           l <= kEvalModLevels ? evalmod_bits(size) : kCtsBits});
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
  x.log_scale = size.log_scale;
  x.level_log_scale.assign(levels.user + 1, size.log_scale);
  x.level_log_scale.resize(x.levels.size(), evalmod_bits(size));
  return x;
}

std::shared_ptr<const Params> bootstrapping(Chain chain, ChainSize size, int left) {
  Levels levels{left + kStcLevels, true, base_bits(size)};
  // A packed chain is found where its primes allow: other bases and scales near may pack as well.
  const int tries = chain == Chain::Packed ? 2 * kBases : 1;
  const double base = levels.base, scale = size.log_scale;
  for (int i = 0;; ++i) {
    levels.base = std::min(base + i / 2, most_base(size));
    size.log_scale = scale - 0.1 * (i % 2);
    try {
      const ParamsLiteral first = chain_of(chain, size, levels, 1);
      const int primes =
          static_cast<int>(first.mains.size() + first.terminals.size() + first.outer.size());
      ParamsLiteral x = chain_of(chain, size, levels, (primes + kDigits - 1) / kDigits);
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
    } catch (const ParameterError&) {
      if (i + 1 == tries) throw;
    }
  }
}

}  // namespace

int primes_of_level(const ChainSize& size) {
  return static_cast<int>(std::ceil(size.log_scale / size.word));
}

std::shared_ptr<const Params> deepest(Chain chain, const ChainSize& size) {
  // Of Q, where P is a quarter of it.
  const double q = 1747.0 * kDigits / (kDigits + 1);
  const double user =
      q - base_bits(size) - kEvalModLevels * evalmod_bits(size) - kCtsLevels * kCtsBits;
  const int most = static_cast<int>(user / size.log_scale) - kStcLevels + 1;
  for (int left = most;; --left) {
    try {
      return bootstrapping(chain, size, left);
    } catch (const ParameterError&) {
      if (left <= 1) throw;
    }
  }
}

std::shared_ptr<const Params> two_levels(Chain chain, const ChainSize& size) {
  // Room for a message of size 2 above the square of the scale.
  Levels levels{1, false, size.log_scale + 8};
  for (int i = 0;; ++i) {
    try {
      return Params::check(chain_of(chain, size, levels, 3));
    } catch (const ParameterError&) {
      if (i == 12) throw;
      levels.base += 0.5;
    }
  }
}

}  // namespace latticino::bench
