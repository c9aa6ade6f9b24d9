// Measured noise of every part of a bootstrapping against the closed forms of params/tfhe/noise.h,
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

// Each part by itself: its result is compared with the ciphertext before it.
struct Measured {
  double fresh = 0, bootstrap = 0, key_switch = 0, mod_switch = 0;
  std::size_t results = 0;  // samples of `bootstrap`
};

// Measures 2^t functions of the messages below 2^(p - t) over one rotation.
Measured measure(TfheWorld& w, Encoding encoding, std::uint32_t count, int t) {
  const TfheParams& params = *w.params;
  const std::uint32_t q = params.lwe_modulus(), two_n = 2 * static_cast<std::uint32_t>(params.n());
  const std::uint32_t messages = message_count(params, encoding) >> t;
  std::vector<std::uint32_t> m;
  for (std::uint32_t i = 0; i < count; ++i) m.push_back(i % messages);
  Ciphertext x = w.encrypt(m, encoding);
  x.largest = messages - 1;
  const Ciphertext spread = t == 0 ? x : w.evaluator.multiply_clear(x, 1 << t);
  const auto small = static_cast<std::uint32_t>(params.lwe_dimension());
  const Context::Lwe switched = w.context->allocate(small, count);
  const Context::Lwe exponents = w.context->allocate(small, count, two_n);
  Queue& queue = w.context->queue();
  queue.submit(LweKeySwitch{
      w.keys->key_switch.view, params.literal().key_switch, {{spread.view, switched.view}}});
  queue.submit(ModSwitch{!params.literal().ternary, t, {{switched.view, exponents.view}}});
  const auto before = phases(*w.context, w.secret, spread.view);
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
  std::vector<Ciphertext> results;
  if (encoding == Encoding::Boolean) {
    results.push_back(w.evaluator.gate(Gate::And, x, x));
  } else {
    const std::vector values(std::size_t{1} << t, test::every_message(messages));
    results = w.evaluator.apply_many(x, make_table(w.context, values, encoding));
  }
  std::vector<double> noise;
  for (const Ciphertext& y : results) {
    EXPECT_EQ(w.decrypt(y), m);
    const std::vector<double> e = errors(w.secret, y);
    noise.insert(noise.end(), e.begin(), e.end());
  }
  return {mean_square(errors(w.secret, x)), mean_square(noise), mean_square(key_switch),
          mean_square(mod_switch), noise.size()};
}

void expect_within_a_factor_2(double measured, double predicted, const char* what) {
  EXPECT_LT(measured, 4 * predicted) << what;  // variances: a factor of 2 in deviations
  EXPECT_GT(measured, predicted / 4) << what;
}

// How far a measured variance in front of the decision may be from the predicted one, of which it
// is a part. A variance of s samples scatters by sqrt(2 / s) of itself, and that of a part that
// meets a key of n random bits by sqrt(1 / n) for the bits it has, whatever the samples. Parts are
// independent; four deviations of their sum.
double scatter(const TfheParams& params, double result_part, std::size_t results,
               double key_switch_part, double mod_switch_part, std::uint32_t count) {
  const double key = 1.0 / params.lwe_dimension();
  const auto square = [&](double part, double samples) {
    return part * part * (2 / samples + key);
  };
  return 4 * std::sqrt(square(result_part, static_cast<double>(results)) +
                       square(key_switch_part, count) + square(mod_switch_part, count));
}

