#include <cmath>
#include <set>

#include "gtest/gtest.h"
#include "math/big_uint.h"
#include "math/primes.h"
#include "params/params.h"

namespace latticino {
namespace {

class Preset : public testing::TestWithParam<std::string> {};

TEST_P(Preset, IsCheckedAndKeepsItsScales) {
  const auto p = preset(GetParam());
  EXPECT_EQ(p->name(), GetParam());
  EXPECT_EQ(p->hash().size(), 64u);
  const bool imported = p->literal().security == ParamsLiteral::Security::Legacy;
  const double drift = imported ? 0.11 : p->literal().level_log_scale.empty() ? 0.1 : 0.5;
  EXPECT_LE(p->scale_drift(), drift);
  std::set<std::uint32_t> primes(p->ring_primes().begin(), p->ring_primes().end());
  EXPECT_EQ(primes.size(), p->ring_primes().size());
  for (const std::uint32_t q : primes) EXPECT_TRUE(is_ntt_prime(p->log_n(), q)) << q;
}

TEST_P(Preset, LevelsAreContiguousAndTheTopHoldsEveryPrimeWhereItBootstraps) {
  const auto p = preset(GetParam());
  for (int l = 0; l <= p->top_level(); ++l) {
    EXPECT_EQ(p->basis(l).runs(), 1) << l;
    EXPECT_EQ(p->basis(l).size(), p->limbs(l)) << l;
    int covered = 0;
    for (const int j : p->active_digits(l)) covered += p->digit(j).intersect(p->basis(l)).size();
    EXPECT_EQ(covered, p->limbs(l)) << l;
    if (l == 0) continue;
    EXPECT_EQ(p->basis(l).without(p->leaving(l)).with(p->entering(l)), p->basis(l - 1)) << l;
  }
  if (p->bootstrap()) {
    EXPECT_EQ(p->limbs(p->top_level()), p->q_count());
  }
}

// S_l^2 = S_(l-1) Q_l / Q_(l-1), with the moduli as integers.
TEST_P(Preset, CanonicalScalesFollowTheExactModuli) {
  const auto p = preset(GetParam());
  const auto modulus = [&](int level) {
    BigUint q(1);
    const Basis b = p->basis(level);
    for (int i = 0; i < b.size(); ++i) q *= p->ring_primes()[b.prime(i)];
    return q;
  };
  for (int l = 1; l <= p->top_level(); ++l) {
    const double r = BigUint::ratio(modulus(l), modulus(l - 1));
    EXPECT_EQ(p->rescale_factor(l), r) << l;
    if (l > p->default_level()) continue;
    EXPECT_NEAR(p->scale(l) * p->scale(l) / (p->scale(l - 1) * r), 1, 1e-15) << l;
  }
}

TEST_P(Preset, NameTellsItsSecurity) {
  const auto p = preset(GetParam());
  const auto security = p->literal().security;
  EXPECT_EQ(GetParam().find("legacy") != std::string::npos,
            security == ParamsLiteral::Security::Legacy);
  EXPECT_EQ(GetParam().find("insecure") != std::string::npos,
            security == ParamsLiteral::Security::Insecure);
}

INSTANTIATE_TEST_SUITE_P(All, Preset, testing::ValuesIn(preset_names()), [](const auto& info) {
  std::string s = info.param;
  for (char& c : s) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return s;
});

}  // namespace
}  // namespace latticino
