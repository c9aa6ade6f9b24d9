// Sets for bench_bitpacker: one scale in words of one size, packed or with primes of each level's
// own.
#pragma once

#include <memory>
#include <string>

#include "params/params.h"

namespace latticino::bench {

// Packed: as BitPacker. Whole: a level has primes of its own of equal size, as many as its scale
// has words: one, two and so on.
enum class Chain { Packed, Whole };

struct ChainSize {
  int log_n = 16, word = 28;
  double log_scale = 35;
};

// The deepest set of 128 bits with bootstrapping and four digits. Throws ParameterError if no
// level is left, or the ring lacks primes.
std::shared_ptr<const Params> deepest(Chain chain, const ChainSize& size);

// Two levels of one scale, for the errors of a division. The set is insecure.
std::shared_ptr<const Params> two_levels(Chain chain, const ChainSize& size);

// The number of primes that a level of a whole chain has.
int primes_of_level(const ChainSize& size);

}  // namespace latticino::bench
