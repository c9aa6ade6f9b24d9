#include <map>
#include <set>
#include <tuple>

#include "gtest/gtest.h"
#include "math/big_uint.h"
#include "math/errors.h"
#include "math/primes.h"
#include "params/params.h"
#include "params/switch/params.h"

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

// One run each, or two where a set has outer terminals: the second ends at the auxiliary primes.
// Free terminals take more. A basis that has more runs than one can have would throw.
TEST_P(Preset, LevelsAreContiguousAndTheTopHoldsEveryPrimeWhereItBootstraps) {
  const auto p = preset(GetParam());
  const bool outer = !p->literal().outer.empty();
  for (int l = 0; l <= p->top_level(); ++l) {
    if (!p->free_terminals()) {
      EXPECT_LE(p->basis(l).runs(), outer ? 2 : 1) << l;
      EXPECT_LE(p->extended(l).runs(), 2) << l;
    }
    for (const auto& group : p->digit_groups(l)) p->extended(l).without(p->group_basis(l, group));
    if (l > 0) p->leaving(l).with(p->aux_basis(l));
    EXPECT_EQ(p->key_layout(l).aux.intersect(p->basis(l)).size(), 0) << l;
    EXPECT_EQ(p->basis(l).size(), p->limbs(l)) << l;
    int covered = 0;
    for (const auto& group : p->digit_groups(l)) covered += p->group_basis(l, group).size();
    EXPECT_EQ(covered, p->limbs(l)) << l;
    if (l == 0) continue;
    EXPECT_EQ(p->basis(l).without(p->leaving(l)).with(p->entering(l)), p->basis(l - 1)) << l;
  }
  if (p->bootstrap()) {
    EXPECT_EQ(p->limbs(p->top_level()), p->q_count());
  }
  Basis all;
  for (const Basis& digit : p->key_layouts()[0].digits) all = all.with(digit);
  EXPECT_EQ(all, (Basis{{0, static_cast<std::uint16_t>(p->q_count())}}));
}

// Switching with fewer digits and auxiliary primes costs a bit of noise at most, none at the top.
TEST_P(Preset, KeySwitchesKeepTheirNoise) {
  const auto p = preset(GetParam());
  for (int l = 0; l <= p->top_level(); ++l) {
    const Basis aux = p->aux_basis(l);
    EXPECT_EQ(p->extended(l), p->basis(l).with(aux)) << l;
    const int digits = static_cast<int>(p->active_digits(l).size());
    const int groups = static_cast<int>(p->digit_groups(l).size());
    EXPECT_GE(groups, digits - 1) << l;
    if (groups > 1 || l == p->top_level()) {
      EXPECT_EQ(aux, p->key_layout(l).aux) << l;
    }
    if (groups == digits && aux == p->key_layout(l).aux) continue;
    EXPECT_LE(p->key_error_variance(l), 3 * p->division_variance(aux.size())) << l;
    EXPECT_LE(p->key_switch_variance(l, false),
              4 * p->division_variance(p->key_layout(l).aux.size()))
        << l;
  }
  EXPECT_EQ(static_cast<int>(p->digit_groups(p->top_level()).size()), p->dnum());
}

TEST(KeySwitching, TakesDigitsAsOneAndAPartOfPWhereTheyFit) {
  using Groups = std::vector<std::vector<int>>;
  const auto p = preset("n16-d40-boot-v1");
  const auto expect = [&](int level, const Groups& groups, int aux) {
    EXPECT_EQ(p->digit_groups(level), groups) << level;
    EXPECT_EQ(p->aux_basis(level).size(), aux) << level;
  };
  expect(28, {{0}, {1}, {2}, {3}}, 12);
  expect(22, {{0, 3}, {1}, {2}}, 12);
  expect(16, {{0, 2}, {1}}, 12);
  expect(8, {{0, 1}}, 12);
  expect(7, {{0, 1}}, 11);
  expect(4, {{0}}, 7);
  expect(1, {{0}}, 3);
  EXPECT_THROW(p->digit_groups(29), LevelError);
  EXPECT_THROW(p->aux_basis(-1), LevelError);
}

