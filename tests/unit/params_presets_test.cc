#include <map>
#include <set>

#include "gtest/gtest.h"
#include "math/big_uint.h"
#include "math/errors.h"
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

// A published set never changes: a change of the generator that reaches one must fail here.
TEST(PresetHashes, AreFrozen) {
  const std::map<std::string, std::string> frozen = {
      {"n13-d30-leveled-v1", "22b1670ad9955fc8e9a4d997c8f084f90ae61d73b3444de41ec39179afafb20a"},
      {"n13-d40-leveled-v1", "405f17a98bb29494cf0a896801a27fc5738ca05bdac5b46f83cde94001691eda"},
      {"n14-d30-leveled-v1", "caf8b501c4a16791bcf66c79cf9b6d5e0d684ac4ed6085544bbfae65383f3bd1"},
      {"n14-d40-leveled-v1", "b269e4627652b45af3fcecdd0e57155dafcb5e1ef78352308bb32a6561c0e57f"},
      {"n15-d30-leveled-v1", "9990c1f3071099c66e1747e852d6f2ab1a9b134a02155ddfaf06c5031de281e6"},
      {"n15-d40-leveled-v1", "49d0af700941258fe7f405f6c4b1190b4d2f16eb9bc85da5c5ea9fd55dbc7526"},
      {"n16-d30-boot-v1", "43af09e261e31c99a2715e7c2b2f443c1fd3658c62be1673be697fde8c6b9af0"},
      {"n16-d35-boot-v1", "3cc94807c1c9757ad08d19c564190ec3a7e7afb470fe7f01ebed9318a9cf9797"},
      {"n16-d40-boot-v1", "5917988cc626e8d46aa028834d4e00197a56ee1b6865bc5e339d5aa29c1e92bc"},
      {"n16-d45-boot-v1", "a685204be1a5f6ee7ce225d24271447535e72961534af7730ad0f5a1424bb81c"},
      {"n16-d50-boot-v1", "8e87c30e29f938c3b23d7072e7ae84462770c98817a4133ccedcc9861bcc3026"},
      {"n16-d40-structured-v1", "44e5c419932f68c11dd6464bf42c2f72f58cd930ce972994039955a082ed723e"},
      {"test-n10-leveled-insecure",
       "2f46f98be7b401a92dbb222f6be5d86abfe4985b82b603b80fc57f4ad83316ef"},
      {"test-n10-boot-insecure",
       "1565f162360dda2275c568faac2aa8ffd57024a6f0d9e8eb8525bbf5c4b30d3f"},
      {"test-n12-boot-insecure",
       "fa26676212646f2ae7028a60c296397098a78b926d7cf71c9cb32e68a59879c3"},
      {"test-n10-d35-boot-insecure",
       "6c311ef8bb4dd67db75cf1ca53cafd35fefb6cdb92aab37fd6148ddf09944ffa"},
      {"test-n10-sr-insecure", "923299a171e6a59e8a1f44e43ddeb4c23d246b132b51eae516456949f02509e8"},
      {"test-n10-dr-insecure", "afbf850ead69df233dff5f52d6b04a73f6c58a8a0de2004656d1b0712fbb8881"},
      {"n14-d35-w28-leveled-v1",
       "47963696f33899e78588fae38524f20824fa4f500d3314d6bc506214a3e0bc48"},
      {"test-n10-bitpacker-insecure",
       "b99f5af28c86a47c1102b7c6aa382de5708a69012950c88d964b7522682d0a3f"},
      {"cheddar-d30-legacy", "90d080d9edf60e2c93c0e1f2f2df5dad6dfbb83de3a2b9324bc810e12b7a94de"},
      {"cheddar-d35-legacy", "91bef5ed3e1a4339a1017bb28361a878d96a687cd90c0aec5a09a605c8afb165"},
      {"cheddar-d40-legacy", "4dca706c911785be431d86e831ab8f8e43bf2b9cd6fde9faa57a92e8aeb40e2c"},
  };
  std::map<std::string, std::string> now;
  for (const std::string& name : preset_names()) now[name] = preset(name)->hash();
  EXPECT_EQ(now, frozen);
}

TEST(PresetNames, UnknownNamesGetSuggestions) {
  try {
    preset("n16-d40-bot-v1");
    FAIL();
  } catch (const ParameterError& e) {
    EXPECT_NE(std::string(e.what()).find("n16-d40-boot-v1"), std::string::npos) << e.what();
  }
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
