// Forms of blind rotations and their numbers in tables (backend/cuda/rotate/forms.h).
#include "backend/cuda/rotate/forms.h"

#include <gtest/gtest.h>

#include "backend/cuda/rotate/costs.h"

namespace latticino::cuda {
namespace {

// Tables contain these numbers, so they must not change.
TEST(RotateForms, HaveTheirNumbers) {
  EXPECT_EQ(kGatheredForm, 0);
  for (int log_blocks = 0; log_blocks <= 4; ++log_blocks) {
    EXPECT_EQ(cluster_form(log_blocks), 1 + log_blocks);
  }
  EXPECT_EQ(kStepForm, 6);
}

TEST(RotateForms, ExactRotationsCanGoByStepsAndGatherByTheirOwnRule) {
  RotationForms forms = RotationForms::exact(10, true, 2.0, 2.5);
  EXPECT_EQ(forms.own(), kGatheredForm);
  EXPECT_EQ(forms.can_run(), 0b1000001u);
  forms.add(cluster_form(1), 3.0);
  EXPECT_EQ(forms.own(), kGatheredForm);
  forms.add(cluster_form(2), 1.0);
  forms.add(cluster_form(3), 1.5);
  EXPECT_EQ(forms.own(), cluster_form(2));
  EXPECT_EQ(forms.can_run(), 0b1011101u);
}

TEST(RotateForms, ExactRotationsThatNoBlockHoldsGoBySteps) {
  RotationForms forms = RotationForms::exact(13, false, 2.0, 0.5);
  EXPECT_EQ(forms.own(), kStepForm);
  EXPECT_EQ(forms.can_run(), 0b1000000u);
  forms.add(cluster_form(3), 1.0);
  EXPECT_EQ(forms.own(), cluster_form(3));
  EXPECT_EQ(forms.can_run(), 0b1010000u);
}

// Measured: steps are faster there, for one and for many.
TEST(RotateForms, ExactRotationsOfWhichABlockHoldsOneGoBySteps) {
  RotationForms forms = RotationForms::exact(12, true, 2.0, 5.0);
  EXPECT_EQ(forms.own(), kStepForm);
  EXPECT_EQ(forms.can_run(), 0b1000001u);
  EXPECT_EQ(RotationForms::exact(11, true, 2.0, 2.5).own(), kGatheredForm);
  EXPECT_EQ(RotationForms::exact(11, true, 2.0, 1.5).own(), kStepForm);
}

// The fastest of those measured on an H200 (docs/tfhe.md) for each set and batch.
TEST(RotateForms, CostsChooseWhatWasFastest) {
  const auto own = [](int log_n, int primes, int keys, std::uint32_t total, std::uint32_t each,
                      int first_spread) {
    const RotateCosts& costs = rotate_costs(log_n, primes, keys);
    RotationForms forms = RotationForms::exact(log_n, true, costs.all_gathered(total, each, 132),
                                               costs.all_by_steps(total));
    constexpr Clusters kClusters[] = {{132, 132}, {66, 66}, {31, 31}, {15, 15}};
    for (int b = first_spread; b <= kLogClusterBlocks; ++b) {
      forms.add(cluster_form(b), costs.spread[b].all(kClusters[b], total));
    }
    return forms.own();
  };
  // tfhe-gates-v1
  EXPECT_EQ(own(10, 1, 1, 1, 1, 0), cluster_form(3));
  EXPECT_EQ(own(10, 1, 1, 132, 1, 0), cluster_form(0));
  EXPECT_EQ(own(10, 1, 1, 1056, 8, 0), kGatheredForm);
  // tfhe-gates-v2
  EXPECT_EQ(own(11, 2, 1, 1, 1, 1), cluster_form(3));
  EXPECT_EQ(own(11, 2, 1, 132, 1, 1), cluster_form(1));
  EXPECT_EQ(own(11, 2, 1, 1056, 4, 1), cluster_form(1));
  // chameleon-592-legacy
  EXPECT_EQ(own(11, 1, 1, 8, 1, 3), cluster_form(3));
  EXPECT_EQ(own(11, 1, 1, 132, 1, 3), kStepForm);
  EXPECT_EQ(own(11, 1, 1, 1056, 4, 3), kStepForm);
  // Several key bits: no steps without a table.
  EXPECT_NE(own(11, 2, 7, 4096, 1, 2), kStepForm);
}

// Entries of older tables: 0 if nothing gathers, and numbers that only FP64 has.
TEST(RotateForms, EntriesThatCannotRunLeaveTheRule) {
  const TuningKey key{TunedKernel::BlindRotate, 13, {2, 1, 33, 1}};
  const RotationForms forms = RotationForms::exact(13, false, 2.0, 0.5);
  for (const int variant : {kGatheredForm, cluster_form(4)}) {
    Tuning table;
    table.set(key, variant);
    EXPECT_EQ(table.pick(key, forms.own(), forms.can_run()), kStepForm);
  }
}

TEST(RotateForms, InFp64NothingGoesBySteps) {
  RotationForms forms(kGatheredForm, 2.0);
  forms.add(cluster_form(4), 1.0);
  EXPECT_EQ(forms.own(), cluster_form(4));
  EXPECT_EQ(forms.can_run(), 0b100001u);
}

// Entries of a table are used, whatever the rule says.
TEST(RotateForms, TablesMaySayBySteps) {
  Tuning table =
      Tuning::parse("latticino tuning 1\narch 90\nblind_rotate 10  3 1 33 1056 = 6\n", "x");
  const RotationForms forms = RotationForms::exact(10, true, 2.0, 2.5);
  const auto pick = [&](int ciphertexts) {
    const TuningKey key{TunedKernel::BlindRotate, 10, {3, 1, 33, ciphertexts}};
    return table.pick(key, forms.own(), forms.can_run());
  };
  EXPECT_EQ(pick(1056), kStepForm);
  EXPECT_EQ(pick(1055), kGatheredForm);  // an entry is for one number of ciphertexts
}

}  // namespace
}  // namespace latticino::cuda
