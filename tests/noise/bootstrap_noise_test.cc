// Noise of bootstrapping, stage by stage and as a whole, against the formulas of
// docs/bootstrapping.md: standard deviations within a factor 2. The message is zero, so the sine
// takes nothing from it.
#include <gtest/gtest.h>

#include <cmath>

#include "support/bootstrap_world.h"

namespace latticino::ckks {
namespace {

struct Case {
  const char* preset;
  int slots;
};

void expect_within_two(double measured, double predicted, const char* what) {
  EXPECT_LT(measured, 2 * predicted) << what;
  EXPECT_GT(measured, predicted / 2) << what;
}

class NoiseOfBootstrapping : public testing::TestWithParam<Case> {};

TEST_P(NoiseOfBootstrapping, FollowsTheFormulas) {
  const BootstrapWorld& b = BootstrapWorld::of(GetParam().preset, GetParam().slots);
  const int k = b.world().params().bootstrap()->range_k;
  const BootstrapNoise budget = b.world().params().bootstrap_noise(b.slots());
  // The factor of a variance, from coefficients in units of q0 to values of slots.
  const double ratio = b.plan().message_ratio();
  const double gain = 2.0 * b.slots() / (ratio * ratio);
  const double trace = static_cast<double>(b.world().params().max_slots()) / b.slots();
  double middle = 0, reduced = 0, end = 0;  // variances; the first two in units of q0
  int counted = 0, slots = 0;
  while (slots < 1024) {
    const Ciphertext x = b.world().encrypt(World::Values(b.slots(), 0.0), 0);
    const Ciphertext raised = b.plan().mod_raise(b.evaluator(), x);
    const std::vector<Ciphertext> split = b.plan().coeff_to_slot(b.evaluator(), raised);
    const std::vector<Ciphertext> sines = b.plan().eval_mod(b.evaluator(), split);
    const std::vector<double> c = expected_order(raised_coefficients(b, raised), b.slots());
    const World::Values y = side_by_side(b, split), v = side_by_side(b, sines);
    for (std::size_t i = 0; i < y.size(); ++i, ++counted) {
      middle += std::norm(y[i] * static_cast<double>(k) - c[i] / trace);
      // The error that EvalMod adds, without the error of its input.
      const double fraction = y[i].real() * k - std::nearbyint(y[i].real() * k);
      reduced += std::norm(v[i] - fraction);
    }
    const World::Values in = b.world().decrypt(x);
    const World::Values out = b.world().decrypt(b.plan().slot_to_coeff(b.evaluator(), sines));
    for (int i = 0; i < b.slots(); ++i, ++slots) end += std::norm(out[i] - in[i]);
  }
  expect_within_two(std::sqrt(middle / counted), std::sqrt(budget.coeff_to_slot / gain),
                    "CoeffToSlot");
  expect_within_two(std::sqrt(reduced / counted), std::sqrt(budget.eval_mod / gain), "EvalMod");
  expect_within_two(std::sqrt(end / slots), std::sqrt(budget.total()), "bootstrapping");
}

INSTANTIATE_TEST_SUITE_P(Sets, NoiseOfBootstrapping,
                         testing::Values(Case{"test-n10-boot-insecure", 0},
                                         Case{"test-n10-boot-insecure", 64},
                                         Case{"test-n10-bands-insecure", 0},
                                         Case{"test-n10-d35-boot-insecure", 0},
                                         Case{"test-n10-d35-w30-boot-insecure", 0},
                                         Case{"test-n10-d34-w28-boot-insecure", 0},
                                         Case{"test-n10-d35-w28-free-boot-insecure", 0},
                                         Case{"test-n10-dr-boot-insecure", 0},
                                         Case{"test-n10-d48-w30-precise-insecure", 0},
                                         Case{"test-n12-boot-insecure", 0}));

}  // namespace
}  // namespace latticino::ckks
