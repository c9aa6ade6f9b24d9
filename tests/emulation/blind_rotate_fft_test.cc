// Blind rotations in FP64 whose ciphertexts are gathered in blocks
// (backend/cuda/rotate/fft/block.cuh, rotate/fft/pair.cuh, rotate/fft/group.cuh), emulated, against
// the CPU: equal words.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "backend/cuda/rotate/fft/group.cuh"
#include "backend/cuda/rotate/fft/pair.cuh"
#include "emulation/fourier_rotation.h"
#include "emulation/machine.h"

namespace latticino {
namespace {

template <class SHAPE, int PARTS, int PRIMES, int LEVELS>
struct Gathered : SHAPE {
  static constexpr int kParts = PARTS, kPrimes = PRIMES, kLevels = LEVELS;
  using Key = cuda::FourierKeyShape<SHAPE::kLogN, PARTS, PRIMES>;
};

// Numbers of ciphertexts, of ciphertexts per block at most, and of multiprocessors.
struct Gathering {
  std::uint32_t total, per_block, multiprocessors;
};

template <class S>
void expect_rotations(const cuda::FourierLimits& limits,
                      const std::function<void(const cuda::FourierRotateArgs&)>& kernel,
                      const Gathering& gathering, std::uint32_t steps, int group) {
  const auto [total, each, multiprocessors] = gathering;
  SCOPED_TRACE(std::to_string(steps) + " steps of " + std::to_string(total));
  emulation::FourierRotation<S> rotation(steps, group, total);
  rotation.expect_equal([&](cuda::FourierRotateArgs args) {
    args.rotate.per_block = each;
    args.parts = {(total + each - 1) / each, multiprocessors, steps};
    const auto threads = static_cast<int>(each) * limits.threads;
    std::vector<std::uint32_t> flags(args.flag_words(static_cast<std::uint32_t>(threads)));
    args.flags = flags.data();
    const std::size_t bytes = limits.shared_bytes + each * limits.ciphertext_bytes;
    emulation::run_cluster(static_cast<int>(args.parts.blocks()), threads, (bytes + 3) / 4, steps,
                           [&] { kernel(args); });
  });
}

// One ciphertext; and four groups on three multiprocessors, some of one ciphertext: two are cut.
template <class S>
void expect_rotation(const cuda::FourierLimits& limits,
                     const std::function<void(const cuda::FourierRotateArgs&)>& kernel,
                     int group = 1) {
  for (const std::uint32_t steps : {1u, 2u, 5u}) {
    expect_rotations<S>(limits, kernel, {1, 1, 1}, steps, group);
  }
  expect_rotations<S>(limits, kernel, {7, 2, 3}, 4, group);
}

template <int LOG_N, int PARTS, int PRIMES, int LEVELS>
void expect_units() {
  using Shape = cuda::FourierShape<LOG_N, cuda::fourier_log_values(LOG_N, PARTS)>;
  expect_rotation<Gathered<Shape, PARTS, PRIMES, LEVELS>>(
      cuda::fourier_limits<Shape, PARTS, PRIMES>(LEVELS),
      cuda::blind_rotate_fft<Shape, PARTS, PRIMES>);
}

TEST(EmulatedFourier, OfThreeDigits) { expect_units<10, 2, 1, 3>(); }
TEST(EmulatedFourier, OfFewerRowsThanTheBeltHolds) { expect_units<10, 2, 1, 1>(); }
TEST(EmulatedFourier, OfTwoPrimesAndTwoDigits) { expect_units<11, 2, 2, 2>(); }
TEST(EmulatedFourier, OfTwoPrimesAndTwoDigitsOfSwitching) { expect_units<12, 2, 2, 2>(); }
TEST(EmulatedFourier, TablesOfSwitchingLeaveABlockRoomForTwo) {
  using Shape = cuda::FourierShape<12, cuda::fourier_log_values(12, 2)>;
  constexpr std::size_t kSharedBytesOfH200 = 227 * 1024;
  const cuda::FourierLimits limits = cuda::fourier_limits<Shape, 2, 2>(2);
  EXPECT_LE(limits.shared_bytes + 2 * limits.ciphertext_bytes, kSharedBytesOfH200);
}
TEST(EmulatedFourier, OfThreeComponents) { expect_units<10, 3, 1, 2>(); }
TEST(EmulatedFourier, OfThreeComponentsOneAfterTheOther) { expect_units<11, 3, 2, 1>(); }
TEST(EmulatedFourier, OfPairs) {
  using Shape = cuda::FourierKeyShape<11, 2, 2>;
  expect_rotation<Gathered<Shape, 2, 2, 1>>(cuda::kFourierPairLimits<Shape, 2>,
                                            cuda::blind_rotate_fft_pair<Shape, 2>);
}

template <int LOG_N, int PARTS, int PRIMES, int LEVELS>
void expect_grouped(int group) {
  using Shape = cuda::FourierGroupUnit<LOG_N>;
  constexpr int kRoots = cuda::kFourierRoots<Shape, PARTS, PRIMES>;
  expect_rotation<Gathered<Shape, PARTS, PRIMES, LEVELS>>(
      {Shape::kThreads, 0, sizeof(double2) * kRoots,
       cuda::fourier_group_bytes<Shape, PARTS, PRIMES>(LEVELS)},
      cuda::blind_rotate_fft_group<Shape, PARTS, PRIMES>, group);
}

TEST(EmulatedFourier, OfTwoKeyBitsAStep) { expect_grouped<10, 2, 1, 3>(2); }
TEST(EmulatedFourier, OfThreeKeyBitsAStep) { expect_grouped<11, 2, 2, 1>(3); }
TEST(EmulatedFourier, OfThreeKeyBitsAStepAndThreeComponents) { expect_grouped<10, 3, 2, 2>(3); }
TEST(EmulatedFourier, OfFourKeyBitsAStep) { expect_grouped<12, 3, 1, 1>(4); }

// Every step of every group is one block's, and multiprocessors that take the next block when they
// are free end within two steps of each other and wait for no first part.
TEST(EmulatedFourier, PartsOfGroupsEndTogether) {
  for (const std::uint32_t multiprocessors : {1u, 3u, 132u}) {
    for (const std::uint32_t more : {0u, 1u, 2u, 131u, 132u, 380u}) {
      for (const std::uint32_t steps : {1u, 2u, 131u, 630u, 868u}) {
        const std::uint32_t groups = multiprocessors + more;
        SCOPED_TRACE(std::to_string(groups) + " of " + std::to_string(steps) + " steps on " +
                     std::to_string(multiprocessors));
        const cuda::RotationParts parts(groups, multiprocessors, steps);
        std::vector<std::uint32_t> done(groups), when(groups), free(multiprocessors);
        for (std::uint32_t block = 0; block < parts.blocks(); ++block) {
          const cuda::RotationPart part = parts.part(block);
          ASSERT_LT(part.group, groups);
          ASSERT_LE(part.from, part.to);
          ASSERT_EQ(done[part.group], part.from);
          ASSERT_EQ(part.first, block < groups);
          std::uint32_t& time = *std::ranges::min_element(free);
          ASSERT_LE(when[part.group], time + 2);
          time += part.steps();
          when[part.group] = time, done[part.group] = part.to;
        }
        ASSERT_EQ(done, std::vector<std::uint32_t>(groups, steps));
        const auto [first, last] = std::ranges::minmax(free);
        ASSERT_LE(last - first, groups % multiprocessors == 0 ? 0 : 2);
      }
    }
  }
}

}  // namespace
}  // namespace latticino
