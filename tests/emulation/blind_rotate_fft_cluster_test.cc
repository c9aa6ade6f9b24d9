// Blind rotations in FP64 spread over a cluster (backend/cuda/rotate/fft/cluster.cuh), emulated,
// against the CPU: equal words, in every shape that has a kernel.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <random>

#include "backend/cuda/rotate/fft/cluster.cuh"
#include "backend/cuda/rotate/fft/cluster_radix4.cuh"
#include "backend/cuda/rotate/fft/group_cluster.cuh"
#include "emulation/fourier_rotation.h"
#include "emulation/machine.h"

namespace latticino {
namespace {

// `kernel` of shape S, with `group` key bits per step.
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
  using S = cuda::FourierClusterShape<LOG_N, LOG_BLOCKS, PRIMES, LEVELS>;
  expect_rotation<S>(cuda::blind_rotate_fft_cluster<S>);
}

template <int LOG_N, int LOG_BLOCKS, int PRIMES, int LEVELS>
void expect_grouped() {
  using S = cuda::FourierGroupShape<LOG_N, LOG_BLOCKS, PRIMES, LEVELS>;
  expect_rotation<S>(cuda::blind_rotate_fft_group_cluster<S>, S::kGroup);
}

// Values at which a difference is centred the other way, and values at the ends of the range.
TEST(EmulatedFourierCluster, DigitsAtTheirPlaceAreThoseTakenOneByOne) {
  for (const std::int32_t q : {2147473409, 134215681, 12289}) {
    cuda::RotateArgs args{};
    args.modulus = static_cast<std::uint64_t>(q), args.bits = bit_length(args.modulus);
    args.gadget = {q < 1 << 20 ? 4 : 7, 3};
    const cuda::FourierDigits<1> form(args, fourier::Rounding{});
    const std::int32_t half = q / 2;
    std::mt19937 random(1);
    for (int i = 0; i < 1000; ++i) {
      const std::int32_t d[] = {0,        1,     half,
                                half + 1, q - 1, static_cast<std::int32_t>(random() % q)};
      const std::int32_t difference = d[i % 6] * (i / 6 % 2 == 0 ? 1 : -1);
      const auto own = static_cast<std::int32_t>(difference < 0 ? half : -half);
      const std::int32_t turned = own + difference;
      for (int level = 0; level < 3; ++level) {
        const cuda::FourDigits digits(form, level);
        EXPECT_EQ(digits.of(static_cast<std::uint32_t>(turned), static_cast<std::uint32_t>(own)),
                  form.digit(form.pack(turned, own), level))
            << difference << " modulo " << q << ", level " << level;
      }
    }
  }
}
TEST(EmulatedFourierCluster, OfThreeDigitsOnEightBlocks) { expect_single<10, 3, 1, 3>(); }
TEST(EmulatedFourierCluster, OfThreeDigitsOnSixteenBlocks) {
  using S = cuda::FourierRadix4Shape;
  expect_rotation<S>(cuda::blind_rotate_fft_cluster_radix4<S>);
}
TEST(EmulatedFourierCluster, OfTwoPrimesOnEightBlocks) { expect_single<11, 3, 2, 1>(); }
TEST(EmulatedFourierCluster, OfTwoPrimesOnSixteenBlocks) { expect_single<11, 4, 2, 1>(); }
TEST(EmulatedFourierGroup, OfThreeDigitsOnEightBlocks) { expect_grouped<10, 3, 1, 3>(); }
TEST(EmulatedFourierGroup, OfThreeDigitsOnSixteenBlocks) { expect_grouped<10, 4, 1, 3>(); }
TEST(EmulatedFourierGroup, OfTwoPrimesOnEightBlocks) { expect_grouped<11, 3, 2, 1>(); }
TEST(EmulatedFourierGroup, OfTwoPrimesOnSixteenBlocks) { expect_grouped<11, 4, 2, 1>(); }

}  // namespace
}  // namespace latticino
