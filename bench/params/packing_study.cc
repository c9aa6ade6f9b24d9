// Sends random schedules of scales through pack_primes. It counts how many are packed and how many
// are refused, measures the time, and checks every answer. A chain is compared with what was asked;
// this check uses none of the planner's code. A refusal names a scale that would do: the study asks
// again with that scale, and the level must then pass.
//   packing_study [--schedules N] [--seed S]      prints a record (JSON)
//   packing_study --sets      the chains of docs/lab/primes.md, as its table
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "math/errors.h"
#include "math/primes.h"
#include "params/chain/bitpacker.h"
#include "params/params.h"

namespace latticino {
namespace {

constexpr double kMostBits = 2200;  // log2 Q of a schedule

double log2_of(const PackedChain& chain, const PackedLevel& level) {
  double sum = 0;
  for (int m = 0; m < level.mains; ++m) sum += std::log2(chain.mains[m]);
  for (std::size_t i = 0; i < chain.terminals.size(); ++i) {
    if ((level.terminals >> i) & 1) sum += std::log2(chain.terminals[i]);
  }
  return sum;
}

bool primes_hold(const PackingPlan& plan, const PackedChain& chain) {
  std::set<std::uint32_t> seen;
  for (const auto* list : {&chain.terminals, &chain.mains, &chain.aux}) {
    for (const std::uint32_t q : *list) {
      if (q >= (std::uint32_t{1} << plan.word_bits) || !is_ntt_prime(plan.log_n, q)) return false;
      if (!seen.insert(q).second) return false;
    }
  }
  return static_cast<int>(chain.aux.size()) == plan.alpha;
}

// What is wrong with a chain; empty if nothing.
std::string fault(const PackingPlan& plan, const PackedChain& chain) {
  const std::size_t users = plan.level_log_scale.size(), all = users + plan.raised.size();
  if (!primes_hold(plan, chain)) return "primes";
  if (chain.levels.size() != all) return "levels";
  double below = 0, scale = 0;
  for (std::size_t l = 0; l < all; ++l) {
    const PackedLevel& level = chain.levels[l];
    const double q = log2_of(chain, level);
    const int terminals = std::popcount(level.terminals);
    if (level.mains > static_cast<int>(chain.mains.size())) return "mains";
    if (level.terminals >> chain.terminals.size() != 0) return "terminals";
    const bool pulls = l >= users && plan.raised[l - users].pulls;
    if (terminals > plan.most_terminals && !pulls && l + 1 < all) return "many terminals";
    if (l == 0) {
      if (std::abs(q - plan.base_bits) > 0.5) return "base";
      if (!plan.raised.empty() && level.mains + terminals > 2) return "base of three";
      scale = plan.level_log_scale[0];
    } else {
      const PackedLevel& last = chain.levels[l - 1];
      if (level.mains <= last.mains && (level.terminals & ~last.terminals) == 0)
        return "no prime leaves";
    }
    if (l > 0 && l < users) {
      scale = (scale + q - below) / 2;
      if (std::abs(scale - plan.level_log_scale[l]) > 0.25 + 1e-6) return "scale";
    }
    if (l >= users) {
      const PackedStep& s = plan.raised[l - users];
      const double off = q - below - s.bits;
      if (off < -s.tolerance - 1e-6 || off > (s.pulls ? 4 : s.tolerance) + 1e-6) return "step";
    }
    below = q;
  }
  if (!plan.raised.empty()) {
    const PackedLevel& top = chain.levels.back();
    if (top.mains + std::popcount(top.terminals) !=
        static_cast<int>(chain.mains.size() + chain.terminals.size()))
      return "top";
  }
  return "";
}

PackingPlan random_plan(std::mt19937_64& random) {
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  const auto real = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() % 1000001) / 1e6;
  };
  PackingPlan plan;
  plan.log_n = pick(12, 17);
  plan.word_bits = pick(28, 31);
  plan.alpha = pick(1, 12);
  plan.terminals = PackingPlan::Terminals::Free;
  const bool boots = pick(0, 2) == 0;
  const int kind = pick(0, 3), levels = pick(1, 30);
  double scale = real(30, 60);
  const double low = boots ? 40 : std::max(40.0, scale);
  if (boots) scale = std::min(scale, 54.0);
  for (int l = 0; l <= levels; ++l) {
    plan.level_log_scale.push_back(scale);
    if (kind == 1 && pick(0, 4) == 0) scale = real(30, 60);
    if (kind == 2) scale = std::clamp(scale + real(-8, 8), 30.0, 60.0);
    if (kind == 3) scale = real(30, 60);
  }
  plan.base_bits = std::max(plan.level_log_scale[0], real(low, 60));
  if (boots) {
    const double evalmod = real(50, 60), cts = real(50, 60);
    for (int i = 0; i < 8; ++i) plan.raised.push_back({evalmod});
    const int steps = pick(3, 4);
    for (int i = 0; i < steps; ++i) plan.raised.push_back({cts, 0.5, true});
  }
  double bits = plan.base_bits;
  for (std::size_t l = 1; l < plan.level_log_scale.size(); ++l) {
    bits += 2 * plan.level_log_scale[l] - plan.level_log_scale[l - 1];
    if (bits > kMostBits) plan.level_log_scale.resize(l);
  }
  return plan;
}

