// Doubles as text: the code for libraries without <charconv> for doubles writes and reads the same
// as <charconv>.
#include "math/decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace latticino {
namespace {

std::vector<double> samples() {
  std::vector<double> out{0.0,
                          -0.0,
                          1.0,
                          -1.0,
                          0.1,
                          100000.0,
                          1e5,
                          1e16,
                          1e17,
                          1e22,
                          1e23,
                          1e-4,
                          1e-5,
                          1e-7,
                          5e-324,
                          3.19,
                          -80,
                          0.5,
                          1e15,
                          123456789012345678.0,
                          9007199254740993.0,
                          4.35,
                          2.5e-8,
                          std::numeric_limits<double>::max(),
                          std::numeric_limits<double>::min()};
  std::mt19937_64 random(1);  // NOLINT: always the same numbers
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double x = 0;
    std::memcpy(&x, &bits, sizeof x);
    if (std::isfinite(x)) out.push_back(x);
    out.push_back(static_cast<double>(bits >> (bits % 64)) / 1000);
    out.push_back(std::ldexp(1.0, static_cast<int>(bits % 2000) - 1000));
  }
  return out;
}

TEST(Decimal, PortableTextIsThatOfTheStandardLibrary) {
  for (const double x : samples()) {
    EXPECT_EQ(portable::shortest_text(x), shortest_text(x)) << x;
    double back = 1;
    EXPECT_TRUE(portable::read_double(shortest_text(x), back));
    EXPECT_EQ(std::memcmp(&back, &x, sizeof x), 0) << x;
  }
}

TEST(Decimal, BothReadersTakeTheSameWords) {
  for (const char* word : {"1",        "-1",     "+1",
                           "",         "-",      " 1",
                           "1 ",       "1.",     ".5",
                           "0x10",     "1e",     "1e5",
                           "1e+5",     "1e-5",   "1e999",
                           "-1e999",   "1e-999", "4e-324",
                           "1e-310",   "inf",    "nan",
                           "infinity", "1,5",    "--1",
                           "-+1",      "1e5x",   "0.1e0000000000000000000001",
                           "00012"}) {
    double own = 7, portable = 7;
    EXPECT_EQ(portable::read_double(word, portable), read_double(word, own)) << word;
    if (!std::isnan(own)) {
      EXPECT_EQ(portable, own) << word;
    }
  }
}

TEST(Decimal, DigitsAreTheFewestThatReadBack) {
  EXPECT_EQ(decimal(0.1).digits, "1");
  EXPECT_EQ(decimal(0.1).exponent, -1);
  EXPECT_EQ(decimal(-1200).digits, "12");
  EXPECT_TRUE(decimal(-1200).negative);
  EXPECT_EQ(decimal(0).digits, "0");
  EXPECT_EQ(decimal(1.0 / 3).digits.size(), 16u);
}

}  // namespace
}  // namespace latticino
