// Parameter sets from requests. They are as deep as the presets, and refusals name what is
// possible.
#include <gtest/gtest.h>

#include <cmath>

#include "latticino/params.h"
#include "math/errors.h"
#include "params/bounds/security.h"
#include "params/own/request.h"
#include "params/security.h"

namespace latticino {
namespace {

std::string refusal(const ParamsRequest& request) {
  try {
    make_params(request);
  } catch (const ParameterError& e) {
    return e.what();
  }
  return "";
}

TEST(OwnParams, AreAsDeepAsThePresets) {
  for (const char* name : {"n14-d30-leveled-v1", "n14-d40-leveled-v1", "n15-d30-leveled-v1",
                           "n15-d40-leveled-v1", "n16-d30-boot-v1", "n16-d35-boot-v1",
                           "n16-d40-boot-v1", "n16-d45-boot-v1", "n16-d50-boot-v1"}) {
    const auto known = preset(name);
    ParamsRequest request;
    request.n = known->n();
    request.log_scale = known->literal().log_scale;
    request.bootstrapping = known->bootstrap().has_value();
    if (!request.bootstrapping) request.levels = known->default_level();
    const auto made = make_params(request);
    EXPECT_GE(made->default_level(), known->default_level()) << name;
    EXPECT_LE(made->log_pq(), max_log_pq_128(known->log_n())) << name;
  }
}

TEST(OwnParams, HaveEveryScaleAtTheLargestUsualRing) {
  for (double bits = 26; bits <= 60; bits += 0.5) {
    ParamsRequest request;
    request.log_scale = bits;
    request.levels = 8;
    const auto made = make_params(request);
    EXPECT_EQ(made->top_level(), 8) << bits;
    EXPECT_LE(made->scale_drift(), 0.5) << bits;
    EXPECT_GE(security_bits(*made), 128) << bits;
  }
}

TEST(OwnParams, DivideIntoTheDigitsThatAreAskedFor) {
  for (int dnum = 1; dnum <= 12; ++dnum) {
    ParamsRequest request;
    request.log_scale = 30;
    request.levels = 22;
    request.dnum = dnum;
    const std::string why = refusal(request);
    if (why.empty()) {
      EXPECT_EQ(make_params(request)->dnum(), dnum);
    } else {
      EXPECT_NE(why.find("ask for "), std::string::npos) << why;
      EXPECT_NE(why.find("dnum="), std::string::npos) << why;
    }
  }
}

// Lists of scales are packed. Four digits of full words of 31 bits overflow the sums of base
// conversion, and primes below 2^30 do not.
TEST(OwnParams, WordsOf31BitsAcceptWhatNoWordAccepts) {
  ParamsRequest request;
  request.bootstrapping = true;
  request.dnum = 4;
  std::vector<double> scales;
  for (int level = 0; level < 14; ++level) scales.push_back(level % 2 == 0 ? 50 : 50.05);
  request.level_log_scale = scales;
  const auto any = make_params(request);
  request.word = 31;
  const auto made = make_params(request);
  EXPECT_EQ(made->level_after_bootstrap(), 10);
  EXPECT_EQ(made->level_after_bootstrap(), any->level_after_bootstrap());
  EXPECT_GE(security_bits(*made), 128);
}

// The base has two primes. In words of 28 bits it has at most 56 bits, even if the scale would need
// more.
TEST(OwnParams, HaveABaseOfTwoWords) {
  for (const double bits : {45.0, 46.0, 47.0, 49.0, 50.0}) {
    ParamsRequest request;
    request.log_scale = bits;
    request.levels = 3;
    request.word = 28;
    request.bootstrapping = true;
    const auto made = make_params(request);
    EXPECT_EQ(made->level_after_bootstrap(), 3) << bits;
    EXPECT_EQ(made->bootstrap()->log_message_ratio, bits < 50 ? 6 : 5) << bits;
    EXPECT_LT(made->log_q(0), 56) << bits;
  }
}

ParamsRequest list_of(int log_n, std::vector<double> scales) {
  ParamsRequest request;
  request.n = std::int64_t{1} << log_n;
  request.word = 28;
  request.security = 0;
  request.level_log_scale = std::move(scales);
  return request;
}

// More auxiliary primes leave other primes for the chain, and another number of them.
TEST(OwnParams, DivideListsIntoTheDigitsThatAreAskedFor) {
  ParamsRequest request = list_of(16, {34.292, 40.262, 40.084, 31.763, 30, 30, 33.918, 41.122,
                                       35.709, 41.056, 37.889, 41.181, 47.718});
  int made = 0;
  for (int dnum = 1; dnum <= 8; ++dnum) {
    request.dnum = dnum;
    const std::string why = refusal(request);
    if (why.empty()) {
      EXPECT_EQ(make_params(request)->dnum(), dnum);
      ++made;
    } else {
      EXPECT_NE(why.find("a count of digits"), std::string::npos) << why;
      EXPECT_NE(why.find("dnum="), std::string::npos) << why;
    }
  }
  EXPECT_GE(made, 5);
  request.dnum = 1;
  EXPECT_EQ(make_params(request)->dnum(), 1);
}

// A level may exchange primes for others: the modulus grows by less than a prime.
TEST(OwnParams, PackLevelsThatAreSmallerThanAPrime) {
  ParamsRequest request = list_of(12, {60, 31, 58, 45.5, 30});
  const auto made = make_params(request);
  ASSERT_EQ(made->top_level(), 4);
  for (int l = 0; l <= 4; ++l) {
    EXPECT_NEAR(std::log2(made->scale(l)), (*request.level_log_scale)[l], 0.5) << l;
  }
  EXPECT_LT(made->log_q(1) - made->log_q(0), 10);
  // Smaller words are not packed. There a level has primes of its own.
  request.word = 27;
  EXPECT_NE(refusal(request).find("the size of the primes"), std::string::npos);
}

TEST(OwnParams, AreRefusedWithNoMoreThanIsNeeded) {
  ParamsRequest request = list_of(12, {45, 30, 30, 45, 30});
  EXPECT_EQ(refusal(request), "");
  request.word = 27;
  const std::string why = refusal(request);
  EXPECT_NE(why.find("; ask for levels[1]=2**31 and levels=levels[:2]; or for word=None"),
            std::string::npos)
      << why;
  // The levels that fit are packed, too: they have no primes of their own.
  request = list_of(13, {45, 30, 30, 45, 30, 45, 35, 40, 60, 31});
  request.security = 128;
  const std::string cut = refusal(request);
  EXPECT_NE(cut.find("; ask for levels=levels[:"), std::string::npos) << cut;
  EXPECT_EQ(cut.find("levels[:1]"), std::string::npos) << cut;
}

TEST(OwnParams, TablesFallWithSecurity) {
  for (int log_n = 10; log_n <= 17; ++log_n) {
    for (const bool quantum : {false, true}) {
      for (const int bits : {128, 192, 256}) {
        const double bound = max_log_pq(log_n, bits, quantum, 0);
        EXPECT_EQ(bound, max_log_pq(log_n, bits, quantum, 1 << (log_n - 1)));
        EXPECT_LE(max_log_pq(log_n, bits, true, 0), max_log_pq(log_n, bits, false, 0));
        if (bits > 128 && log_n > 10) {
          EXPECT_LT(bound, max_log_pq(log_n, bits - 64, quantum, 0));
        }
        if (log_n > 11) {
          EXPECT_GT(bound, 2 * max_log_pq(log_n - 1, bits, quantum, 0) - 1);
        }
      }
    }
  }
  EXPECT_EQ(max_log_pq(16, 128, false, 192), 0);
  EXPECT_EQ(max_log_pq(16, 128, false, (1 << 15) - 1), 0);
  EXPECT_EQ(max_log_pq(16, 160, false, 0), 0);
}

TEST(OwnParams, AreMadeThroughTheFrontDoor) {
  ParameterRequest request;
  request.n = 1 << 13;
  request.log_scale = 36;
  request.levels = 3;
  request.hamming_weight = 1 << 12;
  const ParameterSet made = ParameterSet::make(request);
  EXPECT_EQ(made.default_level(), 3);
  EXPECT_EQ(made.security_bits(), 128);
  EXPECT_EQ(made.literal().hamming_weight, 1 << 12);
  EXPECT_EQ(made.key_bytes(), made.native()->switching_key_bytes());
  EXPECT_EQ(ParameterSet::make(request).hash(), made.hash());
  EXPECT_EQ(ParameterSet::check(made.literal()).hash(), made.hash());
  request.n = 5000;
  EXPECT_THROW(ParameterSet::make(request), ParameterError);
}

}  // namespace
}  // namespace latticino
