// Encoding of secrets by integer arithmetic against the encoder of messages.
#include "ckks/encoding/secret_slots.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ckks/encoding/encoder.h"
#include "math/errors.h"

namespace latticino::ckks {
namespace {

struct Bits {
  explicit Bits(std::size_t n) : values(n), slots(n) {
    std::mt19937_64 random(n);
    for (std::size_t i = 0; i < n; ++i) {
      const int bit = static_cast<int>(random() & 1);
      values[i] = static_cast<std::int8_t>(2 * bit - 1);
      slots[i] = bit - 0.5;
    }
  }
  crypto::LockedVector<std::int8_t> values;
  std::vector<Complex> slots;
};

TEST(SecretSlots, TheIntegersOfTheEncoderWhereItHasEnoughBits) {
  for (const int log_n : {10, 12, 13}) {
    const Encoder encoder(log_n);
    for (const int log_slots : {0, 1, 5, log_n - 1}) {
      const Bits bits(std::size_t{1} << log_slots);
      for (const double scale : {2.0, 3e9, std::exp2(40)}) {
        const auto got = embed_secret(encoder.transform(), bits.values, scale / 2);
        const auto want = encoder.embed(bits.slots, scale);
        EXPECT_TRUE(std::equal(got.begin(), got.end(), want.begin(), want.end()))
            << log_n << " " << log_slots << " " << scale;
      }
    }
  }
}

// Beyond double precision the sums are taken in long double.
TEST(SecretSlots, WithinAUnitOfTheExactValuesAtScalesOfKeys) {
  constexpr int kLogN = 11;
  constexpr std::size_t kSlots = 1024;
  const Encoder encoder(kLogN);
  const Bits bits(kSlots);
  const double scale = std::exp2(58.3);
  const auto got = embed_secret(encoder.transform(), bits.values, scale / 2);
  const long double turn = std::acos(-1.0L) / (2 * kSlots);
  for (std::size_t k = 0; k < kSlots; k += 37) {
    long double re = 0, im = 0;
    std::uint64_t power = 1;
    for (const std::int8_t v : bits.values) {
      const auto angle = turn * static_cast<long double>(power * k % (4 * kSlots));
      re += v * std::cos(angle);
      im -= v * std::sin(angle);
      power = power * 5 % (4 * kSlots);
    }
    const long double factor = static_cast<long double>(scale) / 2 / kSlots;
    EXPECT_NEAR(static_cast<double>(re * factor - got[k]), 0, 1.5) << k;
    EXPECT_NEAR(static_cast<double>(im * factor - got[kSlots + k]), 0, 1.5) << k;
  }
}

TEST(SecretSlots, OtherSizesAndScalesAreRefused) {
  const Encoder encoder(10);
  for (const std::size_t n : {0, 3, 1024}) {
    EXPECT_THROW(embed_secret(encoder.transform(), Bits(n).values, 1e6), ShapeError) << n;
  }
  for (const double scale : {0.5, -1.0, double(NAN), HUGE_VAL, 0x1p62}) {
    EXPECT_THROW(embed_secret(encoder.transform(), Bits(8).values, scale), ScaleError) << scale;
  }
}

}  // namespace
}  // namespace latticino::ckks
