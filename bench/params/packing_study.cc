// Sends random schedules of scales through pack_primes. It counts how many are packed and how many
// are refused, measures the time, and checks every answer. A chain is compared with what was asked;
// this check uses none of the planner's code; then Params::check must take it as a set. A refusal
// names a scale that would do: the study asks again with that scale, and the level must then pass.
//   packing_study --schedules 10000 --layouts free,lists --output rows.json
//   packing_study --only 2355,3765 --layouts free   some of the schedules, each with its answer
//   packing_study --sets      the chains of docs/lab/primes.md, as its table
// lists: levels take the first terminals of one list or of two. free: any terminals.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "math/errors.h"
#include "math/primes.h"
#include "params/chain/bitpacker.h"
#include "params/packing_literal.h"
#include "params/packing_sets.h"
#include "support/common.h"

namespace latticino::bench {
namespace {

constexpr double kMaxBits = 2200;  // log2 Q of a schedule
// The base that a bootstrapping starts from has at most two primes, and a set needs as many
// auxiliary primes.
constexpr int kBasePrimes = 2;

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

// Whether a level has the first terminals of each of two lists, of which one may be empty.
bool first_of_lists(const PackedChain& chain, const PackedLevel& level) {
  bool inner = true, outer = true;  // the level has every terminal of that list so far
  for (std::size_t i = 0; i < chain.terminals.size(); ++i) {
    bool& whole = ((*chain.outer >> i) & 1) != 0 ? outer : inner;
    const bool has = ((level.terminals >> i) & 1) != 0;
    if (has && !whole) return false;
    whole = has;
  }
  return true;
}

// What is wrong with a chain; empty if nothing is wrong.
std::string fault(const PackingPlan& plan, const PackedChain& chain) {
  const std::size_t users = plan.level_log_scale.size(), all = users + plan.raised.size();
  if (!primes_hold(plan, chain)) return "primes";
  if (chain.levels.size() != all) return "levels";
  if (plan.terminals == PackingPlan::Terminals::Lists && !chain.outer) return "no lists";
  double below = 0, scale = 0;
  for (std::size_t l = 0; l < all; ++l) {
    const PackedLevel& level = chain.levels[l];
    const double q = log2_of(chain, level);
    const int terminals = std::popcount(level.terminals);
    if (level.mains > static_cast<int>(chain.mains.size())) return "mains";
    if (level.terminals >> chain.terminals.size() != 0) return "terminals";
    if (plan.terminals == PackingPlan::Terminals::Lists && !first_of_lists(chain, level)) {
      return "terminals not in lists";
    }
    const bool pulls = l >= users && plan.raised[l - users].pulls;
    if (terminals > plan.most_terminals && !pulls && l + 1 < all) return "many terminals";
    if (l == 0) {
      if (std::abs(q - plan.base_bits) > 0.5) return "base";
      if (!plan.raised.empty() && level.mains + terminals > kBasePrimes) return "base of three";
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

PackingPlan random_plan(std::mt19937_64& random, PackingPlan::Terminals layout) {
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
  plan.terminals = layout;
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
    plan.alpha = std::max(plan.alpha, kBasePrimes);
    const double evalmod = real(50, 60), cts = real(50, 60);
    for (int i = 0; i < 8; ++i) plan.raised.push_back({evalmod});
    const int steps = pick(3, 4);
    for (int i = 0; i < steps; ++i) plan.raised.push_back({cts, 0.5, true});
  }
  double bits = plan.base_bits;
  for (std::size_t l = 1; l < plan.level_log_scale.size(); ++l) {
    bits += 2 * plan.level_log_scale[l] - plan.level_log_scale[l - 1];
    if (bits > kMaxBits) plan.level_log_scale.resize(l);
  }
  return plan;
}

// The level that a refusal names, and the scales.
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

// Whether each scale that a refusal names is accepted at the level it is named for.
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

struct Answer {
  int terminals = -1;  // terminals of the chain; -1: the plan was refused
  bool advised = false;
  bool set = false;    // whether the chain makes a parameter set
  double seconds = 0;  // processor time
  std::string bad;     // what is wrong with the answer; empty if nothing is wrong
  std::string text;    // the refusal, or what was packed
};

double processor_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Answer answer(const PackingPlan& plan) {
  Answer out;
  std::string text;
  const double start = processor_seconds();
  const std::optional<PackedChain> chain = packed(plan, text);
  out.seconds = processor_seconds() - start;
  if (chain) {
    out.terminals = static_cast<int>(chain->terminals.size());
    out.bad = fault(plan, *chain);
    const std::string refused = refused_as_set(plan, *chain);
    out.set = refused.empty();
    if (out.bad.empty() && !out.set) out.bad = "no set: " + refused;
    out.text = "packed, " + std::to_string(chain->mains.size()) + " mains and " +
               std::to_string(out.terminals) + " terminals";
    return out;
  }
  const Refusal refusal = parsed(text);
  out.text = text;
  out.advised = !refusal.nearest.empty();
  if (refusal.level < 0) out.bad = "a refusal without a level: " + text;
  if (!advice_holds(plan, refusal)) out.bad = "advice: " + text;
  return out;
}

std::vector<Answer> answers(const std::vector<PackingPlan>& plans, int threads) {
  std::vector<Answer> out(plans.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      for (std::size_t i = next++; i < plans.size(); i = next++) out[i] = answer(plans[i]);
    });
  }
  workers.clear();  // joins
  return out;
}

// What a schedule asks for, and the answer: for questions about single schedules.
void print(const std::string& layout, std::size_t index, const PackingPlan& plan, const Answer& x) {
  std::printf("%s, schedule %zu: N = 2^%d, words of %d bits, alpha %d, base %.5f, scales",
              layout.c_str(), index, plan.log_n, plan.word_bits, plan.alpha, plan.base_bits);
  for (const double scale : plan.level_log_scale) std::printf(" %.5f", scale);
  if (!plan.raised.empty()) std::printf(", raised");
  for (const PackedStep& step : plan.raised) std::printf(" %.5f", step.bits);
  std::printf("\n  %.3f s: %s\n", x.seconds, x.text.c_str());
  if (!x.bad.empty()) std::printf("  wrong: %s\n", x.bad.c_str());
}

struct Share {
  int packed = 0, refused = 0;
};

// Counts of what happened with the schedules of one layout.
struct Counts {
  int advised = 0, wrong = 0, sets = 0;
  double seconds = 0, longest = 0;
  std::size_t slowest = 0;  // the number of the schedule that took longest
  Share all;
  std::map<std::tuple<std::string, int, int>, Share> shares;  // by kind, word and log N
  std::map<int, int> pools;                                   // chains by terminals

