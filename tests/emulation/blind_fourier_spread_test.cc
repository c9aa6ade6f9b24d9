// Blind rotations in FP64 spread over a cluster (backend/cuda/blind_fourier_spread.cuh), emulated,
// against the CPU: equal words, in every shape that has a kernel.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "backend/cuda/blind_fourier_group_spread.cuh"
#include "backend/cuda/blind_fourier_spread.cuh"
#include "emulation/fourier_rotation.h"
#include "emulation/machine.h"

namespace latticino {
namespace {

// `kernel` of shape S, with `group` key bits a step.
template <class S>
void expect_rotation(void (*kernel)(cuda::FourierRotateArgs), int group = 1) {
  for (const std::uint32_t steps : {1u, 2u, 5u}) {
    SCOPED_TRACE(std::to_string(steps) + " steps");
    emulation::FourierRotation<S> rotation(steps, group);
    rotation.expect_equal([&](const cuda::FourierRotateArgs& args) {
      emulation::run_cluster(S::kBlocks, S::kThreads, (S::bytes(args.rotate.steps) + 3) / 4, steps,
                             [&] { kernel(args); });
    });
  }
}

template <int LOG_N, int LOG_BLOCKS, int PRIMES, int LEVELS>
void expect_single() {
  using S = cuda::FourierSpreadShape<LOG_N, LOG_BLOCKS, PRIMES, LEVELS>;
  expect_rotation<S>(cuda::blind_fourier_spread<S>);
}

template <int LOG_N, int LOG_BLOCKS, int PRIMES, int LEVELS>
void expect_grouped() {
  using S = cuda::FourierGroupShape<LOG_N, LOG_BLOCKS, PRIMES, LEVELS>;
  expect_rotation<S>(cuda::blind_fourier_group_spread<S>, S::kGroup);
}

TEST(EmulatedFourierSpread, OfThreeDigitsOnEightBlocks) { expect_single<10, 3, 1, 3>(); }
TEST(EmulatedFourierSpread, OfThreeDigitsOnSixteenBlocks) { expect_single<10, 4, 1, 3>(); }
TEST(EmulatedFourierSpread, OfTwoPrimesOnEightBlocks) { expect_single<11, 3, 2, 1>(); }
TEST(EmulatedFourierSpread, OfTwoPrimesOnSixteenBlocks) { expect_single<11, 4, 2, 1>(); }
TEST(EmulatedFourierGroup, OfThreeDigitsOnEightBlocks) { expect_grouped<10, 3, 1, 3>(); }
TEST(EmulatedFourierGroup, OfThreeDigitsOnSixteenBlocks) { expect_grouped<10, 4, 1, 3>(); }
TEST(EmulatedFourierGroup, OfTwoPrimesOnEightBlocks) { expect_grouped<11, 3, 2, 1>(); }
TEST(EmulatedFourierGroup, OfTwoPrimesOnSixteenBlocks) { expect_grouped<11, 4, 2, 1>(); }

}  // namespace
}  // namespace latticino
