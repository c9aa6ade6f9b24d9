// The search behind `bench bitpacker --part chains`.
#include "bitpacker/bitpacker_sets.h"

#include <gtest/gtest.h>

#include "params/bounds/security.h"

namespace latticino {
namespace {

using bench::Chain;
using bench::ChainSize;
using bench::deepest;

// With primes of full words alone, packed chains leave fewer levels. In words of 31 bits at 2^50
// they leave six: sums of base conversion would exceed 64 bits with more primes. In words of 28
// bits at 2^55 they leave four. A level there needs two primes of 27.5 bits. A prime of 28 bits and
// a terminal of 27 bits make a level too, but there are few such terminals.
TEST(DeepestChains, PackedOnesLeaveAsManyLevelsAsPairsOfPrimes) {
  struct Case {
    ChainSize size;
    int pairs, packed;
  };
  for (const Case& x : {Case{{16, 31, 50}, 9, 10}, Case{{16, 28, 55}, 9, 9}}) {
    SCOPED_TRACE(std::to_string(x.size.word) + " bits");
    const auto pairs = deepest(Chain::Whole, x.size), packed = deepest(Chain::Packed, x.size);
    EXPECT_EQ(pairs->level_after_bootstrap(), x.pairs);
    EXPECT_EQ(packed->level_after_bootstrap(), x.packed);
    EXPECT_EQ(packed->dnum(), 4);
    EXPECT_LE(packed->log_pq(), max_log_pq_128(16));
  }
}

}  // namespace
}  // namespace latticino