  void add(std::size_t index, const PackingPlan& plan, const Answer& x) {
    Share& share =
        shares[{plan.raised.empty() ? "leveled" : "bootstrapping", plan.word_bits, plan.log_n}];
    const bool packed = x.terminals >= 0;
    share.packed += packed, share.refused += !packed;
    all.packed += packed, all.refused += !packed;
    if (packed) ++pools[x.terminals];
    advised += x.advised, wrong += !x.bad.empty(), sets += x.set;
    seconds += x.seconds;
    if (x.seconds > longest) longest = x.seconds, slowest = index;
  }
};

void add_rows(const Counts& counts, const std::string& layout, const Arguments& arguments,
              std::vector<Row>& rows) {
  const auto ended = [&](Row row, Row params, const Share& share) {
    params.add("layout", layout).add("seed", arguments.number("seed"));
    row.add("params", params).add("packed", share.packed).add("refused", share.refused);
    return row.add("commit", arguments.text("commit")).add("date", today());
  };
  const auto begun = [](const char* name, const Share& share) {
    Row row;
    row.add("name", name).add("value", 1.0 * share.packed / (share.packed + share.refused));
    return row.add("unit", "share packed");
  };
  const int schedules = counts.all.packed + counts.all.refused;
  Row pools;
  for (const auto& [count, n] : counts.pools) pools.add(std::to_string(count), n);
  rows.push_back(
      ended(begun("params.packing", counts.all), Row().add("schedules", schedules), counts.all)
          .add("refused_with_scales_that_do", counts.advised)
          .add("sets", counts.sets)
          .add("wrong", counts.wrong)
          .add("mean_seconds", counts.seconds / schedules)
          .add("longest_seconds", counts.longest)
          .add("slowest_schedule", static_cast<int>(counts.slowest))
          .add("chains_by_terminals", pools));
  for (const auto& [key, share] : counts.shares) {
    const auto& [kind, word, log_n] = key;
    Row params;
    params.add("kind", kind).add("word", word).add("N", 1 << log_n);
    rows.push_back(ended(begun("params.packing_of_kind", share), params, share));
  }
}

PackingPlan::Terminals layout_of(const std::string& name) {
  if (name == "free") return PackingPlan::Terminals::Free;
  if (name == "lists") return PackingPlan::Terminals::Lists;
  throw UnsupportedError("bench", "layout '" + name + "'", "free or lists", "choose one");
}

std::vector<PackingPlan> random_plans(const Arguments& arguments, const std::string& layout) {
  std::mt19937_64 random(static_cast<std::uint64_t>(arguments.number("seed")));
  std::vector<PackingPlan> out;
  for (int i = 0; i < arguments.number("schedules"); ++i) {
    out.push_back(random_plan(random, layout_of(layout)));
  }
  return out;
}

// Prints the answers to the schedules with the numbers of --only.
int some_schedules(const Arguments& arguments) {
  bool good = true;
  for (const std::string& layout : words(arguments.text("layouts"))) {
    const std::vector<PackingPlan> plans = random_plans(arguments, layout);
    for (const int i : arguments.numbers("only")) {
      if (i < 0 || i >= static_cast<int>(plans.size())) {
        throw ParameterError("packing_study", "schedule " + std::to_string(i),
                             "0 to " + std::to_string(plans.size() - 1), "raise --schedules");
      }
      const Answer x = answer(plans[i]);
      print(layout, i, plans[i], x);
      good = good && x.bad.empty();
    }
  }
  return good ? 0 : 1;
}

int study(const Arguments& arguments) {
  std::vector<Row> rows;
  bool good = true;
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int threads = arguments.number("threads") == 0 ? cores : arguments.number("threads");
  for (const std::string& layout : words(arguments.text("layouts"))) {
    const std::vector<PackingPlan> plans = random_plans(arguments, layout);
    const std::vector<Answer> all = answers(plans, threads);
    Counts counts;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      counts.add(i, plans[i], all[i]);
      if (all[i].bad.empty()) continue;
      std::fprintf(stderr, "%s, schedule %zu: %s\n", layout.c_str(), i, all[i].bad.c_str());
    }
    add_rows(counts, layout, arguments, rows);
    std::printf(
        "%s: %d packed, %d of them sets, %d refused (%d with scales that do), %d wrong; %.4f s "
        "each, at most %.2f s (schedule %zu)\n",
        layout.c_str(), counts.all.packed, counts.sets, counts.all.refused, counts.advised,
        counts.wrong, counts.seconds / static_cast<double>(plans.size()), counts.longest,
        counts.slowest);
    std::fflush(stdout);
    good = good && counts.wrong == 0;
  }
  write_rows(rows, arguments.text("output"));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(argc, argv,
                            {{"schedules", "10000"},
                             {"seed", "1"},
                             {"layouts", "free,lists"},
                             {"threads", "0"},
                             {"only", ""},
                             {"sets", "0"}},
                            [](const bench::Arguments& arguments) {
                              if (arguments.flag("sets")) return bench::sets();
                              return arguments.text("only").empty()
                                         ? bench::study(arguments)
                                         : bench::some_schedules(arguments);
                            });
}