// The level a refusal names, and the scales.
struct Refusal {
  int level = -1;
  std::vector<double> nearest;
};

Refusal parsed(const std::string& text) {
  Refusal out;
  std::smatch found;
  if (std::regex_search(text, found, std::regex("had level (\\d+)")))
    out.level = std::stoi(found[1]);
  const std::size_t choose = text.find("choose ");
  if (choose == std::string::npos) return out;
  std::string rest = text.substr(choose);
  rest = rest.substr(0, rest.find(", or a larger word"));
  const std::regex number("(?:2\\^)?(\\d+\\.\\d\\d)");
  for (std::sregex_iterator i(rest.begin(), rest.end(), number), end; i != end; ++i) {
    out.nearest.push_back(std::stod((*i)[1]));
  }
  return out;
}

std::optional<PackedChain> packed(const PackingPlan& plan, std::string& refusal) {
  try {
    return pack_primes(plan);
  } catch (const ParameterError& e) {
    refusal = e.what();
    return std::nullopt;
  }
}

// Whether each scale that a refusal names passes the level it is named for.
bool advice_holds(const PackingPlan& plan, const Refusal& refusal) {
  const int users = static_cast<int>(plan.level_log_scale.size());
  for (const double x : refusal.nearest) {
    PackingPlan other = plan;
    if (refusal.level == 0) {
      other.base_bits = x;
    } else if (refusal.level < users) {
      other.level_log_scale[refusal.level] = x;
    } else {
      const double wanted = plan.raised[refusal.level - users].bits;
      for (PackedStep& s : other.raised) {
        if (s.bits == wanted) s.bits = x;
      }
    }
    std::string text;
    if (packed(other, text)) continue;
    if (parsed(text).level <= refusal.level) return false;
  }
  return true;
}

int run(int schedules, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  int done = 0, refused = 0, advised = 0, wrong = 0;
  double seconds = 0, longest = 0;
  std::map<std::string, std::map<int, std::pair<int, int>>> shares;  // by word, by log N
  std::map<int, int> pools;
  for (int i = 0; i < schedules; ++i) {
    const PackingPlan plan = random_plan(random);
    std::string text;
    const std::clock_t start = std::clock();
    const std::optional<PackedChain> chain = packed(plan, text);
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    seconds += took, longest = std::max(longest, took);
    const char* kind = plan.raised.empty() ? "leveled" : "bootstrapping";
    auto& share = shares[std::string(kind) + " " + std::to_string(plan.word_bits)][plan.log_n];
    std::string bad;
    if (chain) {
      ++done, ++share.first, ++pools[static_cast<int>(chain->terminals.size())];
      bad = fault(plan, *chain);
    } else {
      ++refused, ++share.second;
      const Refusal refusal = parsed(text);
      advised += !refusal.nearest.empty();
      if (refusal.level < 0) bad = "a refusal without a level";
      if (!advice_holds(plan, refusal)) bad = "advice";
    }
    if (bad.empty()) continue;
    ++wrong;
    std::fprintf(stderr, "schedule %d (%s): %s %s\n", i, kind, bad.c_str(), text.c_str());
  }
  std::printf("[{\n  \"name\": \"params.packing\", \"value\": %.4f, \"unit\": \"share packed\",\n",
              static_cast<double>(done) / schedules);
  std::printf("  \"command\": \"packing_study --schedules %d --seed %llu\",\n", schedules,
              static_cast<unsigned long long>(seed));
  std::printf("  \"schedules\": %d,\n  \"packed\": %d,\n  \"refused\": %d,\n", schedules, done,
              refused);
  std::printf("  \"refused with scales that do\": %d,\n  \"wrong\": %d,\n", advised, wrong);
  std::printf("  \"processor seconds mean\": %.4f,\n  \"processor seconds longest\": %.4f,\n",
              seconds / schedules, longest);
  std::printf("  \"chains by terminals\": {");
  const char* comma = "";
  for (const auto& [count, n] : pools) {
    std::printf("%s\"%d\": %d", comma, count, n);
    comma = ", ";
  }
  std::printf("},\n  \"packed and refused by log2 N\": {\n");
  comma = "";
  for (const auto& [word, by_n] : shares) {
    std::printf("%s    \"%s\": {", comma, word.c_str());
    const char* inner = "";
    for (const auto& [log_n, both] : by_n) {
      std::printf("%s\"%d\": [%d, %d]", inner, log_n, both.first, both.second);
      inner = ", ";
    }
    std::printf("}");
    comma = ",\n";
  }
  std::printf("\n  }\n}]\n");
  return wrong == 0 ? 0 : 1;
}

