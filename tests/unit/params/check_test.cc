// What Params::check refuses, and what it computes.
#include <cmath>
#include <functional>

#include "gtest/gtest.h"
#include "math/errors.h"
#include "math/modulus.h"
#include "math/primes.h"
#include "params/bounds/conversion.h"
#include "params/bounds/security.h"
#include "params/params.h"

namespace latticino {
namespace {

ParamsLiteral small() { return preset("test-n10-leveled-insecure")->literal(); }
ParamsLiteral two_lists() { return preset("test-n10-d34-w28-boot-insecure")->literal(); }
ParamsLiteral small_boot() { return preset("test-n10-boot-insecure")->literal(); }

// Applies `change` to a valid literal. The refusal must mention `about`.
void refuses(ParamsLiteral x, const std::string& about,
             const std::function<void(ParamsLiteral&)>& change) {
  change(x);
  try {
    Params::check(x);
    ADD_FAILURE() << "accepted, expected a refusal about " << about;
  } catch (const ParameterError& e) {
    EXPECT_EQ(e.operation(), "params.check");
    EXPECT_NE(std::string(e.what()).find(about), std::string::npos) << e.what();
  }
}

TEST(ParamsCheck, RefusesBadPrimes) {
  refuses(small(), "among the primes", [](auto& x) { x.mains[3] += 2; });
  refuses(small(), "among the primes", [](auto& x) { x.mains[3] = 2147483659u; });
  refuses(small(), "among the primes", [](auto& x) { x.terminals[0] = 0; });
  refuses(small(), "twice", [](auto& x) { x.mains[3] = x.mains[4]; });
  refuses(small(), "twice", [](auto& x) { x.mains[3] = x.aux[0]; });
  refuses(small(), "auxiliary", [](auto& x) { x.aux.pop_back(); });
  refuses(small(), "auxiliary", [](auto& x) { x.alpha = 0, x.aux.clear(); });
  refuses(small(), "at least one main", [](auto& x) { x.mains.clear(); });
}

TEST(ParamsCheck, RefusesBadShapes) {
  refuses(small(), "levels", [](auto& x) { x.levels.clear(); });
  refuses(small(), "without primes", [](auto& x) { x.levels[0] = {0, 0}; });
  refuses(small(), "more primes than listed", [](auto& x) { x.levels[2].mains = 60; });
  refuses(small(), "without a leaving prime", [](auto& x) { x.levels[3] = x.levels[2]; });
  refuses(small(), "no level uses", [](auto& x) { x.levels.resize(2); });
  refuses(small(), "default level", [](auto& x) { x.default_level = 99; });
}

TEST(ParamsCheck, RefusesBadOuterTerminals) {
  refuses(two_lists(), "twice", [](auto& x) { x.outer[0] = x.terminals[0]; });
  refuses(two_lists(), "among the primes", [](auto& x) { x.outer[0] += 2; });
  refuses(two_lists(), "no level uses", [](auto& x) { x.outer.push_back(12289); });
  refuses(two_lists(), "more primes than listed", [](auto& x) { x.levels[2].outer = 9; });
  refuses(two_lists(), "a top level without all primes",
          [](auto& x) { x.levels[x.levels.size() - 2].outer = 2, x.levels.back().outer = 1; });
}

ParamsLiteral free_terminals() { return preset("test-n10-d36-w28-free-insecure")->literal(); }

TEST(ParamsCheck, RefusesBadChoicesOfTerminals) {
  std::size_t free = 0;
  while (free_terminals().levels[free].chosen == 0) ++free;
  const auto change = [&](auto alter) {
    return [free, alter](ParamsLiteral& x) { alter(x.levels[free]); };
  };
  refuses(free_terminals(), "chosen", change([](LevelShape& s) { ++s.terminals; }));
  refuses(free_terminals(), "chosen", change([](LevelShape& s) { s.chosen |= 0x8000; }));
  refuses(free_terminals(), "more primes than listed",
          change([](LevelShape& s) { s.terminals = 40, s.chosen = 0xFFFF; }));
  refuses(free_terminals(), "the first 2 terminals chosen by number",
          change([](LevelShape& s) { s.terminals = 2, s.chosen = 3; }));
  refuses(two_lists(), "the first 1 terminals chosen by number",
          [](auto& x) { x.levels[2].outer = 1, x.levels[2].chosen_outer = 1; });
  refuses(free_terminals(), "no level uses", [](auto& x) { x.terminals.push_back(12289); });
  refuses(free_terminals(), "without a leaving prime", [](auto& x) { x.levels[4] = x.levels[3]; });
}

TEST(ParamsCheck, RefusesBadBands) {
  const auto bands = [](std::vector<SwitchBand> list) {
    return [list](ParamsLiteral& x) { x.bands = list; };
  };
  refuses(small_boot(), "levels from 1 to the top", bands({{0, 2, 1}}));
  refuses(small_boot(), "levels from 1 to the top", bands({{3, 2, 1}}));
  refuses(small_boot(), "levels from 1 to the top", bands({{3, 99, 1}}));
  refuses(small_boot(), "levels from 5 to the top", bands({{3, 4, 1}, {4, 6, 1}}));
  refuses(small_boot(), "1 to 20 extra primes", bands({{3, 7, 0}}));
  refuses(small_boot(), "1 to 20 extra primes", bands({{3, 7, 21}}));
  refuses(small_boot(), "1 to 0 extra primes", bands({{18, 19, 1}}));
  refuses(two_lists(), "bands of a set with outer", bands({{3, 4, 1}}));
  refuses(preset("test-n10-d36-w28-free-insecure")->literal(), "free terminals",
          bands({{1, 2, 1}}));
  refuses(small_boot(),
          "of the band 5-7:2 with a product above P; needs every digit at most P times",
          [](auto& x) {
            x.bands = {{5, 7, 2}};
            x.mains[x.mains.size() - 2] = 18433, x.mains.back() = 12289;
          });
}

// Every second terminal: then there are as many runs as terminals.
TEST(ParamsCheck, RefusesTooManyRuns) {
  ParamsLiteral x = free_terminals();
  const std::size_t top = x.levels.size() - 1;
  x.terminals = ntt_primes_near(10, log2_fixed(20.0), log2_fixed(1.0), 12, {});
  x.outer.clear();
  for (std::size_t l = 0; l < top; ++l) x.levels[l] = {static_cast<std::uint16_t>(l + 1), 0};
  x.levels[top] = {x.levels[top].mains, 0};
  x.levels[top].terminals = 12;
  x.levels[3] = {x.levels[3].mains, 6, 0, 0b101010101010};
  refuses(x, "8 runs of primes at level 3", [](auto&) {});
}

TEST(ParamsCheck, RefusesBadFields) {
  refuses(small(), "N = 2^9", [](auto& x) { x.log_n = 9; });
  refuses(small(), "scale", [](auto& x) { x.log_scale = NAN; });
  refuses(small(), "scale", [](auto& x) { x.log_scale = 1e9; });
  refuses(small(), "canonical scales off", [](auto& x) { x.log_scale = 39.5; });
  refuses(small(), "scale targets", [](auto& x) { x.level_log_scale = {40}; });
  refuses(preset("test-n10-bitpacker-insecure")->literal(), "scale target",
          [](auto& x) { x.level_log_scale.back() = std::nan(""); });
  refuses(small(), "Hamming weight", [](auto& x) { x.hamming_weight = -1; });
}

TEST(ParamsCheck, NamesMustSpeakOfWeakSecurity) {
  refuses(small(), "insecure", [](auto& x) { x.name = "fine"; });
  refuses(small(), "legacy", [](auto& x) { x.security = ParamsLiteral::Security::Legacy; });
  refuses(small(), "the name", [](auto& x) { x.name = "two words insecure"; });
  refuses(small(), "the name", [](auto& x) { x.name = "line\ninsecure"; });
  refuses(small(), "0 bytes", [](auto& x) { x.name = ""; });
}

TEST(ParamsCheck, HoldsSecureSetsToTheTable) {
  refuses(small(), "log2(P Q)", [](auto& x) { x.security = ParamsLiteral::Security::Bits128; });
  const ParamsLiteral boot = preset("n16-d40-boot-v1")->literal();
  refuses(boot, "Hamming weight 192", [](auto& x) { x.hamming_weight = 192; });
  refuses(boot, "weight 16", [](auto& x) { x.bootstrap->sparse_weight = 16; });
  EXPECT_EQ(max_log_pq_128(16), 1747);
  EXPECT_EQ(max_log_pq_128(15), 868);
  EXPECT_EQ(max_log_pq_128(9), 0);
  EXPECT_EQ(max_log_encapsulation_128(16), 121);
  EXPECT_EQ(max_log_encapsulation_128(15), 84);
  EXPECT_EQ(max_log_encapsulation_128(14), 0);
}

TEST(ParamsCheck, RefusesDigitsAboveP) {
  refuses(small(), "product above P", [](auto& x) { x.aux = ntt_primes_below(10, 1u << 26, 3); });
}

TEST(ParamsCheck, RefusesBadBootstrapping) {
  const auto change = [](auto member, int value) {
    return [=](ParamsLiteral& x) { (*x.bootstrap).*member = value; };
  };
  refuses(small_boot(), "level counts", change(&BootstrapLiteral::cts_levels, 0));
  refuses(small_boot(), "level counts", change(&BootstrapLiteral::evalmod_levels, 2147483647));
  refuses(small_boot(), "levels for bootstrapping", change(&BootstrapLiteral::stc_levels, 12));
  refuses(small_boot(), "EvalMod levels", change(&BootstrapLiteral::evalmod_degree, 60));
  refuses(small_boot(), "message ratio", change(&BootstrapLiteral::log_message_ratio, 20));
  refuses(small_boot(), "out of range", change(&BootstrapLiteral::range_k, 0));
  refuses(small_boot(), "EvalMod levels of", change(&BootstrapLiteral::cts_levels, 2));
  refuses(small_boot(), "default level", [](auto& x) { x.default_level = 3; });
  EXPECT_THROW(preset("test-n10-leveled-insecure")->level_after_bootstrap(), ParameterError);
}

// The load of a conversion, against the same sum with big integers reduced one by one.
TEST(ConversionBound, IsTheSumOfTheTablesRows) {
  const std::vector<std::uint32_t> from = ntt_primes_below(12, 1u << 31, 5);
  const std::vector<std::uint32_t> to = ntt_primes_below(12, 1u << 30, 3);
  for (const bool divided : {false, true}) {
    double most = 0;
    for (const std::uint32_t p : to) {
      double sum = 0;
      for (std::size_t j = 0; j < from.size(); ++j) {
        std::uint64_t entry = 1;
        for (int i = 0; i < 64; ++i) entry = entry * 2 % p;
        for (std::size_t k = 0; k < from.size(); ++k) {
          if (k != j && !divided) entry = entry * (from[k] % p) % p;
        }
        if (divided) {
          const Modulus m = make_modulus(p);
          entry = mul_mod(static_cast<std::uint32_t>(entry), inverse_mod(from[j] % p, m), m);
        }
        sum += static_cast<double>(std::min<std::uint64_t>(entry, p - entry)) * (from[j] / 2);
      }
      most = std::max(most, sum / 9223372036854775808.0);
    }
    EXPECT_NEAR(conversion_load(from, to, divided) / most, 1, 1e-12);
  }
}

TEST(ConversionBound, SixtyFourLargeSourcesOverflow) {
  // 64 sources of 31 bits: about 64 * 2^30 * 2^28 on average, above 2^63.
  const auto primes = ntt_primes_below(12, 1u << 31, 66);
  EXPECT_GT(conversion_load({primes.begin() + 2, primes.end()}, {primes[0], primes[1]}), 1);
}

// The reason why deep chains of full words of 31 bits are refused: a sum over this many primes
// reaches 2^63 on average.
TEST(ConversionBound, SixteenFullWordsReachItOnAverageAndTwentyTwoSmallerOnes) {
  const auto mean = [](double bits, std::size_t sources) {
    const auto bound = static_cast<std::uint32_t>(std::exp2(bits));
    const auto primes = ntt_primes_below(12, bound, 400);
    double sum = 0;
    for (std::size_t i = sources; i < primes.size(); ++i) {
      sum += conversion_load({primes.begin(), primes.begin() + sources}, {primes[i]});
    }
    return sum / static_cast<double>(primes.size() - sources);
  };
  EXPECT_NEAR(mean(31, 16), 1, 0.05);
  EXPECT_NEAR(mean(30.75, 22), 1, 0.05);
}

TEST(Params, FailureProbabilityMatchesTheFormula) {
  // log2 at 2^15 slots, from the same formula in exact rational arithmetic.
  const auto failure = [](int weight, int k) {
    ParamsLiteral x = preset("n16-d40-boot-v1")->literal();
    x.name = "other-insecure";
    x.security = ParamsLiteral::Security::Insecure;
    x.bootstrap->sparse_weight = weight;
    x.bootstrap->range_k = k;
    return Params::check(x)->bootstrap_log_failure();
  };
  EXPECT_NEAR(failure(32, 16), -138.7, 0.06);
  EXPECT_NEAR(failure(32, 12), -34.1, 0.06);
  EXPECT_NEAR(failure(64, 20), -48.6, 0.06);
  EXPECT_NEAR(failure(192, 25), -15.6, 0.06);
  EXPECT_NEAR(failure(192, 36), -48.2, 0.06);
  EXPECT_EQ(failure(32, 17), -INFINITY);
}

TEST(Params, TextRoundTripsAndAlteredTextIsRefused) {
  for (const std::string& name :
       {"n16-d35-boot-v1", "test-n10-bitpacker-insecure", "n16-d35-w28-boot-v1",
        "test-n10-d36-w28-free-insecure", "test-n10-d35-w28-free-boot-insecure",
        "test-n10-bands-insecure"}) {
    const auto p = preset(name);
    const std::string text = p->canonical_text();
    EXPECT_EQ(Params::check(parse_params(text))->hash(), p->hash());
    for (std::size_t cut = 0; cut < text.size(); cut += 7) {
      EXPECT_THROW(parse_params(text.substr(0, cut)), FileError) << cut;
    }
    EXPECT_THROW(parse_params(text + " "), FileError);
    EXPECT_THROW(parse_params(text + std::string(1 << 17, '\n')), FileError);
    std::string altered = text;
    altered.replace(altered.find("alpha "), 7, "alpha  ");
    EXPECT_THROW(parse_params(altered), FileError);
  }
  EXPECT_THROW(parse_params(""), FileError);
}

// Chosen terminals are written in exactly one form.
TEST(Params, OtherFormsOfChosenTerminalsAreRefused) {
  const std::string text = preset("test-n10-d36-w28-free-insecure")->canonical_text();
  const std::size_t at = text.find(':', text.find("levels ")), end = text.find_first_of(" +\n", at);
  const std::string numbers = text.substr(at, end - at);
  EXPECT_EQ(parse_params(text).levels, free_terminals().levels);
  const std::vector<std::string> others = {":",
                                           numbers + ".",
                                           numbers + ".16",
                                           numbers + ".99999",
                                           numbers + ":1",
                                           numbers + numbers,
                                           ":0" + numbers,
                                           ":-1",
                                           ":x",
                                           numbers + ".0.0"};
  for (const std::string& other : others) {
    std::string altered = text;
    altered.replace(at, end - at, other);
    EXPECT_THROW(Params::check(parse_params(altered)), Error) << other;
  }
}

TEST(Params, OtherFormsOfBandsAreRefused) {
  const std::string text = preset("test-n10-bands-insecure")->canonical_text();
  const std::string line = "bands 1-2:1 4-7:2 8-9:3 13-15:1\n";
  const std::size_t at = text.find(line);
  ASSERT_NE(at, std::string::npos);
  for (const char* other :
       {"bands\n", "bands 1-2\n", "bands 1:2-1\n", "bands 1-2:1:1\n", "bands 01-2:1\n",
        "bands 1-2:-1\n", "bands 1-2:99999\n", "bands  1-2:1\n", "bonds 1-2:1\n", "bands x\n"}) {
    std::string altered = text;
    altered.replace(at, line.size(), other);
    EXPECT_THROW(parse_params(altered), FileError) << other;
  }
}

TEST(ParamsCheck, NamesSayWhatASetIs) {
  refuses(small(), "without 'legacy'", [](auto& x) { x.name = "legacy-insecure"; });
  refuses(preset("n13-d30-leveled-v1")->literal(), "without 'insecure'",
          [](auto& x) { x.name = "not-insecure"; });
  refuses(small(), "own parameters", [](auto& x) { std::swap(x.aux[0], x.aux[1]); });
  ParamsLiteral x = small();
  x.name = "mine-insecure";
  std::swap(x.aux[0], x.aux[1]);
  EXPECT_EQ(Params::check(x)->name(), "mine-insecure");
}

TEST(Params, HashDependsOnEveryField) {
  const auto hash = [](const std::function<void(ParamsLiteral&)>& change) {
    ParamsLiteral x = small_boot();
    x.name = "my-insecure";
    change(x);
    return Params::check(x)->hash();
  };
  const std::string plain = hash([](auto&) {});
  EXPECT_EQ(hash([](auto& x) { x.name = "test-n10-boot-insecure"; }),
            preset("test-n10-boot-insecure")->hash());
  EXPECT_NE(plain, hash([](auto& x) { x.name += "-b"; }));
  EXPECT_NE(plain, hash([](auto& x) { x.hamming_weight = 512; }));
  EXPECT_NE(plain, hash([](auto& x) { x.bands = {{5, 7, 1}}; }));
  EXPECT_NE(hash([](auto& x) {
              x.bands = {{5, 7, 2}};
            }),
            hash([](auto& x) {
              x.bands = {{5, 7, 1}};
            }));
  EXPECT_NE(plain, hash([](auto& x) { std::swap(x.aux[4], x.aux[5]); }));
  EXPECT_NE(plain, hash([](auto& x) { x.bootstrap->range_k = 15; }));
  EXPECT_NE(plain, hash([](auto& x) { x.bootstrap->arcsine = true; }));
}

TEST(Params, ExplainStatesWhatMatters) {
  const std::string text = preset("n16-d40-boot-v1")->explain();
  for (const char* word :
       {"1745.9", "1747", "at least 128 bits", "118.0 MiB", "2^-138.7", "13 levels left",
        "weight 32", "112.0 bits", "predicted precision", "terminals:", "hash:",
        "values must lie in the unit box: real and imaginary parts from -1 to 1",
        "large as the scale is raised to q0 / 2^6"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
  EXPECT_NE(preset("cheddar-d35-legacy")->explain().find("LEGACY"), std::string::npos);
  EXPECT_NE(preset("test-n10-sr-insecure")->explain().find("INSECURE"), std::string::npos);
}

TEST(Params, ExplainShowsTheKeysOfBands) {
  const std::string text = preset("n16-d40-boot-v2")->explain();
  for (const char* word : {"keys of level 20: 16 auxiliary primes, 2 digits, 47.0 MiB\n",
                           "keys of levels 23 to 24: 13 auxiliary primes, 3 digits, 78.0 MiB\n"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(preset("n16-d40-boot-v1")->explain().find("keys of level"), std::string::npos);
}

TEST(Params, ExplainShowsBothListsOfTerminals) {
  const std::string text = preset("n16-d35-w28-boot-v1")->explain();
  for (const char* word : {"45 mains + 3 terminals + 2 outer terminals", "main+ter+outer",
                           "   45+3+2 ", "    0+0+2 ", "outer terminals: 5767169 72744961\n"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(preset("n16-d35-w30-boot-v1")->explain().find("outer"), std::string::npos);
}

TEST(Params, ExplainShowsWhichTerminalsALevelHas) {
  const auto p = preset("test-n10-d36-w28-free-insecure");
  const std::string text = p->explain();
  EXPECT_NE(text.find(":which"), std::string::npos) << text;
  int free = 0;
  for (const LevelShape& s : p->literal().levels) {
    free += s.free();
    EXPECT_NE(text.find("  " + s.str() + " "), std::string::npos) << s.str();
  }
  EXPECT_GT(free, 2);
  EXPECT_EQ(preset("n16-d35-w28-boot-v1")->explain().find(":which"), std::string::npos);
}

TEST(Params, SineErrorLimitsMessagesWithOneLargeCoefficient) {
  const auto plain = preset("n16-d40-boot-v1");
  const BootstrapPrecision predicted = plain->bootstrap_precision();
  const BootstrapPrecision ratio10 = preset("n16-d40-structured-v1")->bootstrap_precision();
  const double e = plain->bootstrap_message_ratio();
  EXPECT_LE(std::log2(e), -plain->bootstrap()->log_message_ratio);
  EXPECT_NEAR(std::log2(e), -plain->bootstrap()->log_message_ratio, 0.2);
  // x - sin(2 pi x e) / (2 pi e) = (2 pi e)^2 / 6 for x = 1, in every slot.
  EXPECT_NEAR(predicted.constant.mean, -std::log2(6.58 * e * e), 0.02);
  EXPECT_NEAR(ratio10.constant.mean, -std::log2(6.58) + 20, 0.05);
  EXPECT_NEAR(predicted.alternating.mean - predicted.constant.mean, 1, 0.05);
  EXPECT_GE(ratio10.constant.mean, 15);
  EXPECT_GE(predicted.random.mean, 21.5);
}

}  // namespace
}  // namespace latticino
