#include "math/primes.h"

#include <cmath>

#include "gtest/gtest.h"

namespace latticino {
namespace {

TEST(Primes, AgreeWithASieve) {
  constexpr std::uint32_t kEnd = 200000;
  std::vector<bool> composite(kEnd, false);
  for (std::uint32_t i = 2; i < kEnd; ++i) {
    if (!composite[i]) {
      for (std::uint64_t j = std::uint64_t{i} * i; j < kEnd; j += i) composite[j] = true;
    }
    ASSERT_EQ(is_prime(i), !composite[i]) << i;
  }
  EXPECT_FALSE(is_prime(0));
  EXPECT_FALSE(is_prime(1));
}

TEST(Primes, RefusesStrongPseudoprimesAndKnowsLargePrimes) {
  // Strong pseudoprimes: to bases 2 and 3; to 2, 3 and 5 (OEIS A072276, A056915); Carmichael.
  for (const std::uint32_t n : {1373653u, 1530787u, 25326001u, 161304001u, 960946321u, 561u}) {
    EXPECT_FALSE(is_prime(n)) << n;
  }
  for (const std::uint32_t q : {2147483647u, 2147352577u, 2130706433u, 786433u, 998244353u}) {
    EXPECT_TRUE(is_prime(q)) << q;
  }
}

// Counts of q = 1 mod 2^17 below 2^31, and of those near 2^25 (nine).
TEST(Primes, SupplyAtN65536) {
  EXPECT_EQ(ntt_primes_below(16, 1u << 31, 10000).size(), 1586u);
  EXPECT_EQ(ntt_primes_below(16, 1u << 28, 10000).size(), 244u);
  const auto near25 = ntt_primes_near(16, log2_fixed(25.0), log2_fixed(0.2), 100, {});
  EXPECT_EQ(near25.size(), 9u);
  for (std::size_t i = 1; i < near25.size(); ++i) {
    EXPECT_LE(std::abs(std::log2(near25[i - 1]) - 25), std::abs(std::log2(near25[i]) - 25));
  }
  const auto fewer = ntt_primes_near(16, log2_fixed(25.0), log2_fixed(0.2), 100, {near25[0]});
  EXPECT_EQ(fewer.size(), 8u);
  EXPECT_EQ(fewer[0], near25[1]);
}

TEST(Primes, FixedLogarithmIsRightAndMonotone) {
  EXPECT_EQ(log2_fixed(1u), 0);
  EXPECT_EQ(log2_fixed(1u << 30), std::int64_t{30} << kLog2Bits);
  Log2 before = 0;
  for (std::uint32_t x = 1; x < 2147000000u; x += 1 + x / 50) {
    EXPECT_NEAR(to_double(log2_fixed(x)), std::log2(x), 4e-12) << x;
    EXPECT_GE(log2_fixed(x), before);
    before = log2_fixed(x);
  }
}

}  // namespace
}  // namespace latticino
