// Free terminals in the order of the ring, and parameter sets that use them.
#include "params/chain/arrange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "math/errors.h"
#include "params/params.h"

namespace latticino {
namespace {

using Terminals = PackingPlan::Terminals;

ParamsLiteral literal_of(const PackingPlan& plan, const PackedChain& chain) {
  ParamsLiteral x = arranged(chain);
  x.name = "arranged-insecure";
  x.security = ParamsLiteral::Security::Insecure;
  x.log_n = plan.log_n;
  x.log_scale = plan.level_log_scale[0];
  x.level_log_scale = plan.level_log_scale;
  for (const PackedStep& s : plan.raised) x.level_log_scale.push_back(s.bits);
  if (!plan.raised.empty()) {
    x.bootstrap = BootstrapLiteral{};
    x.bootstrap->cts_levels = static_cast<int>(plan.raised.size()) - 8;
    x.bootstrap->log_message_ratio = 5;
  }
  return x;
}

// The primes of a level, by value.
std::set<std::uint32_t> primes_of(const PackedChain& chain, int l) {
  const PackedLevel& level = chain.levels[l];
  std::set<std::uint32_t> out(chain.mains.begin(), chain.mains.begin() + level.mains);
  for (std::size_t t = 0; t < chain.terminals.size(); ++t) {
    if ((level.terminals >> t & 1) != 0) out.insert(chain.terminals[t]);
  }
  return out;
}

// A set whose levels have the primes of the chain, and a text that says so.
std::shared_ptr<const Params> expect_set(const PackingPlan& plan, const PackedChain& chain) {
  const auto p = Params::check(literal_of(plan, chain));
  for (int l = 0; l <= p->top_level(); ++l) {
    const Basis basis = p->basis(l);
    std::set<std::uint32_t> primes;
    for (int i = 0; i < basis.size(); ++i) primes.insert(p->ring_primes()[basis.prime(i)]);
    EXPECT_EQ(primes, primes_of(chain, l)) << l;
    EXPECT_EQ(p->limbs(l), basis.size());
    EXPECT_LE(p->extended(l).runs(), Basis::kMaxRuns);
  }
  EXPECT_EQ(parse_params(p->canonical_text()).levels, p->literal().levels);
  EXPECT_EQ(Params::check(parse_params(p->canonical_text()))->hash(), p->hash());
  return p;
}

std::vector<double> scales(double application, int levels, double stc) {
  std::vector<double> out(levels + 1, application);
  out.insert(out.end(), 3, stc);
  return out;
}

std::vector<PackedStep> raised(double evalmod, double cts) {
  std::vector<PackedStep> out(8, {evalmod});
  out.insert(out.end(), 4, {cts, 0.5, true});
  return out;
}

// The six schedules of packing_test.cc in all words, with four digits, or a few more where sums of
// conversions have no room for so many auxiliary primes (words of 31 bits).
class SixSets : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(SixSets, AreAccepted) {
  const auto [which, word] = GetParam();
  const struct {
    double base;
    std::vector<double> scale;
    std::vector<PackedStep> raised;
  } all[] = {{50, std::vector<double>(21, 35), {}},    {55, std::vector<double>(16, 45), {}},
             {50, scales(35, 14, 30), raised(55, 52)}, {55, scales(45, 10, 30), raised(55, 52)},
             {50, scales(35, 12, 40), raised(60, 54)}, {55, scales(45, 9, 40), raised(60, 54)}};
  PackingPlan plan{16, word, all[which].base, all[which].scale, 12, all[which].raised};
  plan.terminals = Terminals::Free;
  std::string why;
  for (int digits = 4; digits <= 6; ++digits) {
    plan.alpha = 1;
    PackedChain chain = pack_primes(plan);
    while (digits * plan.alpha < static_cast<int>(chain.mains.size() + chain.terminals.size())) {
      ++plan.alpha;
      chain = pack_primes(plan);
    }
    try {
      Params::check(literal_of(plan, chain));
    } catch (const ParameterError& e) {
      why = e.what();
      ASSERT_NE(why.find("accumulators"), std::string::npos) << why;
      continue;
    }
    expect_set(plan, chain);
    return;
  }
  FAIL() << why;
}

INSTANTIATE_TEST_SUITE_P(Words, SixSets,
                         testing::Combine(testing::Range(0, 6), testing::Range(28, 32)),
                         [](const auto& info) {
                           return "schedule" + std::to_string(std::get<0>(info.param)) + "_w" +
                                  std::to_string(std::get<1>(info.param));
                         });

// Random schedules, from the same numbers on every machine.
TEST(Arrange, MakesSetsOfRandomSchedules) {
  std::mt19937_64 random(11);
  const auto real = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() % 1000001) / 1e6;
  };
  int sets = 0, free = 0, most = 0, one_pass = 0;
  for (int i = 0; i < 40; ++i) {
    PackingPlan plan;
    plan.log_n = 12 + static_cast<int>(random() % 4);
    plan.word_bits = 28 + static_cast<int>(random() % 4);
    plan.alpha = 2 + static_cast<int>(random() % 6);
    plan.terminals = Terminals::Free;
    for (int l = 0; l < 12; ++l) plan.level_log_scale.push_back(real(32, 58));
    plan.base_bits = plan.level_log_scale[0] + real(2, 12);
    try {
      const PackedChain chain = pack_primes(plan);
      EXPECT_EQ(arranged(chain).levels, arranged(chain).levels);
      const auto p = expect_set(plan, chain);
      ++sets;
      free += p->free_terminals();
      for (int l = 0; l <= p->top_level(); ++l) {
        most = std::max(most, p->extended(l).runs());
        one_pass += p->basis(l).runs() <= 3;
      }
    } catch (const PackingRefusal& e) {
      EXPECT_LT(e.level(), 12) << e.what();
    }
  }
  EXPECT_GT(sets, 20);
  EXPECT_GT(free, 15);
  EXPECT_GT(most, 3);
  EXPECT_GT(one_pass, 12 * sets * 9 / 10);
}

