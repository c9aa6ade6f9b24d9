// Spread blind rotations (backend/cuda/rotate/cluster/cluster.cuh) on an emulated cluster against
// the CPU, in every shape that has a kernel (and one that no plan takes: two blocks, several keys).
#include <gtest/gtest.h>

#include <vector>

#include "backend/cuda/rotate/cluster/kernel.cuh"
#include "emulation/device_tables.h"
#include "emulation/machine.h"
#include "emulation/rotation_on_cpu.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::Words;

struct Secret {
  int k = 1, levels = 2, group = 1;
  bool ternary = false;
  std::uint32_t steps = 3;
};

// One rotation with random keys, on the cluster and on the CPU.
template <class S>
class ClusterRotation : emulation::RotationOnCpu<S> {
  using Base = emulation::RotationOnCpu<S>;
  using Base::kPrimes, Base::exponents_, Base::op_, Base::key_, Base::ring_;

 public:
  ClusterRotation(const Secret& secret, std::uint32_t bound)
      : Base(bound, secret.steps * secret.group) {
    op_.glwe_dimension = secret.k;
    op_.group = secret.group;
    op_.ternary = secret.ternary;
    op_.gadget = {std::min(9, (bit_length(this->modulus()) - 3) / secret.levels), secret.levels};
    exponents_[0] = 0;
  }

  void expect_equal(int stages) {
    op_.key = this->keys(Domain::Eval);
    const Words want = this->on_cpu();
    Base::expect_equal_words(want, on_device(stages));
  }

 private:
  Words on_device(int stages) const {
    const emulation::DeviceTables tables(ring_);
    Words key(key_.size() * kPrimes * S::kN), out(this->parts() * kPrimes * S::kN);
    for (std::size_t i = 0; i < key_.size() * kPrimes; ++i) {
      for (std::uint32_t j = 0; j < S::kN; ++j) {
        key[i * S::kN + cuda::position(Domain::Eval, j, S::kLogN)] =
            key_[i / kPrimes][i % kPrimes * S::kN + j];
      }
    }
    cuda::ClusterArgs args{};
    args.stages = stages;
    cuda::RotateArgs& a = args.rotate;
    a.ring = tables.view;
    a.key = key.data();
    a.keys = op_.keys_per_step();
    a.ternary = op_.ternary;
    this->describe(a, out.data());
    const int threads = S::threads(S::rows(a));
    EXPECT_LE(threads, cuda::kClusterThreads<S>);
    emulation::run_cluster(S::kBlocks, threads, cuda::ClusterPlaces<S>(a, stages).end, 1,
                           [&] { cuda::blind_rotate_cluster<S>(args); });
    return out;
  }
};

template <int LOG_N, int PRIMES, int LOG_BLOCKS, int PARTS, int LEVELS, int KEYS>
void expect_rotation(const Secret& secret, std::uint32_t bound, int stages) {
  using S = cuda::ClusterShape<LOG_N, PRIMES, LOG_BLOCKS, PARTS, LEVELS, KEYS>;
  if constexpr (S::kGroupThreads <= S::kMaxThreads) {
    SCOPED_TRACE("N = 2^" + std::to_string(LOG_N) + ", " + std::to_string(PRIMES) + " primes, k " +
                 std::to_string(secret.k) + ", levels " + std::to_string(secret.levels));
    ClusterRotation<S>(secret, bound).expect_equal(stages);
  }
}

constexpr std::uint32_t k30 = 1u << 30, k27 = 1u << 27;

template <int LOG_BLOCKS>
void expect_named_gadgets() {
  expect_rotation<10, 1, LOG_BLOCKS, 2, 3, 1>({1, 3, 1, false, 5}, k30, 3);
  expect_rotation<10, 1, LOG_BLOCKS, 3, 2, 1>({2, 2, 1, false, 3}, k30, 1);
  if constexpr (LOG_BLOCKS > 0) {
    expect_rotation<11, 2, LOG_BLOCKS, 2, 1, 1>({1, 1, 1, false, 4}, k27, 2);
    expect_rotation<11, 2, LOG_BLOCKS, 2, 1, 0>({1, 1, 3, false, 2}, k27, 1);
  }
}
template <int LOG_BLOCKS>
void expect_any_gadget() {
  expect_rotation<10, 1, LOG_BLOCKS, 0, 0, 0>({1, 2, 1, true, 4}, k30, 2);
  expect_rotation<10, 1, LOG_BLOCKS, 0, 0, 0>({3, 5, 1, false, 2}, k30, 2);
  expect_rotation<10, 2, LOG_BLOCKS, 0, 0, 0>({1, 2, 1, false, 3}, k30, 3);
  expect_rotation<10, 2, LOG_BLOCKS, 0, 0, 0>({3, 3, 1, false, 2}, k27, 1);
  expect_rotation<11, 1, LOG_BLOCKS, 0, 0, 0>({1, 3, 1, false, 3}, k30, 2);
  expect_rotation<11, 2, LOG_BLOCKS, 0, 0, 0>({1, 2, 3, false, 1}, k27, 1);
  expect_rotation<12, 1, LOG_BLOCKS, 0, 0, 0>({1, 2, 1, false, 2}, k30, 2);
  expect_rotation<12, 2, LOG_BLOCKS, 0, 0, 0>({1, 2, 2, false, 1}, k30, 1);
}

// The numbers of rotate/cluster/plan.cuh, which says why two blocks take no groups.
TEST(ClusterPlaces, OfSeveralKeysOnTwoBlocks) {
  cuda::RotateArgs a{};
  a.parts = 2, a.gadget = {23, 1}, a.dimension = 870;
  const auto bytes = [&](int keys) {
    a.keys = keys;
    const cuda::ClusterPlaces<cuda::ClusterShape<11, 2, 1, 2, 1, 0>> at(a, 1);
    return sizeof(std::uint32_t) * at.end;
  };
  EXPECT_EQ(bytes(2), 183484u);
  EXPECT_EQ(bytes(3), 224444u);
  EXPECT_EQ(bytes(7), 388284u);
}

TEST(EmulatedClusterRotation, OfNamedGadgetsOnOneBlock) { expect_named_gadgets<0>(); }
TEST(EmulatedClusterRotation, OfNamedGadgetsOnTwoBlocks) { expect_named_gadgets<1>(); }
TEST(EmulatedClusterRotation, OfNamedGadgetsOnFourBlocks) { expect_named_gadgets<2>(); }
TEST(EmulatedClusterRotation, OfNamedGadgetsOnEightBlocks) { expect_named_gadgets<3>(); }
TEST(EmulatedClusterRotation, OfAnyGadgetOnOneBlock) { expect_any_gadget<0>(); }
TEST(EmulatedClusterRotation, OfAnyGadgetOnEightBlocks) { expect_any_gadget<3>(); }

}  // namespace
}  // namespace latticino
