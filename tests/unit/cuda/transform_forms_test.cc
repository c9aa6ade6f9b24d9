// Forms of transforms and their numbers in tables (backend/cuda/ntt/forms.h).
#include "backend/cuda/ntt/forms.h"

#include <gtest/gtest.h>

namespace latticino::cuda {
namespace {

constexpr int kSms = 132;
constexpr std::size_t kShared = 227 << 10;

TransformForms forms(int log_n, int limbs, std::uint32_t items, bool alike = true,
                     std::size_t shared = kShared) {
  return {{log_n, true, limbs, items, alike}, kSms, shared};
}
int own(int log_n, bool forward, int limbs, std::uint32_t items) {
  return TransformForms({log_n, forward, limbs, items}, kSms, kShared).own();
}

// Tables contain these numbers, so they must not change.
TEST(TransformForms, HaveTheirNumbers) {
  EXPECT_EQ(kTwoLaunches, 0);
  EXPECT_EQ(kOneBlock, 1);
  EXPECT_EQ(kKeptBlock, 2);
  EXPECT_EQ(kKeptRows, 3);
}

TEST(TransformForms, WhatCanRun) {
  for (int log_n = 10; log_n <= 17; ++log_n) {
    const unsigned block = log_n <= 15 ? 0b10 : 0, kept = log_n <= 13 ? 0b100 : 0;
    EXPECT_EQ(forms(log_n, 3, 1).can_run(), 0b1 | block);
    EXPECT_EQ(forms(log_n, 3, 2).can_run(), 0b1001 | block | kept);
    EXPECT_EQ(forms(log_n, 3, 2, false).can_run(), 0b1 | block) << "other primes";
  }
}

// A limb of 2^15 needs more than the 99 KB of some devices.
TEST(TransformForms, BlocksNeedTheirSharedMemory) {
  EXPECT_EQ(forms(15, 3, 1, true, 99 << 10).can_run(), 0b1u);
  EXPECT_EQ(forms(14, 3, 1, true, 99 << 10).can_run(), 0b11u);
  EXPECT_EQ(forms(12, 3, 1, true, block_bytes(12)).can_run(), 0b11u);
  EXPECT_EQ(forms(12, 3, 1, true, block_bytes(12) - 1).own(), kTwoLaunches);
}

TEST(TransformForms, TheRule) {
  for (const bool forward : {true, false}) {
    for (int log_n = 10; log_n <= 12; ++log_n) EXPECT_EQ(own(log_n, forward, 30, 1), kOneBlock);
    EXPECT_EQ(own(10, forward, 20, 16), kKeptBlock);
    for (const int log_n : {11, 12}) {
      EXPECT_EQ(own(log_n, forward, 66, 2), kKeptBlock);
      EXPECT_EQ(own(log_n, forward, 67, 2), kOneBlock);
    }
    EXPECT_EQ(own(13, forward, 65, 1), kTwoLaunches);
    for (int log_n = 14; log_n <= 17; ++log_n) EXPECT_EQ(own(log_n, forward, 20, 16), kTwoLaunches);
  }
  EXPECT_EQ(own(13, true, 66, 1), kTwoLaunches);
  EXPECT_EQ(own(13, false, 66, 1), kOneBlock);
  // Steps of rotations compute digits and sums in the block.
  for (int log_n = 10; log_n <= 13; ++log_n) {
    EXPECT_EQ(TransformForms({log_n, true, 2, 2, true, true}, kSms, kShared).own(), kOneBlock);
  }
}

// Columns and rows of a long array are many launches: only where no block holds a limb.
TEST(TransformForms, LongArraysGoByBlocks) {
  const auto array = [](int log_n, std::uint32_t items, std::size_t shared = kShared) {
    return TransformForms({log_n, true, 2, items, true, true}, kSms, shared);
  };
  EXPECT_EQ(array(11, 480).can_run(), 0b1111u);
  EXPECT_EQ(array(11, 481).can_run(), 0b0110u);
  EXPECT_EQ(array(15, 481).can_run(), 0b0010u);
  EXPECT_EQ(array(15, 481).own(), kOneBlock);
  EXPECT_EQ(array(15, 481, 99 << 10).can_run(), 0b1001u);
  EXPECT_EQ(array(16, 481).own(), kTwoLaunches);
}

TEST(TransformForms, EntriesOfTables) {
  const TransformCase x{12, false, 2, 1056};
  EXPECT_EQ(tuning_key(x), (TuningKey{TunedKernel::Transform, 12, {1, 2, 1056, 0}}));
  const TransformForms all = forms(12, 2, 1056);
  Tuning table = Tuning::parse("latticino tuning 1\narch 90\ntransform 12  1 2 1056 0 = 2\n", "x");
  EXPECT_EQ(table.pick(tuning_key(x), all.own(), all.can_run()), kKeptBlock);
  table.set(tuning_key({16, true, 4, 1}), kOneBlock);
  const TransformForms large = forms(16, 4, 1);
  EXPECT_EQ(table.pick(tuning_key({16, true, 4, 1}), large.own(), large.can_run()), kTwoLaunches);
}

}  // namespace
}  // namespace latticino::cuda