std::string refusal(const ParamsLiteral& x) {
  try {
    Params::check(x);
  } catch (const ParameterError& e) {
    return e.what();
  }
  return "";
}

// A schedule of the study (3765 of seed 1). With one auxiliary prime it can be packed, but a base
// of two primes needs two of them. Beside two, other primes are left for the levels.
TEST(Arrange, BootstrapsBesideAsManyAuxiliaryPrimesAsTheBaseHas) {
  PackingPlan plan{16, 29, 53.90936, std::vector<double>(25, 43.46745), 1};
  plan.raised.assign(8, {57.6903});
  plan.raised.insert(plan.raised.end(), 4, {59.09749, 0.5, true});
  plan.terminals = Terminals::Free;
  const std::string why = refusal(literal_of(plan, pack_primes(plan)));
  EXPECT_NE(why.find("had alpha = 1; needs as many auxiliary primes as base primes; raise alpha"),
            std::string::npos)
      << why;
  plan.alpha = 2;
  try {
    pack_primes(plan);
    FAIL() << "packed";
  } catch (const PackingRefusal& e) {
    EXPECT_EQ(e.level(), 33) << e.what();
    ASSERT_EQ(e.nearest().size(), 2u) << e.what();
    for (const double bits : e.nearest()) {
      PackingPlan other = plan;
      for (std::size_t i = 8; i < other.raised.size(); ++i) other.raised[i].bits = bits;
      expect_set(other, pack_primes(other));
    }
  }
}

TEST(Arrange, KeepsListsAsTheyAre) {
  PackingPlan plan{16, 28, 48.5, scales(34.9, 16, 34.9), 13, raised(55.4, 52)};
  plan.terminals = Terminals::Lists;
  const PackedChain chain = pack_primes(plan);
  const ParamsLiteral places = arranged(chain);
  std::vector<std::uint32_t> inner, outer;
  for (std::size_t t = 0; t < chain.terminals.size(); ++t) {
    ((*chain.outer >> t & 1) != 0 ? outer : inner).push_back(chain.terminals[t]);
  }
  EXPECT_EQ(places.terminals, inner);
  EXPECT_EQ(places.outer, outer);
  for (const LevelShape& s : places.levels) EXPECT_FALSE(s.free());
  EXPECT_FALSE(expect_set(plan, chain)->free_terminals());
}

// Two levels of small primes alone: one of them becomes the main.
TEST(Arrange, MakesAMainWhereThereIsNone) {
  PackingPlan plan{12, 31, 40, {40}, 2};
  plan.terminals = Terminals::Free;
  const PackedChain chain = pack_primes(plan);
  ASSERT_TRUE(chain.mains.empty());
  const auto p = expect_set(plan, chain);
  EXPECT_EQ(p->literal().mains.size(), 1u);
}

// The worst order of a chain: alternate terminals are far from each other.
TEST(Arrange, PutsTogetherWhatLevelsShare) {
  PackedChain chain;
  for (std::uint32_t t = 0; t < 12; ++t) chain.terminals.push_back(12289 + 2048 * t);
  chain.mains.assign(8, 0), chain.aux.assign(2, 0);
  chain.levels = {{1, 0b000001010101},
                  {2, 0b101010000000},
                  {4, 0b010101010101},
                  {5, 0b101010101010},
                  {8, 0b111111111111}};
  for (const LevelShape& s : arranged(chain).levels) {
    int runs = 1;  // runs of the auxiliary primes, and of the mains
    const auto add = [&](std::uint32_t set) {
      for (int i = 0; i < 16; ++i)
        runs += (set >> i & 1) != 0 && (i == 0 || (set >> (i - 1) & 1) == 0);
    };
    add(s.chosen != 0 ? s.chosen : (1u << s.terminals) - 1);
    add(s.chosen_outer != 0 ? s.chosen_outer : (1u << s.outer) - 1);
    EXPECT_LE(runs, 4) << s.str();
  }
}

}  // namespace
}  // namespace latticino
