// Known answers of the encoder: small cases from the definition, large ones by fingerprint.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "ckks/encoding/encoder.h"

namespace latticino::ckks {
namespace {

std::vector<Complex> generated_slots(int slots, std::uint64_t state) {
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 32) / 2147483648.0 - 1.0;
  };
  std::vector<Complex> z(slots);
  for (Complex& x : z) {
    const double re = next();
    x = {re, next()};
  }
  return z;
}

// FNV-1a over the little-endian bytes of the coefficients.
std::uint64_t fingerprint(const std::vector<std::int64_t>& c) {
  std::uint64_t h = 14695981039346656037u;
  for (std::int64_t x : c) {
    for (int b = 0; b < 8; ++b) {
      h = (h ^ (static_cast<std::uint64_t>(x) >> (8 * b) & 0xff)) * 1099511628211u;
    }
  }
  return h;
}

TEST(EncodingKnownAnswers, SmallCasesFromTheDefinition) {
  std::ifstream file(LATTICINO_TEST_DATA "/encoding_v1.txt");
  ASSERT_TRUE(file);
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    int log_n = 0, slots = 0, log_scale = 0;
    std::uint64_t seed = 0;
    ASSERT_TRUE(std::istringstream(line) >> log_n >> slots >> log_scale >> seed);
    ASSERT_TRUE(std::getline(file, line));
    std::istringstream numbers(line);
    std::vector<std::int64_t> expected(1 << log_n);
    for (std::int64_t& x : expected) ASSERT_TRUE(numbers >> x);
    EXPECT_EQ(Encoder(log_n).embed(generated_slots(slots, seed), std::exp2(log_scale)), expected);
    ++cases;
  }
  EXPECT_EQ(cases, 5);
}

TEST(EncodingKnownAnswers, LargeCasesByFingerprint) {
  const Encoder encoder(16);
  EXPECT_EQ(fingerprint(encoder.embed(generated_slots(32768, 6), std::exp2(40))),
            17190110656037066406u);
  EXPECT_EQ(fingerprint(encoder.embed(generated_slots(4096, 7), std::exp2(58))),
            12777830018417432232u);
}

}  // namespace
}  // namespace latticino::ckks
