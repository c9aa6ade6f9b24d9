#include "math/big_uint.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace latticino {
namespace {

// Values below 2^120 as __int128, the reference.
__extension__ typedef unsigned __int128 Wide;
BigUint big(Wide x) {
  BigUint out(static_cast<std::uint64_t>(x >> 64));
  out <<= 64;
  return out += BigUint(static_cast<std::uint64_t>(x));
}

TEST(BigUint, AgreesWith128Bits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const Wide a = (Wide{random()} << 56 | random()) >> (random() % 120);
    const Wide b = (Wide{random()} << 56 | random()) >> (random() % 120);
    const auto q = static_cast<std::uint32_t>(random() >> 33) + 1;
    BigUint sum = big(a);
    EXPECT_EQ(sum += big(b), big(a + b));
    EXPECT_EQ(sum -= big(b), big(a));
    EXPECT_EQ(big(a).mod(q), static_cast<std::uint32_t>(a % q));
    EXPECT_EQ(big(a).divided_by(q), big(a / q));
    EXPECT_EQ(big(a) < big(b), a < b);
    const std::uint64_t x = random(), y = random();
    EXPECT_EQ(BigUint(x) * BigUint(y), big(Wide{x} * y));
    const int shift = static_cast<int>(random() % 60);
    BigUint shifted(x);
    EXPECT_EQ(shifted <<= shift, big(Wide{x} << shift));
  }
}

TEST(BigUint, RatioIsCorrectlyRounded) {
  // Division of doubles is correctly rounded: compare on integers that are exact doubles.
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t a = (random() >> 11) + 1, b = (random() >> (11 + random() % 40)) + 1;
    EXPECT_EQ(BigUint::ratio(BigUint(a), BigUint(b)),
              static_cast<double>(a) / static_cast<double>(b));
  }
  // Ties go to even: 2^53 + 1 and 2^53 + 3.
  EXPECT_EQ(BigUint::ratio(BigUint(9007199254740993), BigUint(1)), 9007199254740992.0);
  EXPECT_EQ(BigUint::ratio(BigUint(9007199254740995), BigUint(1)), 9007199254740996.0);
}

TEST(BigUint, LogarithmOfProducts) {
  EXPECT_NEAR(product({3, 5, 7}).log2(), std::log2(105), 1e-14);
  EXPECT_NEAR(product(std::vector<std::uint32_t>(50, 2147352577u)).log2(),
              50 * std::log2(2147352577.0), 1e-9);
}

TEST(Exp2, AgreesWithTheLibraryAndIsExactOnIntegers) {
  for (int e = -20; e <= 60; ++e) EXPECT_EQ(exp2_reproducible(e), std::ldexp(1, e));
  for (double x = -3; x < 61; x += 0.137) {
    EXPECT_NEAR(exp2_reproducible(x) / std::exp2(x), 1, 1e-14) << x;
  }
}

}  // namespace
}  // namespace latticino
