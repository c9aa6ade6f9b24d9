// Blind rotations in FP64 whose ciphertexts are gathered in blocks (backend/cuda/blind_fourier.cuh,
// blind_fourier_pair.cuh, blind_fourier_group.cuh), emulated, against the CPU: equal words.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "backend/cuda/blind_fourier_group.cuh"
#include "backend/cuda/blind_fourier_pair.cuh"
#include "emulation/fourier_rotation.h"
#include "emulation/machine.h"

namespace latticino {
namespace {

template <class SHAPE, int PARTS, int PRIMES, int LEVELS>
struct Gathered : SHAPE {
  static constexpr int kParts = PARTS, kPrimes = PRIMES, kLevels = LEVELS;
  using Key = cuda::FourierKeyShape<SHAPE::kLogN, PARTS, PRIMES>;
};

template <class S>
void expect_rotation(const cuda::FourierLimits& limits,
                     const std::function<void(const cuda::FourierRotateArgs&)>& kernel,
                     int group = 1) {
  for (const std::uint32_t steps : {1u, 2u, 5u}) {
    SCOPED_TRACE(std::to_string(steps) + " steps");
    emulation::FourierRotation<S>(steps, group)
        .expect_equal([&](const cuda::FourierRotateArgs& args) {
          emulation::run_cluster(1, limits.threads,
                                 (limits.shared_bytes + limits.ciphertext_bytes + 3) / 4, steps,
                                 [&] { kernel(args); });
        });
  }
}

template <int LOG_N, int PARTS, int PRIMES, int LEVELS>
void expect_units() {
  using Shape = cuda::FourierShape<LOG_N, cuda::fourier_log_values(LOG_N, PARTS)>;
  expect_rotation<Gathered<Shape, PARTS, PRIMES, LEVELS>>(
      cuda::fourier_limits<Shape, PARTS, PRIMES>(LEVELS),
      cuda::blind_fourier<Shape, PARTS, PRIMES>);
}

TEST(EmulatedFourier, OfThreeDigits) { expect_units<10, 2, 1, 3>(); }
TEST(EmulatedFourier, OfFewerRowsThanTheBeltHolds) { expect_units<10, 2, 1, 1>(); }
TEST(EmulatedFourier, OfTwoPrimesAndTwoDigits) { expect_units<11, 2, 2, 2>(); }
TEST(EmulatedFourier, OfThreeComponents) { expect_units<10, 3, 1, 2>(); }
TEST(EmulatedFourier, OfThreeComponentsOneAfterTheOther) { expect_units<11, 3, 2, 1>(); }
TEST(EmulatedFourier, OfPairs) {
  using Shape = cuda::FourierKeyShape<11, 2, 2>;
  expect_rotation<Gathered<Shape, 2, 2, 1>>(cuda::kFourierPairLimits<Shape, 2>,
                                            cuda::blind_fourier_pair<Shape, 2>);
}

template <int LOG_N, int PARTS, int PRIMES, int LEVELS>
void expect_grouped(int group) {
  using Shape = cuda::FourierGroupUnit<LOG_N>;
  constexpr int kRoots = cuda::kFourierRoots<Shape, PARTS, PRIMES>;
  expect_rotation<Gathered<Shape, PARTS, PRIMES, LEVELS>>(
      {Shape::kThreads, 0, sizeof(double2) * kRoots,
       cuda::fourier_group_bytes<Shape, PARTS, PRIMES>(LEVELS), 0},
      cuda::blind_fourier_group<Shape, PARTS, PRIMES>, group);
}

TEST(EmulatedFourier, OfTwoKeyBitsAStep) { expect_grouped<10, 2, 1, 3>(2); }
TEST(EmulatedFourier, OfThreeKeyBitsAStep) { expect_grouped<11, 2, 2, 1>(3); }
TEST(EmulatedFourier, OfThreeKeyBitsAStepAndThreeComponents) { expect_grouped<10, 3, 2, 2>(3); }
TEST(EmulatedFourier, OfFourKeyBitsAStep) { expect_grouped<12, 3, 1, 1>(4); }

// Every ciphertext is one unit's, and the blocks of a wave differ by one at most.
TEST(EmulatedFourier, SharesCiphertextsAmongBlocks) {
  cuda::FourierRotateArgs args{};
  for (const std::uint32_t wave : {1u, 3u, 132u}) {
    for (const std::uint32_t per_block : {1u, 4u, 8u}) {
      for (const std::uint32_t total : {1u, 2u, 5u, 131u, 132u, 133u, 528u, 529u, 4096u}) {
        args.wave = wave, args.rotate.per_block = per_block, args.rotate.total = total;
        std::vector<int> times(total);
        for (blockIdx.x = 0; blockIdx.x < args.blocks(); ++blockIdx.x) {
          const int units = args.units(), wave_begins = blockIdx.x / wave * wave * per_block;
          ASSERT_GE(units, 1);
          ASSERT_LE(units, static_cast<int>(per_block));
          const int left = static_cast<int>(total) - wave_begins;
          ASSERT_GE(units, std::min(left / static_cast<int>(wave), static_cast<int>(per_block)));
          for (int u = 0; u < units; ++u) ++times.at(args.ciphertext(u));
        }
        EXPECT_EQ(times, std::vector<int>(total, 1)) << wave << " " << per_block << " " << total;
      }
    }
  }
  blockIdx.x = 0;
}

}  // namespace
}  // namespace latticino
