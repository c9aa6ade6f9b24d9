// TFHE parameters: presets, refusals, and the noise formulas against published sets.
#include <cmath>
#include <functional>
#include <iostream>
#include <set>

#include "gtest/gtest.h"
#include "math/errors.h"
#include "params/bounds/security.h"
#include "params/tfhe/params.h"

namespace latticino {
namespace {

class TfhePreset : public testing::TestWithParam<std::string> {};

TEST_P(TfhePreset, IsSecureOrSaysThatItIsNot) {
  const auto p = tfhe_preset(GetParam());
  EXPECT_EQ(p->name(), GetParam());
  EXPECT_EQ(p->hash().size(), 64u);
  EXPECT_LE(p->log_failure(), p->literal().log_failure);
  switch (p->literal().security) {
    case ParamsLiteral::Security::Bits128:
      EXPECT_GE(p->security_bits(), 128);
      EXPECT_EQ(p->name().find("p64") != std::string::npos, p->literal().log_failure > -128);
      break;
    case ParamsLiteral::Security::Legacy:
      EXPECT_NE(p->name().find("legacy"), std::string::npos);
      break;
    case ParamsLiteral::Security::Insecure:
      EXPECT_NE(p->name().find("insecure"), std::string::npos);
  }
  EXPECT_NE(p->explain().find("failure probability"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, TfhePreset, testing::ValuesIn(tfhe_preset_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(TfhePresets, LegacySetsHaveTheSecurityThatTheEstimatorGives) {
  EXPECT_NEAR(tfhe_preset("chameleon-500-legacy")->security_bits(), 93.7, 1.6);
  EXPECT_NEAR(tfhe_preset("chameleon-630-legacy")->security_bits(), 118.3, 1.6);
  EXPECT_NEAR(tfhe_preset("chameleon-592-legacy")->security_bits(), 111.1, 1.6);
}

// Rows of estimator runs: dimension, log2(sigma / q), least of the attacks.
TEST(TfheSecurity, FitsTheEstimator) {
  const double rows[][3] = {{630, -15, 118.3},  {500, -15.32, 93.7},   {866, -18.9, 132.5},
                            {1024, -25, 122.2}, {1024, -27.05, 113.9}, {2048, -48.32, 133.1}};
  for (const auto& row : rows) {
    EXPECT_NEAR(estimated_lwe_bits(static_cast<int>(row[0]), row[1]), row[2], 1.5);
  }
  // By that fit, the enforced curve is above 128 bits, and not far above.
  for (int n = 500; n <= 4096; n += 50) {
    EXPECT_GT(estimated_lwe_bits(n, min_log_lwe_noise_128(n)), 128) << n;
    EXPECT_LT(estimated_lwe_bits(n, min_log_lwe_noise_128(n)), 138) << n;
  }
}

// Sets of tfhe-rs with the failure probability published for them: 64-bit torus, FP64 transform.
TfheNoiseModel published(int n, int k, int degree, double lwe_sigma, double glwe_sigma,
                         Gadget bootstrap, Gadget key_switch) {
  TfheNoiseModel m;
  m.lwe_dimension = n;
  m.glwe_dimension = k;
  m.degree = degree;
  m.lwe_sigma = lwe_sigma;
  m.glwe_sigma = glwe_sigma;
  m.bootstrap = bootstrap;
  m.key_switch = key_switch;
  m.bootstrap_step = -bootstrap.levels * bootstrap.log_base;
  m.key_switch_step = -key_switch.levels * key_switch.log_base;
  m.log_lwe_modulus = m.log_ring_modulus = 64;
  return m;
}

double log_failure_of(const TfheNoiseModel& m, double norm, int bits) {
  const double variance = norm * norm * (bootstrap_variance(m) + fft64_variance(m)) +
                          key_switch_variance(m) + mod_switch_variance(m);
  return log_failure(variance, std::exp2(-(bits + 1)));
}

TEST(TfheNoise, GivesPublishedFailureProbabilities) {
  const auto uniform = [](int bits) { return std::exp2(bits - 64) / std::sqrt(3); };
  EXPECT_NEAR(log_failure_of(published(866, 1, 2048, 2.046151696979124e-06, 2.845267479601915e-15,
                                       {23, 1}, {3, 5}),
                             5, 5),
              -128.6, 0.7);
  EXPECT_NEAR(
      log_failure_of(published(918, 1, 2048, uniform(45), uniform(17), {23, 1}, {4, 4}), 5, 5),
      -129.6, 0.7);
  EXPECT_NEAR(
      log_failure_of(published(879, 4, 512, uniform(46), uniform(17), {23, 1}, {5, 3}), 3, 3),
      -144.3, 0.7);
}

TEST(TfheNoise, CentringTheModulusSwitchHalvesItsVariance) {
  TfheNoiseModel m = tfhe_preset("tfhe-2-2-v1")->noise();
  const double centred = mod_switch_variance(m);
  m.centred = false;
  EXPECT_NEAR(mod_switch_variance(m) / centred, 2, 0.02);
  EXPECT_DOUBLE_EQ(mod_switch_variance(m, 2) / mod_switch_variance(m), 16);
}

void refuses(const char* name, const std::string& about,
             const std::function<void(TfheLiteral&)>& change) {
  TfheLiteral x = tfhe_preset(name)->literal();
  change(x);
  try {
    TfheParams::check(x);
    ADD_FAILURE() << "accepted, expected a refusal about " << about;
  } catch (const ParameterError& e) {
    EXPECT_NE(std::string(e.what()).find(about), std::string::npos) << e.what();
  }
}

TEST(TfheParamsCheck, Refuses) {
  constexpr const char* kGates = "tfhe-gates-v1";
  refuses(kGates, "LWE noise", [](auto& x) { x.lwe_sigma /= 2; });
  refuses(kGates, "LWE noise", [](auto& x) { x.lwe_dimension -= 44; });
  refuses(kGates, "GLWE noise", [](auto& x) { x.glwe_dimension = 1; });
  refuses(kGates, "at least 3.19", [](auto& x) { x.glwe_sigma = 1; });
  refuses(kGates, "failure probability", [](auto& x) { x.lwe_sigma *= 2; });
  refuses(kGates, "failure probability", [](auto& x) { x.log_failure = -1000; });
  refuses(kGates, "log2(N)", [](auto& x) { x.log_n = 9; });
  refuses(kGates, "primes", [](auto& x) { x.primes.clear(); });
  refuses(kGates, "q = ", [](auto& x) { x.primes[0] += 2; });
  refuses(kGates, "distinct", [](auto& x) { x.primes.push_back(x.primes[0]); });
  refuses(kGates, "gadget of", [](auto& x) { x.bootstrap = {16, 2}; });
  refuses(kGates, "group", [](auto& x) { x.group = 5; });
  refuses(kGates, "multiple of the group", [](auto& x) { x.group = 3; });
  refuses(kGates, "ternary", [](auto& x) { x.group = 2, x.ternary = true; });
  refuses(kGates, "LWE sigma", [](auto& x) { x.lwe_sigma = std::nan(""); });
  refuses("tfhe-2-2-v1", "failure probability", [](auto& x) { x.max_norm = 10; });
  refuses("tfhe-2-2-v1", "message", [](auto& x) { x.message_bits = 9; });
  EXPECT_THROW(tfhe_preset("tfhe"), ParameterError);
}

}  // namespace
}  // namespace latticino
