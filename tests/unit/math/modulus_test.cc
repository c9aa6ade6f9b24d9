#include "math/modulus.h"

#include <gtest/gtest.h>

#include <random>

namespace latticino {
namespace {

constexpr std::uint32_t kPrimes[] = {3,          12289,      786433,    33292289,
                                     1073479681, 2147352577, 2147483647};

std::uint32_t expected(__int128 x, std::uint32_t q) {
  const __int128 r = x % q;
  return static_cast<std::uint32_t>(r < 0 ? r + q : r);
}

TEST(Modulus, ShoupAtTheEdges) {
  for (const std::uint32_t q : kPrimes) {
    const Modulus m = make_modulus(q);
    EXPECT_EQ(static_cast<std::uint32_t>(m.q_inverse) * q, 1u);
    for (const std::uint32_t w : {0u, 1u, q / 2, q - 1}) {
      const ShoupFactor f = make_shoup(w, m);
      EXPECT_EQ(f.quotient, static_cast<std::uint32_t>((std::uint64_t{w} << 32) / q));
      for (const std::uint32_t x : {0u, 1u, q - 1, q, 2 * q - 1, ~0u}) {
        const std::uint32_t want = expected(static_cast<__int128>(x) * w, q);
        EXPECT_LT(mul_shoup_lazy(x, f, q), std::uint64_t{2} * q);
        EXPECT_EQ(mul_shoup(x, f, q), want) << x << " * " << w << " mod " << q;
      }
    }
  }
}

TEST(Modulus, ReducesEverySixtyFourBitInteger) {
  std::mt19937_64 random(1);
  for (const std::uint32_t q : kPrimes) {
    const Modulus m = make_modulus(q);
    std::vector<std::uint64_t> xs = {0,     1,         q - 1ull,   q,
                                     ~0ull, ~0ull - q, 1ull << 63, (1ull << 63) - 1};
    for (int i = 0; i < 2000; ++i) xs.push_back(random());
    for (const std::uint64_t x : xs) {
      const auto s = static_cast<std::int64_t>(x);
      EXPECT_EQ(reduce_u64(x, m), x % q);
      EXPECT_EQ(reduce_s64(s, m), expected(s, q));
      // 2^-64 x times 2^64 is x again.
      const std::uint32_t r = reduce_u64(1ull << 32, m);
      EXPECT_EQ(mul_mod(mul_mod(montgomery_twice(s, m), r, m), r, m), expected(s, q));
    }
  }
}

TEST(Modulus, MontgomeryStaysInItsRange) {
  std::mt19937_64 random(2);
  for (const std::uint32_t q : kPrimes) {
    const Modulus m = make_modulus(q);
    const std::int64_t bound = static_cast<std::int64_t>(q) << 31;
    std::vector<std::int64_t> xs = {0, 1, -1, bound - 1, -bound};
    for (int i = 0; i < 2000; ++i) xs.push_back(static_cast<std::int64_t>(random()) % bound);
    for (const std::int64_t x : xs) {
      const std::int64_t y = montgomery(x, m);
      EXPECT_LT(y, static_cast<std::int64_t>(q));
      EXPECT_GT(y, -static_cast<std::int64_t>(q));
      EXPECT_EQ(expected(static_cast<__int128>(y) << 32, q), expected(x, q));
    }
  }
}

TEST(Modulus, SmallHelpers) {
  for (const std::uint32_t q : kPrimes) {
    const Modulus m = make_modulus(q);
    EXPECT_EQ(add_mod(q - 1, q - 1, q), q - 2);
    EXPECT_EQ(sub_mod(0, q - 1, q), 1u);
    EXPECT_EQ(neg_mod(0, q), 0u);
    EXPECT_EQ(centre(q / 2, q), static_cast<std::int32_t>(q / 2));
    EXPECT_EQ(centre(q / 2 + 1, q), -static_cast<std::int32_t>(q / 2));
    EXPECT_EQ(mul_mod(inverse_mod(2, m), 2, m), 1u);
  }
}

}  // namespace
}  // namespace latticino
