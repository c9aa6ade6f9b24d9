// Noise of switching, stage by stage, against the formulas of params/switch/params.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/switch_world.h"

namespace latticino::switching {
namespace {

double deviation(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum / static_cast<double>(x.size()));
}

// Phases in units of the modulus, centred.
std::vector<double> phases(const SwitchWorld& w, const LweView& lwe) {
  std::vector<double> out;
  for (const std::uint32_t phase : tfhe::phases(*w.context()->tfhe(), w.secret(), lwe)) {
    out.push_back(centre(phase, lwe.modulus) / static_cast<double>(lwe.modulus));
  }
  return out;
}

// As many values as are needed to measure a deviation to 15 %: with so many it varies by 3 %.
// Larger sets would take minutes.
int values_of(const SwitchParams& params) { return std::min(params.ckks().max_slots(), 512); }

class NoiseOfSwitching : public testing::TestWithParam<const char*> {};

TEST_P(NoiseOfSwitching, FollowsTheFormulas) {
  SwitchWorld& w = SwitchWorld::of(GetParam());
  const SwitchParams& params = w.params();
  const tfhe::Context& tfhe = *w.context()->tfhe();
  const int slots = values_of(params);
  const SwitchPlan plan(w, {slots, 1});
  const SwitchWorld::Values x = SwitchWorld::spread(slots, 1);
  const Samples samples = plan.plan().extract(plan.evaluator(), plan.encrypt(x));
  const std::vector<double> extracted = phases(w, samples.lwe.view);
  std::vector<double> sample;
  for (std::size_t i = 0; i < extracted.size(); ++i) {
    const double value = x[static_cast<std::size_t>(samples.index[i])];
    sample.push_back(extracted[i] - value * params.fill() / 4);
  }
  // The formula has no term for the error of SlotToCoeff at level 0, which is far smaller.
  EXPECT_NEAR(deviation(sample) / std::sqrt(params.sample_variance()), 1, 0.15);

  const auto switched = tfhe.allocate(static_cast<std::uint32_t>(tfhe.params().lwe_dimension()),
                                      samples.lwe.view.count);
  tfhe.queue().submit(LweKeySwitch{w.keys()->tfhe->key_switch.view,
                                   tfhe.params().literal().key_switch,
                                   {{samples.lwe.view, switched.view}}});
  std::vector<double> moved = phases(w, switched.view);
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= extracted[i];
  EXPECT_NEAR(deviation(moved) / std::sqrt(key_switch_variance(tfhe.params().noise())), 1, 0.25);

  // If the table is flat, all errors arise on the way from TFHE to CKKS. The identity shows the
  // error of the argument.
  for (const double slope : {0.0, 1.0}) {
    const Table table = make_table(
        w.context(), [slope](double v) { return slope * v + 1 - slope; }, 1);
    SwitchWorld::Values y = w.decrypt(plan.plan().look_up(plan.evaluator(), samples, table));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] -= slope * x[i] + 1 - slope;
    EXPECT_NEAR(deviation(y) / table.report.deviation, 1, 0.15) << slope;
  }
}

// Random ciphertexts under s': the test compares the slots with (I + phase) / K, computed exactly.
TEST_P(NoiseOfSwitching, ProductsFollowTheFormula) {
  const int rows = 128;
  for (const MatvecShape& shape : matvec_shapes(*switch_preset(GetParam()), rows)) {
    SwitchWorld w(GetParam());
    const SwitchParams& params = w.params();
    const tfhe::Context& tfhe = *w.context()->tfhe();
    w.need(shape);
    SwitchOptions options{rows, 1};
    options.route = Route::Matvec;
    const SwitchPlan plan(w, options);
    const MatvecPacker packer(w.context(), shape);
    const auto n = static_cast<std::uint32_t>(params.n());
    const tfhe::Context::Lwe lwe = tfhe.allocate(n, rows);
    const std::uint32_t q = lwe.view.modulus;
    std::vector<std::uint32_t> words(lwe.view.words());
    std::mt19937_64 random(7);
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random() % q);
    tfhe.queue().copy_in(lwe.view.data, words.data(), words.size() * sizeof words[0]);
    std::vector<std::int32_t> order(rows);
    std::vector<double> error;
    for (int j = 0; j < rows; ++j) order[j] = j * 5 % rows;
    const SwitchWorld::Values x = w.decrypt(packer.product(
        plan.evaluator(), w.keys()->matvec.at(shape), lwe.view, order, w.ckks().secret().id()));
    double largest = 0;
    for (int j = 0; j < rows; ++j) {
      const std::uint32_t* a = words.data() + static_cast<std::size_t>(order[j]) * lwe.view.stride;
      std::int64_t twice = 2 * std::int64_t{a[n]};
      for (std::uint32_t i = 0; i < n; ++i) {
        twice += (2 * w.secret().glwe()[i]) * std::int64_t{centre(a[i], q)};
      }
      const double phase = static_cast<double>(twice) / (2.0 * q);  // and a multiple of 1
      const double seen = x[j] * packer.plan().sine.range_k;
      largest = std::max(largest, std::abs(seen));
      error.push_back(std::remainder(seen - phase, 1.0));
    }
    const double ratio = deviation(error) / std::sqrt(packer.product_variance());
    EXPECT_GT(ratio, 0.5) << shape.slots;
    EXPECT_LT(ratio, 2) << shape.slots;
    // Far below what tables leave, and five deviations of I from the end of the range.
    EXPECT_LT(16 * packer.product_variance(),
              params.value_variance() * params.amplitude() * params.amplitude());
    EXPECT_LT(largest, packer.plan().sine.range_k);
    EXPECT_GT(largest, 1.5 * std::sqrt(params.n() / 48.0));
  }
}

TEST_P(NoiseOfSwitching, ValuesWithoutPackingFollowTheFormula) {
  SwitchWorld w(GetParam());
  const int slots = values_of(w.params());
  w.need({slots, slots});
  SwitchOptions options{slots, 1};
  options.route = Route::Matvec;
  const SwitchPlan plan(w, options);
  const SwitchWorld::Values x = SwitchWorld::spread(slots, 1);
  for (const double slope : {0.0, 1.0}) {
    const Table table = make_table(
        w.context(), [slope](double v) { return slope * v + 1 - slope; }, 1);
    SwitchWorld::Values y = plan.apply(x, table);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] -= slope * x[i] + 1 - slope;
    EXPECT_NEAR(deviation(y) / table.matvec_report.deviation, 1, 0.15) << slope;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, NoiseOfSwitching,
                         testing::Values("test-switch-n10-insecure", "test-switch-n12-insecure",
                                         "test-switch-n12-fp64-insecure"));

}  // namespace
}  // namespace latticino::switching