double log2_of(const std::vector<std::uint32_t>& primes) {
  double sum = 0;
  for (const std::uint32_t q : primes) sum += std::log2(q);
  return sum;
}

void row(const std::string& name, int left, std::size_t mains, std::size_t terminals, int alpha,
         double log_pq, int most, int limbs) {
  std::printf("| %s | %d | %zu+%zu | %d | %.1f | %d | %d |\n", name.c_str(), left, mains, terminals,
              alpha, log_pq, most, limbs);
}

// Bootstrapping chains at N = 2^16: three levels for SlotToCoeff, eight for EvalMod, four for
// CoeffToSlot.
struct Set {
  int word;
  double base, scale;
  int left, alpha;
  double evalmod, cts;
  PackingPlan::Terminals terminals;
  int most;
};

void print(const Set& s) {
  PackingPlan plan{16, s.word, s.base, std::vector<double>(s.left + 4, s.scale), s.alpha};
  plan.raised.assign(8, {s.evalmod});
  plan.raised.insert(plan.raised.end(), 4, {s.cts, 0.5, true});
  plan.terminals = s.terminals, plan.most_terminals = s.most;
  char name[80];
  const char* layout = s.terminals == PackingPlan::Terminals::Free    ? "free"
                       : s.terminals == PackingPlan::Terminals::Sides ? "sides"
                                                                      : "prefix";
  std::snprintf(name, sizeof name, "2^%d, 2^%.1f from 2^%.1f, EvalMod %.1f, %s", s.word, s.scale,
                s.base, s.evalmod, layout);
  std::string refusal;
  const std::optional<PackedChain> chain = packed(plan, refusal);
  if (!chain) {
    std::printf("| %s | none ||||||\n", name);
    return;
  }
  int most = 0, limbs = 0;
  for (std::size_t l = 0; l < chain->levels.size(); ++l) {
    const PackedLevel& level = chain->levels[l];
    const int terminals = std::popcount(level.terminals);
    limbs += level.mains + terminals;
    if (l + 4 < chain->levels.size()) most = std::max(most, terminals);
  }
  row(name, s.left, chain->mains.size(), chain->terminals.size(), s.alpha,
      log2_of(chain->mains) + log2_of(chain->terminals) + log2_of(chain->aux), most, limbs);
}

void print(const std::string& name) {
  const auto p = preset(name);
  int most = 0, limbs = 0;
  for (int l = 0; l <= p->top_level(); ++l) {
    limbs += p->limbs(l);
    if (l + 4 <= p->top_level()) most = std::max<int>(most, p->literal().levels[l].terminals);
  }
  row("`" + name + "`", p->level_after_bootstrap(), p->literal().mains.size(),
      p->literal().terminals.size(), p->alpha(), p->log_pq(), most, limbs);
}

int sets() {
  using Terminals = PackingPlan::Terminals;
  std::printf(
      "| words, scale and base | levels left | mains+terminals | alpha | log2 PQ | most terminals "
      "below CoeffToSlot | limbs of all levels |\n|---|---|---|---|---|---|---|\n");
  print("n16-d35-boot-v1");
  print(Set{30, 50.4, 34.9, 16, 12, 58, 52, Terminals::Prefix, 5});
  print(Set{28, 50, 35, 15, 13, 55.3, 52, Terminals::Prefix, 5});
  print(Set{28, 48.5, 34.9, 16, 13, 55.4, 52, Terminals::Sides, 4});
  print(Set{28, 49, 34.8, 15, 13, 55.3, 52, Terminals::Free, 4});
  print("n16-d45-boot-v1");
  print(Set{30, 53, 45, 11, 12, 59, 52, Terminals::Prefix, 4});
  print(Set{28, 53, 45, 11, 13, 58, 53, Terminals::Prefix, 5});
  print(Set{28, 55.5, 44.9, 11, 13, 59.5, 50, Terminals::Sides, 5});
  print(Set{28, 55, 44.7, 11, 13, 58, 53, Terminals::Free, 4});
  return 0;
}

}  // namespace
}  // namespace latticino

int main(int argc, char** argv) {
  int schedules = 1000;
  std::uint64_t seed = 1;
  if (argc == 2 && std::strcmp(argv[1], "--sets") == 0) return latticino::sets();
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--schedules") == 0) schedules = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return latticino::run(schedules, seed);
}
