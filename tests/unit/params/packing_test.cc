// Schedules of scales packed into words. Chains are compared with the request, without any code of
// the planner.
#include <bit>
#include <cmath>
#include <ctime>
#include <regex>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "math/errors.h"
#include "math/primes.h"
#include "params/chain/bitpacker.h"
#include "params/chain/packing.h"

namespace latticino {
namespace {

constexpr double kSlack = 1e-6;  // the code uses logarithms in some places

double log2_of(const PackedChain& chain, const PackedLevel& level) {
  double sum = 0;
  for (int m = 0; m < level.mains; ++m) sum += std::log2(chain.mains.at(m));
  for (std::size_t i = 0; i < chain.terminals.size(); ++i) {
    if ((level.terminals >> i) & 1) sum += std::log2(chain.terminals[i]);
  }
  return sum;
}

void expect_primes(const PackingPlan& plan, const PackedChain& chain) {
  std::set<std::uint32_t> seen;
  for (const auto* list : {&chain.terminals, &chain.mains, &chain.aux}) {
    for (const std::uint32_t q : *list) {
      EXPECT_LT(q, std::exp2(plan.prime_bits()));
      EXPECT_TRUE(is_ntt_prime(plan.log_n, q)) << q;
      EXPECT_TRUE(seen.insert(q).second) << q << " twice";
    }
  }
  EXPECT_EQ(static_cast<int>(chain.aux.size()), plan.alpha);
}

void expect_levels(const PackingPlan& plan, const PackedChain& chain) {
  const std::size_t users = plan.level_log_scale.size();
  ASSERT_EQ(chain.levels.size(), users + plan.raised.size());
  double below = 0, scale = plan.level_log_scale[0];
  for (std::size_t l = 0; l < chain.levels.size(); ++l) {
    SCOPED_TRACE("level " + std::to_string(l));
    const PackedLevel& level = chain.levels[l];
    const double q = log2_of(chain, level);
    EXPECT_EQ(level.terminals >> chain.terminals.size(), 0u);
    if (l < users || !plan.raised[l - users].pulls) {
      EXPECT_LE(std::popcount(level.terminals), plan.most_terminals);
    }
    if (l == 0) {
      EXPECT_NEAR(q, plan.base_bits, 0.5 + kSlack);
    } else {
      const PackedLevel& last = chain.levels[l - 1];
      EXPECT_TRUE(level.mains > last.mains || (level.terminals & ~last.terminals) != 0);
    }
    if (l > 0 && l < users) {
      scale = (scale + q - below) / 2;
      EXPECT_NEAR(scale, plan.level_log_scale[l], 0.25 + kSlack);
    }
    if (l >= users) {
      const PackedStep& s = plan.raised[l - users];
      EXPECT_GT(q - below, s.bits - s.tolerance - kSlack);
      EXPECT_LT(q - below, s.bits + (s.pulls ? 4 : s.tolerance) + kSlack);
    }
    below = q;
  }
  if (plan.raised.empty()) return;
  EXPECT_EQ(chain.levels.back().mains, static_cast<int>(chain.mains.size()));
  EXPECT_EQ(std::popcount(chain.levels.back().terminals), static_cast<int>(chain.terminals.size()));
}

void expect_packed(const PackingPlan& plan) {
  const std::clock_t start = std::clock();  // CPU time, because tests share the processor
  const PackedChain chain = pack_primes(plan);
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  testing::Test::RecordProperty("milliseconds", static_cast<int>(1000 * took));
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(took, 1);
#endif
  expect_primes(plan, chain);
  expect_levels(plan, chain);
}

// Eight EvalMod levels and four of CoeffToSlot.
std::vector<PackedStep> raised(double evalmod, double cts) {
  std::vector<PackedStep> out(8, {evalmod});
  out.insert(out.end(), 4, {cts, 0.5, true});
  return out;
}

// Levels at the scale of an application, then three for SlotToCoeff.
std::vector<double> scales(double application, int levels, double stc) {
  std::vector<double> out(levels + 1, application);
  out.insert(out.end(), 3, stc);
  return out;
}

struct Schedule {
  const char* name;
  double base;
  std::vector<double> scale;
  std::vector<PackedStep> raised;
};

// Flat ones, and the bootstrapping scales of the BitPacker paper (Sec. 5: 52, 55 and 30 bits; 54,
// 60 and 40) under its applications at 35 and 45 bits.
std::vector<Schedule> six() {
  return {{"flat35", 50, std::vector<double>(21, 35), {}},
          {"flat45", 55, std::vector<double>(16, 45), {}},
          {"bs19under35", 50, scales(35, 14, 30), raised(55, 52)},
          {"bs19under45", 55, scales(45, 10, 30), raised(55, 52)},
          {"bs26under35", 50, scales(35, 12, 40), raised(60, 54)},
          {"bs26under45", 55, scales(45, 9, 40), raised(60, 54)}};
}

// Every level has the first terminals of each list, and what leaves it is, with the auxiliary
// primes, at most three runs of terminals, mains, outer terminals and auxiliary primes.
void expect_two_lists(const PackedChain& chain) {
  const std::uint32_t outer = chain.outer.value();
  for (std::size_t l = 0; l < chain.levels.size(); ++l) {
    SCOPED_TRACE("level " + std::to_string(l));
    const PackedLevel level = chain.levels[l];
    for (const bool side : {false, true}) {
      bool all = true;
      for (std::size_t i = 0; i < chain.terminals.size(); ++i) {
        if ((((outer >> i) & 1) != 0) != side) continue;
        const bool has = ((level.terminals >> i) & 1) != 0;
        EXPECT_TRUE(all || !has) << i;
        all = has;
      }
    }
    if (l == 0) continue;
    const PackedLevel last = chain.levels[l - 1];
    const std::uint32_t leaving = level.terminals & ~last.terminals;
    const int runs = ((leaving & ~outer) != 0) + (level.mains > last.mains) +
                     ((leaving & outer) != 0 && (last.terminals & outer) != 0) + 1;
    EXPECT_LE(runs, 3);
  }
}

class SixSchedules : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(SixSchedules, ArePackedWithinASecond) {
  const auto [which, word] = GetParam();
  const Schedule s = six()[which];
  PackingPlan plan{16, word, s.base, s.scale, 12, s.raised};
  plan.terminals = PackingPlan::Terminals::Free;
  expect_packed(plan);
}

INSTANTIATE_TEST_SUITE_P(Words, SixSchedules,
                         testing::Combine(testing::Range(0, 6), testing::Range(28, 32)),
                         [](const auto& info) {
                           return std::string(six()[std::get<0>(info.param)].name) + "_w" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST(Packing, TakesAPrefixWhereOneIsFound) {
  PackingPlan plan{12, 30, 50, std::vector<double>(8, 45), 3};
  const PackedChain chain = pack_primes(plan);
  EXPECT_EQ(chain.outer, 0u);
  expect_two_lists(chain);
  expect_packed(plan);
  plan.terminals = PackingPlan::Terminals::Prefix;
  expect_packed(plan);
}

// At N = 2^16 no prefix serves these in words of 28 bits; two lists do.
TEST(Packing, TakesTwoListsWhereOneDoesNotDo) {
  PackingPlan plan{16, 28, 48.5, scales(34.9, 16, 34.9), 13, raised(55.4, 52)};
  plan.terminals = PackingPlan::Terminals::Prefix;
  EXPECT_THROW(pack_primes(plan), ParameterError);
  for (const auto terminals : {PackingPlan::Terminals::Lists, PackingPlan::Terminals::Either}) {
    plan.terminals = terminals;
    const PackedChain chain = pack_primes(plan);
    ASSERT_TRUE(chain.outer.has_value());
    EXPECT_NE(*chain.outer, 0u);
    expect_two_lists(chain);
  }
  expect_packed(plan);
  plan.base_bits = 55.5, plan.level_log_scale = scales(44.9, 11, 44.9), plan.most_terminals = 5;
  plan.raised = raised(59.5, 50);
  expect_packed(plan);
  expect_two_lists(pack_primes(plan));
  plan.word_bits = 30;  // here one list is enough
  plan.base_bits = 53, plan.level_log_scale = scales(45, 11, 45), plan.raised = raised(59, 52);
  EXPECT_EQ(pack_primes(plan).outer, 0u);
}

TEST(Packing, TakesUnevenSchedulesAndOtherRings) {
  for (const int word : {28, 29, 30, 31}) {
    expect_packed({12, word, 50, {40, 38.5, 33.25, 42, 30}, 3});
    expect_packed({12, word, 60, {60, 31, 58, 45.5, 30}, 3});
    expect_packed({10, word, 50, {40, 38, 34.5, 33, 36}, 1});
    expect_packed({12, word, 45, {35}, 1});
  }
  expect_packed({17, 31, 60, std::vector<double>(41, 45), 12});
}

TEST(Packing, IsTheSameEveryTime) {
  const PackingPlan plan{16, 28, 50, scales(35, 14, 35), 12, raised(55, 52)};
  const PackedChain a = pack_primes(plan), b = pack_primes(plan);
  EXPECT_EQ(a.terminals, b.terminals);
  EXPECT_EQ(a.mains, b.mains);
}

std::string refusal(const PackingPlan& plan) {
  try {
    pack_primes(plan);
  } catch (const ParameterError& e) {
    return e.what();
  }
  return "";
}

// Every number after "choose" must work: with it, the refused level is accepted.
TEST(Packing, RefusesWithTheLevelAndScalesThatDo) {
  // No three primes of 19 bits at N = 2^16: 57.5 bits are neither two words nor three primes.
  PackingPlan plan{16, 28, 57.5, {35, 35, 35}, 12};
  const std::string base = refusal(plan);
  EXPECT_NE(base.find("level 0 with a base of 2^57.50"), std::string::npos) << base;
  EXPECT_NE(base.find("choose a base of 2^55.86 or 2^61.15"), std::string::npos) << base;
  for (const double bits : {55.86, 61.15}) {
    plan.base_bits = bits;
    expect_packed(plan);
  }

  // From 2^60 to 2^30 one rescale would divide by nothing.
  plan = {16, 30, 60, {60, 30, 30}, 12};
  const std::string level = refusal(plan);
  EXPECT_NE(level.find("level 1 with a scale of 2^30.00 above 2^60.00"), std::string::npos)
      << level;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(level, found, std::regex("choose a scale of 2\\^([0-9.]+)")));
  plan.level_log_scale = {60, std::stod(found[1]), 45};
  expect_packed(plan);

  // Bootstrapping takes a base of two primes.
  plan = {12, 28, 58, std::vector<double>(5, 40), 6, raised(55, 52)};
  EXPECT_NE(refusal(plan).find("at most 2 in all; choose a base of 2^56.00"), std::string::npos);
}

// A factor is tried as it is printed: 60.8536 bits would do here, 60.85 would not.
TEST(Packing, NamesFactorsThatDoAsPrinted) {
  PackingPlan plan{
      17,
      29,
      54,
      {54,       41.15415, 47.98482, 47.58675, 58.62318, 37.90233, 38.17545, 37.79487, 50.22528,
       35.45811, 40.7664,  38.54547, 51.12765, 33.85584, 59.82315, 31.35828, 47.2275,  58.42062,
       40.30944, 40.42023, 32.28504, 40.75674, 50.56059, 46.82394, 41.78721},
      6};
  plan.raised.assign(8, {57.0945});
  plan.raised.insert(plan.raised.end(), 4, {59.6036, 0.5, true});
  plan.terminals = PackingPlan::Terminals::Free;
  const std::string text = refusal(plan);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex("choose ([0-9.]+)( or ([0-9.]+))? bits")))
      << text;
  for (const int group : {1, 3}) {
    if (!found[group].matched) continue;
    PackingPlan other = plan;
    for (std::size_t i = 8; i < other.raised.size(); ++i)
      other.raised[i].bits = std::stod(found[group]);
    EXPECT_EQ(refusal(other).find("level 33"), std::string::npos) << found[group];
  }
}

TEST(Packing, RefusesWhatNoPrimesServe) {
  const std::string text = refusal({17, 28, 50, std::vector<double>(80, 45), 12});
  EXPECT_NE(text.find("level "), std::string::npos) << text;
  EXPECT_THROW(pack_primes({12, 27, 50, {40}, 3}), ParameterError);
  EXPECT_THROW(pack_primes({12, 32, 50, {40}, 3}), ParameterError);
  EXPECT_THROW(pack_primes({12, 28, 50, {}, 3}), ParameterError);
  EXPECT_THROW(pack_primes({12, 28, 30, {40}, 3}), ParameterError);
  EXPECT_THROW(pack_primes({18, 28, 50, {40}, 3}), ParameterError);
  EXPECT_THROW(pack_primes({12, 28, 50, {40, 130}, 3}), ParameterError);
  EXPECT_THROW(pack_primes({12, 28, 50, {40}, 0}), ParameterError);
}

// For example, primes below 2^30.75 in words of 31 bits.
TEST(Packing, KeepsAMarginBelowTheWord) {
  PackingPlan plan{16, 31, 56.3, scales(50, 10, 50), 12, raised(58, 50)};
  plan.terminals = PackingPlan::Terminals::Lists;
  plan.margin = 0.25;
  expect_packed(plan);
  for (const double margin : {0.0, 0.25, 0.5, 1.0}) {
    plan = {12, 31, 50, std::vector<double>(4, 31 - margin), 3};
    plan.margin = margin;
    expect_packed(plan);
    EXPECT_GT(std::log2(pack_primes(plan).aux.front()), 31 - margin - 0.001);
  }
  for (const double margin : {-0.1, 1.1}) {
    plan.margin = margin;
    EXPECT_NE(refusal(plan).find("margin"), std::string::npos) << refusal(plan);
  }
  plan = {16, 28, 57.5, {35, 35, 35}, 12};
  plan.margin = 0.25;
  EXPECT_NE(refusal(plan).find("primes below 2^27.75"), std::string::npos) << refusal(plan);
}

// The same refusal without the scales that do, which take several searches to find.
TEST(Packing, RefusesWithoutAdvice) {
  PackingPlan plan{16, 28, 57.5, {35, 35, 35}, 12};
  const std::string advised = refusal(plan);
  plan.advises = false;
  const std::string bare = refusal(plan);
  EXPECT_EQ(bare.substr(0, bare.rfind("; ")), advised.substr(0, advised.rfind("; ")));
  EXPECT_NE(bare, advised);
  try {
    pack_primes(plan);
    FAIL() << "packed";
  } catch (const PackingRefusal& e) {
    EXPECT_EQ(e.level(), 0);
    EXPECT_TRUE(e.nearest().empty());
  }
}

TEST(Packing, LeavesOutPrimesThatNoLevelHas) {
  PackedChain chain;
  chain.terminals = {101, 102, 103, 104};
  chain.mains = {201, 202, 203};
  chain.levels = {{1, 0b1000}, {1, 0b1001}, {2, 0b0001}};
  chain.outer = 0b1010;
  const PackedChain used = packing::with_used_primes(chain);
  EXPECT_EQ(used.terminals, (std::vector<std::uint32_t>{101, 104}));
  EXPECT_EQ(used.mains, (std::vector<std::uint32_t>{201, 202}));
  EXPECT_EQ(used.outer, 0b10u);
  const std::uint32_t terminals[] = {0b10, 0b11, 0b01};
  for (std::size_t l = 0; l < chain.levels.size(); ++l) {
    EXPECT_EQ(used.levels[l].mains, chain.levels[l].mains);
    EXPECT_EQ(used.levels[l].terminals, terminals[l]);
  }
}

}  // namespace
}  // namespace latticino
