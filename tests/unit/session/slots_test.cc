// How rotations of values are computed from rotations of ciphertexts.
#include "session/ckks/slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace latticino::session {
namespace {

TEST(RotationGroups, MakeACyclicShift) {
  for (const std::size_t slots : {1, 2, 8, 32}) {
    for (const std::size_t size : {1, 2, 3, 7, 8, 9, 16, 31, 40, 64, 65, 100}) {
      const std::size_t held = std::min(slots, std::bit_ceil(size));
      std::vector<double> values(size);
      std::iota(values.begin(), values.end(), 1.0);
      values.resize((size + held - 1) / held * held);
      for (std::size_t k = 0; k < size; ++k) {
        const auto groups = rotation_groups(size, held, k);
        std::vector<double> made;
        for (const auto& group : groups) {
          std::vector<double> sum(held);
          for (const MaskedRotation& turn : group) {
            const auto mask = turn.mask(held);
            const auto filled =
                static_cast<std::size_t>(std::ranges::count(mask, Numbers::value_type(1)));
            EXPECT_EQ(turn.whole, filled == held);
            for (std::size_t i = 0; i < held; ++i) {
              const std::size_t from = (i + static_cast<std::size_t>(turn.steps)) % held;
              sum[i] += values[turn.source * held + from] * mask[i].real();
            }
          }
          made.insert(made.end(), sum.begin(), sum.end());
        }
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_EQ(made[i], values[(i + k) % size]) << size << " " << held << " " << k << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace latticino::session
