// The named sets. Each is a plan from which the generator picks the primes, at call time and with
// integer arithmetic only; the hashes in tests/unit/params/presets_test.cc freeze the outcome.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crypto/per_process.h"
#include "math/errors.h"
#include "params/chain/prime_chain.h"
#include "params/checks.h"
#include "params/names.h"
#include "params/params.h"
#include "params/presets/legacy.h"
#include "params/presets/packed.h"
#include "params/presets/pairs.h"

namespace latticino {
namespace {

using Security = ParamsLiteral::Security;

// One CoeffToSlot level: the mains and terminals that it adds, and its bits.
struct CtsStep {
  int mains, terminals;
  double bits;
};

struct Recipe {
  const char* name;
  int log_n;
  int scale_bits;
  LevelShape base;
  double base_main_bits;
  int user_levels;  // the levels up to the default level
  int alpha;
  WordBits words = {};
  double evalmod_bits = 0;  // 0: no bootstrapping
  std::vector<CtsStep> cts = {};
  int log_message_ratio = 5;
  Security security = Security::Bits128;
  std::vector<SwitchBand> bands = {};
};

// The four CoeffToSlot levels. The top level holds every prime, so these levels also add the
// terminals that the default level leaves out: none, four, two or three of them.
const std::vector<CtsStep> kCtsMains = {{2, 0, 58}, {2, 0, 58}, {2, 0, 58}, {2, 0, 58}};
const std::vector<CtsStep> kCtsFour = {{2, 0, 60}, {2, 0, 60}, {0, 2, 50}, {0, 2, 50}};
const std::vector<CtsStep> kCtsTwo = {{2, 0, 60}, {2, 0, 60}, {2, 0, 60}, {0, 2, 50}};
const std::vector<CtsStep> kCtsThree = {{2, 0, 60}, {2, 0, 60}, {1, 1, 55}, {0, 2, 50}};

// The levels at which digits of up to 16 primes save one digit: 25 to 31 limbs then have two
// digits, 37 and 39 limbs three. With larger digits, conversions would lose more time than the
// saved digit gains (docs/lab/key-switching.md).
const std::vector<SwitchBand> kBands = {
    {17, 17, 1}, {18, 18, 2}, {19, 19, 3}, {20, 20, 4}, {23, 24, 1}};

const std::vector<Recipe>& recipes() {
  constexpr Security kTest = Security::Insecure, kSecure = Security::Bits128;
  const std::vector<SwitchBand> small_bands = {{1, 2, 1}, {4, 7, 2}, {8, 9, 3}, {13, 15, 1}};
  static const std::vector<Recipe> kRecipes = {
      // Leveled: words of 30 bits at scale 2^30; two primes of 20 bits per level; then the 20-30
      // system, whose cycle ends in a level that holds every prime, so that no key bit is wasted.
      {"n13-d30-leveled-v1", 13, 30, {2, 0}, 40, 4, 1, {30, 0}},
      {"n13-d40-leveled-v1", 13, 40, {2, 0}, 50, 3, 1, {20, 0}},
      {"n14-d30-leveled-v1", 14, 30, {2, 0}, 40, 9, 3, {30, 0}},
      {"n14-d40-leveled-v1", 14, 40, {1, 1}, 28, 8, 2, {30, 20}},
      {"n15-d30-leveled-v1", 15, 30, {2, 0}, 40, 21, 6, {30, 0}},
      {"n15-d40-leveled-v1", 15, 40, {1, 1}, 30, 14, 7, {30, 20}},
      // With bootstrapping: the 25-30 system (paper: Cheddar, Sec. 3).
      {"n16-d30-boot-v1", 16, 30, {2, 0}, 39.75, 21, 12, {30, 25}, 58, kCtsMains, 7},
      {"n16-d35-boot-v1", 16, 35, {0, 2}, 0, 18, 12, {30, 25}, 58, kCtsThree, 7},
      {"n16-d40-boot-v1", 16, 40, {0, 2}, 0, 16, 12, {30, 25}, 58, kCtsFour, 6},
      {"n16-d40-boot-v2", 16, 40, {0, 2}, 0, 16, 12, {30, 25}, 58, kCtsFour, 6, kSecure, kBands},
      {"n16-d45-boot-v1", 16, 45, {2, 0}, 53, 14, 12, {30, 25}, 58, kCtsThree, 6},
      {"n16-d50-boot-v1", 16, 50, {2, 0}, 58, 12, 12, {30, 25}, 58, kCtsFour, 6},
      // For messages with large coefficients: the sine error is 2^-17 instead of 2^-7, and the
      // range of EvalMod is wider.
      {"n16-d40-structured-v1", 16, 40, {0, 2}, 0, 15, 12, {30, 25}, 61, kCtsTwo, 10},
      // Small sets for tests.
      {"test-n10-leveled-insecure", 10, 40, {0, 2}, 0, 6, 3, {30, 25}, 0, {}, 5, kTest},
      {"test-n10-boot-insecure", 10, 40, {0, 2}, 0, 7, 6, {30, 25}, 58, kCtsFour, 5, kTest},
      {"test-n10-bands-insecure",
       10,
       40,
       {0, 2},
       0,
       7,
       6,
       {30, 25},
       58,
       kCtsFour,
       5,
       kTest,
       small_bands},
      {"test-n12-boot-insecure", 12, 40, {0, 2}, 0, 7, 6, {30, 25}, 58, kCtsFour, 5, kTest},
      {"test-n10-d35-boot-insecure", 10, 35, {0, 2}, 0, 6, 6, {30, 25}, 58, kCtsThree, 5, kTest},
      {"test-n10-sr-insecure", 10, 30, {2, 0}, 40, 5, 3, {30, 0}, 0, {}, 5, kTest},
      {"test-n10-dr-boot-insecure", 10, 48, {2, 0}, 56, 6, 6, {24, 0}, 58, kCtsMains, 6, kTest},
      {"test-n10-dr-insecure", 10, 48, {2, 0}, 58, 4, 3, {24, 0}, 0, {}, 5, kTest},
  };
  return kRecipes;
}

ChainPlan plan_of(const Recipe& r) {
  ChainPlan plan;
  plan.log_n = r.log_n;
  plan.shapes = rescaling_cycle(r.base, r.scale_bits, r.user_levels, r.words);
  plan.steps.assign(r.user_levels, r.scale_bits);
  plan.base_main_bits = r.base_main_bits;
  plan.terminal_bits = r.words.terminal;
  plan.alpha = r.alpha;
  if (r.evalmod_bits == 0) return plan;
  LevelShape top = plan.shapes.back();
  for (int i = 0; i < BootstrapLiteral{}.evalmod_levels; ++i) {
    top.mains += 2;
    plan.raised.push_back({top, r.evalmod_bits});
  }
  for (const CtsStep& step : r.cts) {
    top.mains += step.mains;
    top.terminals += step.terminals;
    plan.raised.push_back({top, step.bits});
  }
  return plan;
}

ParamsLiteral literal_of(const Recipe& r) {
  PrimeChain chain = pick_primes(plan_of(r));
  ParamsLiteral x;
  x.name = r.name;
  x.log_n = r.log_n;
  x.terminals = std::move(chain.terminals);
  x.mains = std::move(chain.mains);
  x.aux = std::move(chain.aux);
  x.levels = std::move(chain.levels);
  x.alpha = r.alpha;
  x.bands = r.bands;
  x.log_scale = r.scale_bits;
  x.security = r.security;
  if (r.evalmod_bits != 0) {
    x.bootstrap = BootstrapLiteral{};
    x.bootstrap->cts_levels = static_cast<int>(r.cts.size());
    x.bootstrap->log_message_ratio = r.log_message_ratio;
  }
  return x;
}

// The edit distance, by which an unknown name finds similar ones.
int distance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i));
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

