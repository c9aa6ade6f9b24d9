// Sets of switching: which are accepted, which are refused, and their stated errors.
#include <gtest/gtest.h>

#include <cmath>
#include <locale>

#include "math/errors.h"
#include "params/bounds/security.h"
#include "params/switch/params.h"

namespace latticino {
namespace {

using Security = ParamsLiteral::Security;

SwitchLiteral good() {
  SwitchLiteral x = switch_preset("switch-n16-d40-v1")->literal();
  x.name = "switch-of-ours";  // the name of a preset may only be used without changes
  return x;
}
std::shared_ptr<const SwitchParams> checked(const SwitchLiteral& x,
                                            const char* ckks = "n16-d40-boot-v1") {
  return SwitchParams::check(preset(ckks), x);
}

TEST(SwitchParams, PresetsKeepTheirPromises) {
  for (const std::string& name : switch_preset_names()) {
    const auto p = switch_preset(name);
    EXPECT_EQ(p->name(), name);
    EXPECT_NE(p->explain().find(name), std::string::npos);
    EXPECT_GT(p->fill(), 0.9);
    // Normal noise: mean and the worst of 10^4, of the bound, where the slope is 1.
    const double deviation = std::hypot(4 / p->fill() * std::sqrt(p->lookup_variance()),
                                        std::sqrt(p->packed_variance()));
    const bool precise = name.find("precise") != std::string::npos;
    EXPECT_LT(0.798 * deviation, precise ? 0x1p-10 : 0x1p-8) << p->explain();
    EXPECT_LT(3.9 * deviation, 0x1p-6) << p->explain();
    if (p->literal().security != Security::Bits128) {
      EXPECT_NE(name.find("insecure"), std::string::npos);
      continue;
    }
    EXPECT_LE(p->log_key_modulus(), max_log_pq_128(p->literal().log_n));
    EXPECT_EQ(p->ckks().literal().security, Security::Bits128);
    EXPECT_GE(p->tfhe()->security_bits(), 128);
  }
}

TEST(SwitchParams, SharesPrimesOfTheRing) {
  const auto p = switch_preset("switch-n16-d40-v1");
  const auto& primes = p->ckks().ring_primes();
  ASSERT_EQ(p->ring_basis().size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(primes[p->ring_basis().prime(i)], p->tfhe()->literal().primes[i]);
    EXPECT_EQ(primes[p->ring_basis().prime(i)], p->packing()->literal().mains[i]);
    EXPECT_LE(p->packing()->literal().mains[i], p->packing()->literal().aux[0]);
  }
  EXPECT_EQ(primes[p->key_aux().prime(0)], p->packing()->literal().aux[0]);
  EXPECT_EQ(p->gap(), 16);
}

TEST(SwitchParams, RefusesWhatDoesNotFit) {
  SwitchLiteral x = good();
  EXPECT_NO_THROW(checked(x));
  EXPECT_THROW(checked(x, "n15-d40-leveled-v1"), ParameterError);
  EXPECT_THROW(checked(x, "test-n12-boot-insecure"), ParameterError);
  x.log_n = 9;
  EXPECT_THROW(checked(x), ParameterError);
  x = good();
  x.log_n = 11;  // 93 bits of keys: 53 are allowed
  EXPECT_THROW(checked(x), ParameterError);
  x = good();
  x.lwe_sigma = 3.19;
  EXPECT_THROW(checked(x), ParameterError);
  x = good();
  x.lwe_dimension = 600;  // the noise that it needs leaves no range for the table
  EXPECT_THROW(checked(x), ParameterError);
  x = good();
  x.security = Security::Insecure;
  EXPECT_THROW(checked(x), ParameterError);
  x.name = "insecure";
  EXPECT_NO_THROW(checked(x));
  EXPECT_THROW(switch_preset("switch"), ParameterError);
}

// FP64 cannot compute these: sums of one wide digit's products, and larger rings.
TEST(SwitchParams, Fp64HasItsOwnLimitsAndNoise) {
  SwitchLiteral x = good();
  x.fourier = true;
  EXPECT_THROW(checked(x), ParameterError);
  x.bootstrap = {15, 2};
  const auto fp64 = checked(x);
  x.fourier = false;
  const auto exact = checked(x);
  EXPECT_NE(fp64->hash(), exact->hash());
  const double rounded = fourier_variance(fp64->tfhe()->noise());
  const double added = rounded / (fp64->amplitude() * fp64->amplitude());
  const double tolerance = 1e-3 * fp64->packed_variance();
  EXPECT_NEAR(fp64->packed_variance() - exact->packed_variance(), added, tolerance);
  EXPECT_NEAR(fp64->value_variance() - exact->value_variance(), added, tolerance);
  EXPECT_LT(fp64->packed_variance(), checked(good())->packed_variance());
  x = switch_preset("switch-n16-d40-precise-v1")->literal();
  x.name = "switch-of-ours";
  x.bootstrap = {15, 2};
  EXPECT_NO_THROW(checked(x));
  x.fourier = true;
  try {
    checked(x);
    FAIL() << "nothing was thrown";
  } catch (const ParameterError& e) {
    EXPECT_NE(std::string(e.what()).find("N = 2^13"), std::string::npos) << e.what();
  }
}

TEST(SwitchParams, NamesOfPresetsAreTheirs) {
  SwitchLiteral x = good();
  x.name = "switch-n16-d40-v1";
  EXPECT_NO_THROW(checked(x));
  x.lwe_dimension += 8;
  EXPECT_THROW(checked(x), ParameterError);
  x.name = "not-insecure";
  EXPECT_THROW(checked(x), ParameterError);
}

// Before, a set could have the name of a preset of another scheme.
TEST(SwitchParams, NamesOfPresetsAreTheirsInEveryScheme) {
  SwitchLiteral x = good();
  for (const char* name : {"test-n12-boot-insecure", "test-tfhe-2-2-insecure"}) {
    x.name = name;
    EXPECT_THROW(checked(x), ParameterError) << name;
  }
  TfheLiteral y = tfhe_preset("test-tfhe-2-2-tiny-insecure")->literal();
  for (const char* name : {"test-n12-boot-insecure", "test-switch-n10-insecure"}) {
    y.name = name;
    EXPECT_THROW(TfheParams::check(y), ParameterError) << name;
  }
  ParamsLiteral z = preset("test-n10-leveled-insecure")->literal();
  for (const char* name : {"test-tfhe-2-2-insecure", "test-switch-n10-insecure"}) {
    z.name = name;
    EXPECT_THROW(Params::check(z), ParameterError) << name;
  }
}

TEST(SwitchParams, HashFollowsTheText) {
  SwitchLiteral x = good();
  const std::string hash = checked(x)->hash();
  EXPECT_EQ(checked(x)->hash(), hash);
  x.lwe_dimension += 8;
  EXPECT_NE(checked(x)->hash(), hash);
}

// Digits in groups, as many locales write them.
TEST(SwitchParams, HashIsThatOfEveryLocale) {
  class Grouped : public std::numpunct<char> {
    std::string do_grouping() const override { return "\3"; }
  };
  const auto before = checked(good());
  const std::locale classic = std::locale::global(std::locale(std::locale(), new Grouped));
  const auto grouped = checked(good());
  std::locale::global(classic);
  EXPECT_EQ(grouped->canonical_text(), before->canonical_text());
  EXPECT_EQ(grouped->hash(), before->hash());
  EXPECT_EQ(grouped->explain(), before->explain());
}

// Without packing the second prime is dropped. With and without it, most of the variance comes from
// the blind rotation. The range holds at least 11 deviations. It grows with the root of N', and
// hardly with the number of values.
TEST(SwitchParams, PhasesWithoutPacking) {
  const auto params = switch_preset("switch-n16-d40-v1");
  EXPECT_NEAR(params->value_variance() / params->packed_variance(), 1, 0.01);
  EXPECT_EQ(params->overflow_range(64), 103);
  EXPECT_EQ(params->overflow_range(1 << 15), 108);
  EXPECT_EQ(switch_preset("switch-n16-d40-precise-v1")->overflow_range(1 << 15), 152);
  EXPECT_EQ(switch_preset("test-switch-n10-insecure")->overflow_range(64), 52);
}

}  // namespace
}  // namespace latticino