void expect_formulas(TfheWorld& w, Encoding encoding, std::uint32_t count, int t = 0) {
  const TfheParams& params = *w.params;
  const TfheNoiseModel& model = params.noise();
  const Measured got = measure(w, encoding, count, t);
  const double fresh = params.fresh_sigma() / params.lwe_modulus();
  expect_within_a_factor_2(got.fresh, fresh * fresh, "fresh");
  expect_within_a_factor_2(got.key_switch, key_switch_variance(model), "key switch");
  expect_within_a_factor_2(got.mod_switch, mod_switch_variance(model, t), "modulus switch");
  const bool fourier = w.context->arithmetic() == BlindRotateArithmetic::Fft64;
  expect_within_a_factor_2(
      got.bootstrap,
      bootstrap_variance(model) + drop_variance(model) + (fourier ? fourier_variance(model) : 0),
      "bootstrapping");
  // The failure probability that follows from the measured parts is near the predicted one.
  const double norm = (params.booleans() ? std::sqrt(2) : params.literal().max_norm) * (1 << t);
  const double distance =
      params.booleans() ? 0.125 : std::ldexp(1.0, t - (params.plain_bits() + 2));
  const double variance = norm * norm * got.bootstrap + got.key_switch + got.mod_switch;
  const double predicted = log_failure(params.decision_variance(norm, t, fourier), distance);
  if (t == 0) EXPECT_EQ(predicted, params.log_failure(fourier));
  EXPECT_LE(predicted, params.literal().log_failure);
  // The exponent goes as one over the variance, or a little slower.
  const double expected = params.decision_variance(norm, t, fourier);
  const double band = scatter(params, norm * norm * params.result_variance(fourier) / expected,
                              got.results, key_switch_variance(model) / expected,
                              mod_switch_variance(model, t) / expected, count);
  ASSERT_LT(band, 0.75);  // otherwise there are too few samples
  EXPECT_LT(log_failure(variance, distance) / predicted, 1 / (1 - band));
  EXPECT_GT(log_failure(variance, distance) / predicted, 1 / (1 + band));
}

void expect_formulas(const char* name, Encoding encoding, std::uint32_t count,
                     BlindRotateArithmetic arithmetic = BlindRotateArithmetic::Exact) {
  TfheWorld w(tfhe_preset(name), true, 0, arithmetic);
  expect_formulas(w, encoding, count);
}

TEST(TfheMeasuredNoise, SmallSets) {
  for (const char* name : {"test-tfhe-gates-insecure", "test-tfhe-gates-v2-insecure",
                           "test-tfhe-ternary-insecure", "test-tfhe-group3-insecure"}) {
    SCOPED_TRACE(name);
    expect_formulas(name, Encoding::Boolean, 200);
  }
  TfheWorld w("test-tfhe-2-2-insecure");
  for (int t = 0; t <= 3; ++t) {
    SCOPED_TRACE("2-2, functions: " + std::to_string(1 << t));
    expect_formulas(w, Encoding::Padded, 160, t);
  }
}

// The noise of the default keys, at their dimensions.
TEST(TfheMeasuredNoise, DefaultGates) {
  expect_formulas("tfhe-gates-v1", Encoding::Boolean, 128);
  expect_formulas("tfhe-gates-v2", Encoding::Boolean, 128);
  expect_formulas("tfhe-gates-v2", Encoding::Boolean, 256, BlindRotateArithmetic::Fft64);
}

// One function of 16 messages, and eight functions of 2. (SmallSets has those in between.)
TEST(TfheMeasuredNoise, DefaultIntegers) {
  TfheWorld w("tfhe-2-2-v1");
  for (int t : {0, 3}) {
    SCOPED_TRACE("functions: " + std::to_string(1 << t));
    expect_formulas(w, Encoding::Padded, 128, t);
  }
}

TEST(TfheMeasuredNoise, DefaultIntegersInFp64) {
  expect_formulas("tfhe-2-2-v1", Encoding::Padded, 256, BlindRotateArithmetic::Fft64);
}

TEST(TfheMeasuredNoise, DefaultIntegersOfThreeKeyBitsAStep) {
  expect_formulas("tfhe-2-2-group3-v1", Encoding::Padded, 128);
}

TEST(TfheMeasuredNoise, IntegersOfThreeKeyBitsAStepInFp64) {
  expect_formulas("tfhe-2-2-group3-fft64-v1", Encoding::Padded, 128, BlindRotateArithmetic::Fft64);
}

}  // namespace
}  // namespace latticino::tfhe