std::string near_names(const std::string& name) {
  std::vector<std::string> names = preset_names();
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return distance(a, name) < distance(b, name);
  });
  return names[0] + ", " + names[1] + " or " + names[2];
}

}  // namespace

namespace {

std::optional<ParamsLiteral> literal_named(const std::string& name) {
  for (const Recipe& r : recipes()) {
    if (r.name == name) return literal_of(r);
  }
  for (const auto literals :
       {params::packed_literals, params::pair_literals, params::legacy_literals}) {
    for (ParamsLiteral& x : literals()) {
      if (x.name == name) return std::move(x);
    }
  }
  return std::nullopt;
}

constexpr std::size_t kMaxNames = 256;  // names of sets that were asked for, whether presets or not

// Generating primes takes milliseconds, so the text of each preset is made once.
std::optional<std::string> text_named(const std::string& name) {
  static auto& texts = *new crypto::PerProcess<std::string, std::optional<std::string>>(kMaxNames);
  return texts.get(name, [&]() -> std::optional<std::string> {
    const std::optional<ParamsLiteral> literal = literal_named(name);
    return literal ? std::optional(params::to_text(*literal)) : std::nullopt;
  });
}

}  // namespace

void params::check_preset_name(const Params& p) {
  params::check_plain_name("params.check", p.name(), p.literal().security);
  params::check_name_of_other_schemes("params.check", p.name(), params::Scheme::Ckks);
  const std::optional<std::string> text = text_named(p.name());
  if (text && *text != p.canonical_text()) params::refuse_preset_name("params.check", p.name());
}

// Checking takes milliseconds, so each preset is checked once: sets do not change.
std::shared_ptr<const Params> preset(const std::string& name) {
  static auto& checked =
      *new crypto::PerProcess<std::string, std::shared_ptr<const Params>>(kMaxNames);
  return checked.get(name, [&] {
    if (std::optional<ParamsLiteral> x = literal_named(name)) return Params::check(std::move(*x));
    // The search for near names takes half a minute for a name of a million characters.
    constexpr std::size_t kShown = 100;
    const std::string shown = name.size() > kShown ? name.substr(0, kShown) + "..." : name;
    throw ParameterError(
        "params.preset", "the name '" + shown + "'", "a preset, perhaps " + near_names(shown),
        "ParameterSet::presets lists all; ParameterSet::make finds a set of your own");
  });
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Recipe& r : recipes()) names.push_back(r.name);
  for (const auto literals :
       {params::packed_literals, params::pair_literals, params::legacy_literals}) {
    for (const ParamsLiteral& x : literals()) names.push_back(x.name);
  }
  return names;
}

}  // namespace latticino
