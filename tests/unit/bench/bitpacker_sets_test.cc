// The search behind `bench bitpacker --part chains`.
#include "bitpacker/bitpacker_sets.h"

#include <gtest/gtest.h>

#include "params/bounds/security.h"

namespace latticino {
namespace {

using bench::Chain;
using bench::ChainSize;
using bench::deepest;

// Full words alone leave fewer: in words of 31 bits at 2^50 six levels, as sums of base conversion
// have no room for more of them; in words of 28 bits at 2^55 four, as two primes of 27.5 bits would
// be a level, and a word of 28 bits and a terminal of 27 are one only for a few levels.
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
