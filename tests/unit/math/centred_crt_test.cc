#include "math/centred_crt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "support/ring_support.h"

namespace latticino {
namespace {

// sign * (mantissa 2^shift + small), by residues: exact integers of any size without big numbers.
struct Integer {
  std::uint64_t mantissa = 0;
  int shift = 0;
  std::int64_t small = 0;
  bool negative = false;

  std::vector<std::uint32_t> residues(const test::Words& primes) const {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t q : primes) {
      const Modulus m = make_modulus(q);
      const std::uint32_t high =
          mul_mod(reduce_u64(mantissa, m), pow_mod(2, static_cast<std::uint64_t>(shift), m), m);
      const std::uint32_t x = add_mod(high, reduce_s64(small, m), q);
      out.push_back(negative ? neg_mod(x, q) : x);
    }
    return out;
  }
};

class CentredCrtTest : public ::testing::TestWithParam<int> {
 protected:
  CentredCrtTest() : primes(test::ntt_primes(10, GetParam())), crt(primes) {
    for (const std::uint32_t q : primes) log_q += std::log2(q);
  }
  double divided(const Integer& x, double scale = 1) {
    return crt.divided(x.residues(primes), scale);
  }
  test::Words primes;
  CentredCrt crt;
  double log_q = 0;
};

TEST_P(CentredCrtTest, PowersOfTwoUpToTheModulus) {
  for (int k = 0; k < static_cast<int>(log_q) - 1; ++k) {
    const double scale = k > 1000 ? std::ldexp(1.0, 700) : 1.0;
    const double expected = std::ldexp(1.0, k > 1000 ? k - 700 : k);
    EXPECT_EQ(divided({1, k, 0, false}, scale), expected) << k;
    EXPECT_EQ(divided({1, k, 0, true}, scale), -expected) << k;
  }
  EXPECT_EQ(divided({}), 0.0);
}

TEST_P(CentredCrtTest, RoundsOnceToNearestEven) {
  constexpr std::uint64_t kOdd = (std::uint64_t{1} << 53) - 1;  // 53 bits, odd
  for (int k = 4; k + 60 < static_cast<int>(log_q) && k < 900; k += 7) {
    const double exact = std::ldexp(static_cast<double>(kOdd), k);
    const double above = std::nextafter(exact, std::numeric_limits<double>::infinity());
    const Integer half{2 * kOdd + 1, k - 1, 0, false};  // the tie between both
    EXPECT_EQ(divided({kOdd, k, 0, false}), exact);
    EXPECT_EQ(divided({kOdd, k, 1, false}), exact);
    EXPECT_EQ(divided({kOdd, k, -1, false}), exact);
    EXPECT_EQ(divided(half), above) << k;  // even
    EXPECT_EQ(divided({half.mantissa, half.shift, -1, false}), exact) << k;
    EXPECT_EQ(divided({half.mantissa, half.shift, 1, true}), -above) << k;
    EXPECT_EQ(divided({half.mantissa, half.shift, -1, true}), -exact) << k;
  }
}

TEST_P(CentredCrtTest, TheExtremesAreCentred) {
  std::vector<std::uint32_t> low, high;  // (Q-1)/2 and (Q+1)/2 = -(Q-1)/2: -1/2 and 1/2 mod q
  for (const std::uint32_t q : primes) {
    low.push_back((q - 1) / 2);
    high.push_back((q + 1) / 2);
  }
  const double scale = std::exp2(std::floor(log_q) / 2);
  const double expected = std::exp2(log_q - 1 - std::floor(log_q) / 2);
  EXPECT_NEAR(crt.divided(low, scale) / expected, 1, 1e-9);
  EXPECT_NEAR(crt.divided(high, scale) / expected, -1, 1e-9);
}

TEST_P(CentredCrtTest, SmallValuesAndScales) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    const auto x = static_cast<std::int64_t>(random()) >> (1 + random() % 62);
    if (std::log2(std::abs(static_cast<double>(x)) + 1) + 2 > log_q) continue;
    const double scale = std::ldexp(1.0 + 1e-3 * static_cast<double>(i), i % 50);
    const Integer integer{0, 0, x, false};
    EXPECT_EQ(divided(integer), static_cast<double>(x));
    EXPECT_NEAR(divided(integer, scale), static_cast<double>(x) / scale,
                1e-15 * std::abs(static_cast<double>(x) / scale));
  }
}

INSTANTIATE_TEST_SUITE_P(Primes, CentredCrtTest, ::testing::Values(1, 2, 3, 4, 5, 13, 47));

}  // namespace
}  // namespace latticino
