#include "tfhe/gates.h"

#include <gtest/gtest.h>

#include <vector>

#include "math/errors.h"
#include "support/tfhe_support.h"

namespace latticino::tfhe {
namespace {

// `truth` in the tests is written by hand.
TEST(Gates, TruthFollowsFromTheirSums) {
  ASSERT_EQ(kGateSums.size(), std::size(test::kGates));
  for (const Gate gate : test::kGates) {
    const std::array<bool, 4> values = truth_table(gate);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(values[i], test::truth(gate, i / 2 == 1, i % 2 == 1) == 1) << int(gate) << i;
    }
    // An eighth is the distance of the sum to the next decision, a quarter where bits count twice.
    const GateSum& sum = gate_sum(gate);
    for (const int x : {-1, 1}) {
      for (const int y : {-1, 1}) {
        const int turn = ((x * sum.x + y * sum.y + sum.eighths) % 8 + 8) % 4;
        EXPECT_EQ(turn == 2, std::abs(sum.x) == 2);
        EXPECT_NE(turn, 0);
      }
    }
  }
}

TEST(Gates, AreFoundByTheirTables) {
  for (const Gate gate : test::kGates) {
    const std::array<bool, 4> values = truth_table(gate);
    EXPECT_EQ(gate_with(std::vector<std::uint64_t>(values.begin(), values.end())), gate);
  }
  const std::vector<std::vector<std::uint64_t>> others = {
      {0, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 1, 1}, {1, 0, 1, 0}, {0, 0, 0, 2}, {0, 1}, {}};
  for (const auto& table : others) EXPECT_FALSE(gate_with(table).has_value());
  EXPECT_THROW(gate_sum(static_cast<Gate>(10)), UnsupportedError);
  EXPECT_THROW(truth(static_cast<Gate>(77), true, true), UnsupportedError);
}

}  // namespace
}  // namespace latticino::tfhe