// Extra primes are the last mains, next to P; digits are of the primes of the band's levels.
TEST(KeySwitching, TakesFewerAndLargerDigitsInBands) {
  const auto v1 = preset("n16-d40-boot-v1"), v2 = preset("n16-d40-boot-v2");
  EXPECT_EQ(v2->ring_primes(), v1->ring_primes());
  EXPECT_EQ(v2->log_pq(), v1->log_pq());
  const auto sizes = [](const std::vector<Basis>& digits) {
    std::vector<int> out;
    for (const Basis& digit : digits) out.push_back(digit.size());
    return out;
  };
  const auto expect = [&](int level, int band, const std::vector<int>& digits, int extra) {
    EXPECT_EQ(v2->band(level), band) << level;
    const Params::KeyLayout& layout = v2->key_layout(level);
    EXPECT_EQ(sizes(layout.digits), digits) << level;
    EXPECT_EQ(layout.aux, (Basis{{static_cast<std::uint16_t>(47 - extra), 59}})) << level;
    EXPECT_EQ(v2->aux_basis(level), layout.aux) << level;
    EXPECT_EQ(v2->digit_groups(level).size(), digits.size()) << level;
  };
  expect(17, 1, {13, 12}, 1);
  expect(18, 2, {14, 13}, 2);
  expect(19, 3, {15, 14}, 3);
  expect(20, 4, {16, 15}, 4);
  expect(23, 5, {13, 13, 13}, 1);
  expect(24, 5, {13, 13, 13}, 1);
  for (int l = 0; l <= v1->top_level(); ++l) {
    // A switch adds at most a little more than with P alone, because more primes are divided by.
    EXPECT_LE(v2->key_switch_variance(l, false), 1.4 * v1->key_switch_variance(l, false)) << l;
    if (v2->band(l) != 0) continue;
    EXPECT_EQ(v2->digit_groups(l), v1->digit_groups(l)) << l;
    EXPECT_EQ(v2->extended(l), v1->extended(l)) << l;
    EXPECT_EQ(v2->key_layout(l).digits, v1->key_layout(l).digits) << l;
  }
  EXPECT_THROW(v2->band(29), LevelError);
}

