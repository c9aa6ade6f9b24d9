// Options of benchmark programs.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "math/errors.h"
#include "support/common.h"

namespace latticino::bench {
namespace {

Arguments given(std::string option) {
  std::string program = "bench";
  char* arguments[] = {program.data(), option.data()};
  return {2, arguments, {{"runs", "9"}, {"limbs", "47,7"}, {"replay", "0"}}};
}

TEST(BenchArguments, NumbersAreRead) {
  EXPECT_EQ(given("--runs=-3").number("runs"), -3);
  EXPECT_EQ(given("--limbs=23,13").numbers("limbs"), (std::vector<int>{23, 13}));
  EXPECT_TRUE(given("--replay").flag("replay"));
  EXPECT_FALSE(given("--replay=0").flag("replay"));
  EXPECT_EQ(given("--limbs=").numbers("limbs"), std::vector<int>());
}

TEST(BenchArguments, OtherTextIsAnError) {
  for (const std::string text : {"x", "", "3x", "1.5", "99999999999"}) {
    EXPECT_THROW(given("--runs=" + text).number("runs"), UnsupportedError) << text;
  }
  EXPECT_THROW(given("--limbs=23,x").numbers("limbs"), UnsupportedError);
  EXPECT_THROW(given("--replay=yes").flag("replay"), UnsupportedError);
  EXPECT_THROW(given("--limb=23"), UnsupportedError);
}

}  // namespace
}  // namespace latticino::bench
