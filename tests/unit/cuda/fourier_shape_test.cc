// The index maps of FP64 transforms on a GPU, as threads use them: which number a thread holds and
// where numbers and roots lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "backend/cuda/rotate/fft/shape.h"

namespace latticino::cuda {
namespace {

template <class S>
class FourierShapes : public testing::Test {};
using Shapes = testing::Types<FourierShape<10, 3>, FourierShape<11, 3>, FourierShape<12, 3>,
                              FourierShape<10, 4>, FourierShape<11, 4>, FourierShape<12, 4>,
                              FourierShape<11, 5>>;
TYPED_TEST_SUITE(FourierShapes, Shapes);

std::vector<int> all_below(int n) {
  std::vector<int> x(n);
  std::iota(x.begin(), x.end(), 0);
  return x;
}

TYPED_TEST(FourierShapes, HoldEveryNumberOnceInEachPhase) {
  using S = TypeParam;
  int stage = 0;
  for (int phase = 0; phase < S::kPhases; ++phase) {
    std::set<int> held;
    for (int t = 0; t < S::kThreads; ++t) {
      for (int r = 0; r < S::kV; ++r) held.insert(S::index(phase, t, r));
    }
    EXPECT_EQ(held.size(), static_cast<std::size_t>(S::kM));
    EXPECT_EQ(*held.rbegin(), S::kM - 1);
    for (int rho = S::stages(phase) - 1; rho >= 0; --rho, ++stage) {
      EXPECT_EQ(S::stage(phase, rho), stage);
      // Register bit rho is the bit of the index that the stage's pairs differ in.
      EXPECT_EQ(S::index(phase, 0, 1 << rho), S::kM >> (stage + 1));
    }
  }
  EXPECT_EQ(stage, S::kLogM);
}

// Neighbours of a last phase of one stage: thread t's low half, its even lane's numbers and its odd
// lane's in turn, is what rotate/fft/transform.cuh's shuffles give it.
TYPED_TEST(FourierShapes, ReachALastStageByOneTrade) {
  using S = TypeParam;
  if (!S::kShuffles) return;
  constexpr int kLast = S::kPhases - 1;
  for (int t = 0; t < S::kThreads; ++t) {
    for (int r = 0; r < S::kV; ++r) {
      const int lane = (t & ~1) | (r & 1), kept = r / 2 + t % 2 * S::kV / 2;
      EXPECT_EQ(S::index(kLast, t, r), S::index(kLast - 1, lane, kept));
    }
  }
}

// V times 16 bytes where one thread's numbers go through in one piece; 8 where in two (V = 32).
TYPED_TEST(FourierShapes, TouchEveryBankOnce) {
  using S = TypeParam;
  const int together = S::kV == 32 ? 16 : 8;  // lanes, of 128 bytes
  for (int phase = 0; phase < S::kPhases; ++phase) {
    std::set<int> places;
    for (int r = 0; r < S::kV; ++r) {
      for (int first = 0; first < S::kThreads; first += together) {
        std::set<int> banks;
        for (int t = first; t < first + together; ++t) {
          const int place = S::place(S::index(phase, t, r));
          EXPECT_EQ(place, S::place(S::index(phase, t, 0)) + S::place(S::index(phase, 0, r)));
          banks.insert(place % together);
          places.insert(place);
        }
        EXPECT_EQ(banks.size(), static_cast<std::size_t>(together));
      }
    }
    EXPECT_EQ(places.size(), static_cast<std::size_t>(S::kM));
    EXPECT_LT(*places.rbegin(), S::kSlot);
  }
}

TYPED_TEST(FourierShapes, PlaceRootsOfAStageSideBySide) {
  using S = TypeParam;
  std::vector<int> places;
  for (int i = 0; i < S::kM / 2; ++i) places.push_back(S::root_place(i));
  std::vector<int> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all_below(S::kM / 2));
  for (int phase = 1; phase < S::kPhases; ++phase) {
    for (int rho = 0; rho < S::stages(phase); ++rho) {
      const int first = 1 << (S::stage(phase, rho) - 1), own = 1 << S::log_roots(rho);
      if (own == 1) continue;
      for (int block = 0; block + 1 < first / own; ++block) {
        for (int h = 0; h < own; ++h) {
          EXPECT_EQ(places[first + (block + 1) * own + h], places[first + block * own + h] + 1);
        }
      }
    }
  }
}

template <class S, class K>
void expect_keys_in_places() {
  std::vector<int> places;
  for (int t = 0; t < S::kThreads; ++t) {
    for (int r = 0; r < S::kV; ++r) {
      places.push_back(key_place<S, K>(t, r));
      EXPECT_EQ(places.back(), (key_place<S, K>(t, 0) + key_place<S, K>(0, r)));
    }
  }
  std::sort(places.begin(), places.end());
  EXPECT_EQ(places, all_below(S::kM));
}

TEST(FourierKeys, AreReadInTheOrderOfTheirShape) {
  expect_keys_in_places<FourierShape<11, 4>, FourierKeyShape<11, 2, 2>>();
  expect_keys_in_places<FourierShape<10, 3>, FourierKeyShape<10, 2, 1>>();
  expect_keys_in_places<FourierShape<10, 3>, FourierKeyShape<10, 3, 1>>();
  expect_keys_in_places<FourierShape<11, 5>, FourierKeyShape<11, 2, 2>>();
  expect_keys_in_places<FourierShape<11, 3>, FourierKeyShape<11, 2, 2>>();
  expect_keys_in_places<FourierShape<12, 3>, FourierKeyShape<12, 2, 1>>();
}

}  // namespace
}  // namespace latticino::cuda
