// Measured noise of every part of a bootstrapping against the closed forms of params/tfhe_noise.h,
// and what failure probability the measurement extrapolates to.
#include <gtest/gtest.h>

#include "support/tfhe_support.h"

namespace latticino::tfhe {
namespace {

using test::TfheWorld;

double mean_square(const std::vector<double>& x) {
  const double deviation = test::deviation(x);
  return deviation * deviation;
}

double centred_part(std::uint32_t phase, std::uint32_t expected, std::uint32_t q) {
  return static_cast<double>(centre(sub_mod(phase, expected, q), q)) / q;
}

// Each part on its own, relative to the ciphertext that went in.
struct Measured {
  double fresh = 0, bootstrap = 0, key_switch = 0, mod_switch = 0;
};

Measured measure(TfheWorld& w, Encoding encoding, std::uint32_t count) {
  const TfheParams& params = *w.params;
  const std::uint32_t q = params.lwe_modulus(), two_n = 2 * static_cast<std::uint32_t>(params.n());
  const std::uint32_t messages = message_count(params, encoding);
  std::vector<std::uint32_t> m;
  for (std::uint32_t i = 0; i < count; ++i) m.push_back(i % messages);
  const Ciphertext x = w.encrypt(m, encoding);
  const auto small = static_cast<std::uint32_t>(params.lwe_dimension());
  const Context::Lwe switched = w.context->allocate(small, count);
  const Context::Lwe exponents = w.context->allocate(small, count, two_n);
  Queue& queue = w.context->queue();
  queue.submit(LweKeySwitch{
      w.keys->key_switch.view, params.literal().key_switch, {{x.view, switched.view}}});
  queue.submit(ModSwitch{!params.literal().ternary, 0, {{switched.view, exponents.view}}});
  const auto before = phases(*w.context, w.secret, x.view);
  const auto after = phases(*w.context, w.secret, switched.view);
  std::vector<std::uint32_t> words(exponents.view.words());
  queue.copy_out(words.data(), exponents.view.data, words.size() * sizeof(std::uint32_t));
  std::vector<double> key_switch, mod_switch;
  for (std::uint32_t i = 0; i < count; ++i) {
    key_switch.push_back(centred_part(after[i], before[i], q));
    const std::uint32_t* e = words.data() + i * exponents.view.stride;
    std::uint32_t phase = e[small];
    for (std::uint32_t k = 0; k < small; ++k)
      phase += e[k] * static_cast<std::uint32_t>(w.secret.lwe()[k]);
    const double turns =
        static_cast<double>(phase % two_n) / two_n - static_cast<double>(after[i]) / q;
    mod_switch.push_back(turns - std::round(turns));
  }
  const Ciphertext y = encoding == Encoding::Boolean
                           ? w.evaluator.gate(Gate::And, x, x)
                           : w.evaluator.apply(x, make_table(w.context, [](auto v) { return v; }));
  EXPECT_EQ(w.decrypt(y), m);
  return {mean_square(errors(w.secret, x)), mean_square(errors(w.secret, y)),
          mean_square(key_switch), mean_square(mod_switch)};
}

void expect_within_a_factor_2(double measured, double predicted, const char* what) {
  EXPECT_LT(measured, 4 * predicted) << what;  // of deviations
  EXPECT_GT(measured, predicted / 4) << what;
}

void expect_formulas(const char* name, Encoding encoding, std::uint32_t count) {
  TfheWorld w{std::string(name)};
  const TfheParams& params = *w.params;
  const TfheNoiseModel& model = params.noise();
  const Measured got = measure(w, encoding, count);
  const double fresh = params.fresh_sigma() / params.lwe_modulus();
  expect_within_a_factor_2(got.fresh, fresh * fresh, "fresh");
  expect_within_a_factor_2(got.key_switch, key_switch_variance(model), "key switch");
  expect_within_a_factor_2(got.mod_switch, mod_switch_variance(model), "modulus switch");
  expect_within_a_factor_2(got.bootstrap, bootstrap_variance(model) + drop_variance(model),
                           "bootstrapping");
  // The failure probability that the measured parts give is near the one predicted.
  const double norm2 =
      params.booleans() ? 2 : params.literal().max_norm * params.literal().max_norm;
  const double distance = params.booleans() ? 0.125 : std::exp2(-(params.plain_bits() + 2));
  const double variance = norm2 * got.bootstrap + got.key_switch + got.mod_switch;
  const double extrapolated = log_failure(variance, distance);
  EXPECT_LT(extrapolated / params.log_failure(), 2);
  EXPECT_GT(extrapolated / params.log_failure(), 0.5);
}

TEST(TfheMeasuredNoise, SmallSets) {
  for (const char* name :
       {"test-tfhe-gates-insecure", "test-tfhe-ternary-insecure", "test-tfhe-group3-insecure"}) {
    SCOPED_TRACE(name);
    expect_formulas(name, Encoding::Boolean, 200);
  }
  SCOPED_TRACE("2-2");
  expect_formulas("test-tfhe-2-2-insecure", Encoding::Padded, 160);
}

// The noise of the default keys, at their dimensions.
TEST(TfheMeasuredNoise, DefaultGates) { expect_formulas("tfhe-gates-v1", Encoding::Boolean, 64); }

TEST(TfheMeasuredNoise, DefaultIntegers) { expect_formulas("tfhe-2-2-v1", Encoding::Padded, 32); }

TEST(TfheMeasuredNoise, DefaultIntegersOfThreeKeyBitsAStep) {
  expect_formulas("tfhe-2-2-group3-v1", Encoding::Padded, 32);
}

}  // namespace
}  // namespace latticino::tfhe