// Within a band, too, digits that have lost primes become one, with fewer auxiliary primes.
TEST(KeySwitching, MergesTheDigitsOfABand) {
  const auto p = preset("test-n10-bands-insecure");
  EXPECT_EQ(p->digit_groups(4), (std::vector<std::vector<int>>{{0, 1}}));
  EXPECT_EQ(p->digit_groups(7).size(), 2u);
  EXPECT_LT(p->aux_basis(4).size(), p->key_layout(4).aux.size());
  EXPECT_EQ(p->key_layout(4).digits, p->key_layout(7).digits);
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

// The BitPacker sets with bootstrapping are as requested: words below 2^28 or 2^30, at most five
// terminals below CoeffToSlot, and no fewer levels than the 25-30 set of that scale.
class PackedPresets : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(PackedPresets, KeepTheirWordsAndTheLevelsOfTheirScale) {
  const auto [scale, word] = GetParam();
  const auto p = preset("n16-d" + std::string(scale) + "-w" + std::to_string(word) + "-boot-v1");
  for (const std::uint32_t q : p->ring_primes()) EXPECT_LT(q, 1u << word);
  EXPECT_EQ(p->literal().outer.empty(), word == 30);
  for (int l = 0; l <= p->top_level() - p->bootstrap()->cts_levels; ++l) {
    EXPECT_LE(p->literal().levels[l].terminals + p->literal().levels[l].outer, 5);
  }
  EXPECT_EQ(p->dnum(), 4);
  EXPECT_GE(p->level_after_bootstrap(),
            preset("n16-d" + std::string(scale) + "-boot-v1")->level_after_bootstrap());
  EXPECT_LT(p->bootstrap_log_failure(), -100);
  EXPECT_GT(p->bootstrap_precision().random.mean, 19);
}

TEST(PrecisePreset, Keeps26Bits) {
  const auto p = preset("n16-d48-w30-precise-v1");
  for (const std::uint32_t q : p->ring_primes()) EXPECT_LT(q, 1u << 30);
  EXPECT_TRUE(p->bootstrap()->arcsine);
  EXPECT_EQ(p->level_after_bootstrap(), 6);
  EXPECT_GT(p->bootstrap_precision().random.mean, 26);
  EXPECT_LT(p->bootstrap_log_failure(), -100);
}

// Two primes leave with every level, and four digits hold all primes.
TEST(PairPreset, DividesByTwoPrimesAtEveryLevel) {
  const auto p = preset("n16-d48-dr-boot-v1");
  for (int l = 1; l <= p->top_level(); ++l) EXPECT_EQ(p->leaving(l).size(), 2) << l;
  EXPECT_EQ(p->level_after_bootstrap(), 10);
  EXPECT_EQ(p->dnum(), 4);
  EXPECT_GT(p->bootstrap_precision().random.mean, 22);
  EXPECT_LT(p->bootstrap_log_failure(), -100);
}

// Contexts ask for sets often, each for all sets of switching.
TEST(Presets, AreCheckedOnce) {
  EXPECT_EQ(preset("test-n10-boot-insecure"), preset("test-n10-boot-insecure"));
  EXPECT_NE(preset("test-n10-boot-insecure"), preset("test-n10-leveled-insecure"));
  const auto set = switch_preset("test-switch-n10-insecure");
  EXPECT_EQ(set, switch_preset("test-switch-n10-insecure"));
  EXPECT_EQ(set->shared_ckks(), preset(set->ckks().name()));
}

// The sizes that the papers' tables state.
TEST(LegacyPresets, HaveTheSizesOfTheirPapers) {
  const auto theodosian = preset("theodosian-d35-legacy");
  EXPECT_NEAR(theodosian->log_pq(), 1711, 0.5);
  EXPECT_EQ(theodosian->literal().hamming_weight, 1024);
  EXPECT_EQ(theodosian->bootstrap()->sparse_weight, 32);
  EXPECT_EQ(theodosian->level_after_bootstrap(), 15);
  const auto chameleon = preset("chameleon-d51-legacy");
  EXPECT_NEAR(chameleon->log_q(chameleon->top_level()), 2305, 1);
  EXPECT_EQ(chameleon->top_level(), 44);
  EXPECT_EQ(chameleon->dnum(), 45);
}

INSTANTIATE_TEST_SUITE_P(All, PackedPresets,
                         testing::Combine(testing::Values("35", "45"), testing::Values(28, 30)),
                         [](const auto& info) {
                           return "d" + std::string(std::get<0>(info.param)) + "_w" +
                                  std::to_string(std::get<1>(info.param));
                         });

// A published set never changes. If a change of the generator affects one, this test must fail.
TEST(PresetHashes, AreFrozen) {
  const std::map<std::string, std::string> frozen = {
      {"n13-d30-leveled-v1", "22b1670ad9955fc8e9a4d997c8f084f90ae61d73b3444de41ec39179afafb20a"},
      {"n13-d40-leveled-v1", "405f17a98bb29494cf0a896801a27fc5738ca05bdac5b46f83cde94001691eda"},
      {"n14-d30-leveled-v1", "caf8b501c4a16791bcf66c79cf9b6d5e0d684ac4ed6085544bbfae65383f3bd1"},
      {"n14-d40-leveled-v1", "b269e4627652b45af3fcecdd0e57155dafcb5e1ef78352308bb32a6561c0e57f"},
      {"n15-d30-leveled-v1", "9990c1f3071099c66e1747e852d6f2ab1a9b134a02155ddfaf06c5031de281e6"},
      {"n15-d40-leveled-v1", "49d0af700941258fe7f405f6c4b1190b4d2f16eb9bc85da5c5ea9fd55dbc7526"},
      {"n16-d30-boot-v1", "4f1add5210e95bd8adf2aed6a1e21f183f85eaf9b2f06f4756c5be2da6a5d9a5"},
      {"n16-d35-boot-v1", "f4a5d90498e7a8a343abffa0f7eef2549bdd50a2e2bdaf82a9a06e1da01e21ff"},
      {"n16-d40-boot-v1", "4ebde9ae4c4400755e6215415da3330ab590f468ced68bda405d5620869b5827"},
      {"n16-d40-boot-v2", "1eb97cb83cf7c0b52b56be9e6551f204a40fc27c776660ef6e9b384ca2d20355"},
      {"n16-d45-boot-v1", "849008774e98b7d0ae2c1047c79273675093dd6f3eb1ed6f9643b0da1eb02323"},
      {"n16-d50-boot-v1", "07535fc691e447a0886037988de658c6d5d33ffb09f18f1683e08a02d303e128"},
      {"n16-d40-structured-v1", "44e5c419932f68c11dd6464bf42c2f72f58cd930ce972994039955a082ed723e"},
      {"test-n10-leveled-insecure",
       "2f46f98be7b401a92dbb222f6be5d86abfe4985b82b603b80fc57f4ad83316ef"},
      {"test-n10-boot-insecure",
       "1565f162360dda2275c568faac2aa8ffd57024a6f0d9e8eb8525bbf5c4b30d3f"},
      {"test-n10-bands-insecure",
       "65750f01fe03d42ac3dc89361ccfcf1de8924eba237351ab652cc94bc6fa66dc"},
      {"test-n12-boot-insecure",
       "fa26676212646f2ae7028a60c296397098a78b926d7cf71c9cb32e68a59879c3"},
      {"test-n10-d35-boot-insecure",
       "6c311ef8bb4dd67db75cf1ca53cafd35fefb6cdb92aab37fd6148ddf09944ffa"},
      {"test-n10-sr-insecure", "923299a171e6a59e8a1f44e43ddeb4c23d246b132b51eae516456949f02509e8"},
      {"test-n10-dr-insecure", "afbf850ead69df233dff5f52d6b04a73f6c58a8a0de2004656d1b0712fbb8881"},
      {"test-n10-dr-boot-insecure",
       "681fd1b6d8a5b1dc26bf92eeb3a19c4d9fa448f352273beef228f5324c1773b8"},
      {"n14-d35-w28-leveled-v1",
       "47963696f33899e78588fae38524f20824fa4f500d3314d6bc506214a3e0bc48"},
      {"test-n10-bitpacker-insecure",
       "b99f5af28c86a47c1102b7c6aa382de5708a69012950c88d964b7522682d0a3f"},
      {"n16-d35-w30-boot-v1", "34b51355638f754858a92ad9dc5e0f621a06a34bd5213f9c1a9d82196c40273f"},
      {"n16-d45-w30-boot-v1", "9db1d7b50eeba249cc0f0d91f0ac4185f51f1607e2e2078c6a5696b98d1cc977"},
      {"test-n10-d35-w30-boot-insecure",
       "40e8508c1d9474680e6e29d97c9aa70d93a16bdae1108a9e9e8378aab13fac82"},
      {"n16-d35-w28-boot-v1", "b38be5e4ad493bb64b92ae3573dd060427de5c4b9d13cba9373a7a4105064044"},
      {"n16-d45-w28-boot-v1", "d0264a723b52cbcafc2d2c4f82b1b54b3dd8d7fea7eee90bb539e6dabc20652b"},
      {"test-n10-d34-w28-boot-insecure",
       "194eb672d5340070d1ee9627b436b3f8895a4317978538b5f6b08a42b112866b"},
      {"test-n10-d36-w28-free-insecure",
       "0cf002004385da9c628a1681e5b2b0fbbd473a4b42c9e7533950db0152850617"},
      {"test-n10-d35-w28-free-boot-insecure",
       "3d60d5a3adae7a2241c6954ac4e34418809133a3337d13234cd64c87d4fcee50"},
      {"n16-d48-w30-precise-v1",
       "825cf082b88e17ad4ccf386aafbfc45cab79dc250078de20a8135c84dab4dfa3"},
      {"test-n10-d48-w30-precise-insecure",
       "718de3695e6833cc32caccca087233078a38d3251add7f7d7eb89823b98bb399"},
      {"n16-d48-dr-boot-v1", "b042e6a2d537791fbd447665954acb43f64bea536786f5b77a4e80b3518fa513"},
      {"cheddar-d30-legacy", "90d080d9edf60e2c93c0e1f2f2df5dad6dfbb83de3a2b9324bc810e12b7a94de"},
      {"cheddar-d35-legacy", "91bef5ed3e1a4339a1017bb28361a878d96a687cd90c0aec5a09a605c8afb165"},
      {"cheddar-d40-legacy", "4dca706c911785be431d86e831ab8f8e43bf2b9cd6fde9faa57a92e8aeb40e2c"},
      {"theodosian-d35-legacy", "6ac33d59e88566d1d15c60212465fdfd99dcfa90c083187eaa2c1c94928a00c8"},
      {"chameleon-d51-legacy", "6b480f9eb4602cf0b3d961e873e05fd4c3ac240e6b8cddee575bcf9220212b1b"},
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

// Before, messages had the whole name, and the search for names like it took half a minute.
TEST(Presets, ShortenLongNamesInMessages) {
  try {
    preset(std::string(1000000, 'x'));
    ADD_FAILURE() << "there is no such set";
  } catch (const ParameterError& e) {
    EXPECT_LT(std::string(e.what()).size(), 400u);
    EXPECT_NE(std::string(e.what()).find("xx...'"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("ParameterSet::presets"), std::string::npos) << e.what();
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
