#include "ops/conversion.h"

#include <gtest/gtest.h>

#include "math/errors.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::range;

TEST(BaseConversion, ConstantsOfTwoSourcePrimes) {
  const Ring ring(10, test::ntt_primes(10, 4));
  const std::uint64_t q0 = ring.prime(1), q1 = ring.prime(2);
  const BaseConversion table(ring, range(1, 3), {{0, 1}, {3, 4}}, {5, 7});
  const Modulus m0 = make_modulus(ring.prime(1)), m1 = make_modulus(ring.prime(2));
  EXPECT_EQ(mul_mod(table.factor(0), reduce_u64(q1, m0), m0), 5u);
  EXPECT_EQ(mul_mod(table.factor(1), reduce_u64(q0, m1), m1), 7u);
  EXPECT_EQ(table.matrix(0, 0), q1 % ring.prime(0));
  EXPECT_EQ(table.matrix(0, 1), q0 % ring.prime(0));
  EXPECT_EQ(table.matrix(1, 0), q1 % ring.prime(3));
}

TEST(BaseConversion, ScalesWhatComesOut) {
  const Ring ring(10, test::ntt_primes(10, 4));
  const BaseConversion plain(ring, range(1, 3), {{0, 1}, {3, 4}});
  const BaseConversion scaled(ring, range(1, 3), {{0, 1}, {3, 4}}, {}, {11, ring.prime(3) - 1});
  for (int j = 0; j < 2; ++j) {
    EXPECT_EQ(scaled.factor(j), plain.factor(j));
    EXPECT_EQ(scaled.matrix(0, j), plain.matrix(0, j) * 11ull % ring.prime(0));
    EXPECT_EQ(scaled.matrix(1, j), ring.prime(3) - plain.matrix(1, j));
  }
}

TEST(BaseConversion, BoundsTheAccumulator) {
  const Ring ring(10, test::ntt_primes(10, 50));
  const BaseConversion table(ring, range(0, 12), range(12, 20));
  unsigned __int128 worst = 0;
  for (int i = 0; i < 8; ++i) {
    const Modulus m = make_modulus(ring.prime(12 + i));
    const std::uint32_t r = reduce_u64(1ull << 32, m);
    unsigned __int128 sum = 0;
    for (int j = 0; j < 12; ++j) {
      const std::uint32_t stored = mul_mod(mul_mod(table.matrix(i, j), r, m), r, m);
      sum += static_cast<unsigned __int128>(std::min(stored, m.q - stored)) * (ring.prime(j) / 2);
    }
    worst = std::max(worst, sum);
  }
  EXPECT_EQ(table.accumulator_bound(), static_cast<std::uint64_t>(worst));
  // Forty 31-bit sources average 2^64.3.
  EXPECT_THROW(BaseConversion(ring, range(0, 40), range(40, 50)), ParameterError);
}

TEST(BaseConversion, RefusesWrongShapes) {
  const Ring ring(10, test::ntt_primes(10, 4));
  EXPECT_THROW(BaseConversion(ring, range(0, 2), range(1, 3)), ShapeError);
  EXPECT_THROW(BaseConversion(ring, {}, range(1, 3)), ShapeError);
  EXPECT_THROW(BaseConversion(ring, range(0, 2), range(3, 5)), ShapeError);
  EXPECT_THROW(BaseConversion(ring, range(0, 2), range(2, 4), {1}), ShapeError);
  EXPECT_THROW(BaseConversion(ring, range(0, 2), range(2, 4), {}, {1}), ShapeError);
}

}  // namespace
}  // namespace latticino
