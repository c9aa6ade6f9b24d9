#include <cmath>

#include "gtest/gtest.h"
#include "math/errors.h"
#include "params/chain/prime_chain.h"

namespace latticino {
namespace {

using Shapes = std::vector<LevelShape>;

// The cycles of the 25-30 system (paper: Cheddar, Sec. 3).
TEST(RescalingCycle, Of25And30BitPrimes) {
  EXPECT_EQ(rescaling_cycle({0, 2}, 40, 6),
            (Shapes{{0, 2}, {3, 0}, {1, 4}, {4, 2}, {7, 0}, {5, 4}, {8, 2}}));
  EXPECT_EQ(rescaling_cycle({0, 2}, 35, 6),
            (Shapes{{0, 2}, {2, 1}, {4, 0}, {1, 5}, {3, 4}, {5, 3}, {7, 2}}));
  EXPECT_EQ(rescaling_cycle({2, 0}, 45, 3), (Shapes{{2, 0}, {1, 3}, {5, 0}, {4, 3}}));
  EXPECT_EQ(rescaling_cycle({2, 0}, 50, 3), (Shapes{{2, 0}, {2, 2}, {2, 4}, {7, 0}}));
  EXPECT_EQ(rescaling_cycle({2, 0}, 30, 2), (Shapes{{2, 0}, {3, 0}, {4, 0}}));
  EXPECT_EQ(rescaling_cycle({2, 0}, 48, 2, {24, 0}), (Shapes{{2, 0}, {4, 0}, {6, 0}}));
  EXPECT_THROW(rescaling_cycle({2, 0}, 41, 3), ParameterError);
}

double log2_product(const std::vector<std::uint32_t>& primes, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += std::log2(primes[i]);
  return sum;
}

TEST(PrimeChain, CumulativeTargetsKeepErrorsFromAddingUp) {
  ChainPlan plan;
  plan.log_n = 12;
  plan.shapes = rescaling_cycle({0, 2}, 40, 12);
  plan.steps.assign(12, 40);
  const PrimeChain chain = pick_primes(plan);
  for (int l = 0; l <= 12; ++l) {
    const LevelShape s = chain.levels[l];
    EXPECT_NEAR(log2_product(chain.mains, s.mains) + log2_product(chain.terminals, s.terminals),
                50 + 40 * l, 0.02)
        << l;
  }
}

TEST(PrimeChain, SaysWhenPrimesRunOut) {
  ChainPlan plan;
  plan.log_n = 16;  // one NTT prime below 2^20: no pairs of 20 bits
  plan.shapes = rescaling_cycle({2, 0}, 38, 6, {19, 0});
  plan.steps.assign(6, 38);
  plan.base_main_bits = 38;
  EXPECT_THROW(pick_primes(plan), ParameterError);
}

}  // namespace
}  // namespace latticino
