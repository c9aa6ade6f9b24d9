// The named sets. Each is a plan from which the generator picks the primes, at call time and with
// integer arithmetic only; the hashes in tests/unit/params_presets_test.cc freeze the outcome.
#include <algorithm>
#include <string>
#include <vector>

#include "math/errors.h"
#include "params/params.h"
#include "params/prime_chain.h"

namespace latticino {
namespace {

using Security = ParamsLiteral::Security;

// One CoeffToSlot level: mains and terminals it adds, and its bits.
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
  int user_levels;  // up to the default level
  int alpha;
  WordBits words = {};
  double evalmod_bits = 0;  // 0: no bootstrapping
  std::vector<CtsStep> cts = {};
  int log_message_ratio = 5;
  Security security = Security::Bits128;
};

// CoeffToSlot levels that pull the terminals back in, by what the user levels leave.
const std::vector<CtsStep> kCtsMains = {{2, 0, 58}, {2, 0, 58}, {2, 0, 58}, {2, 0, 58}};
const std::vector<CtsStep> kCtsFour = {{2, 0, 60}, {2, 0, 60}, {0, 2, 50}, {0, 2, 50}};
const std::vector<CtsStep> kCtsThree = {{2, 0, 60}, {2, 0, 60}, {1, 1, 55}, {0, 2, 50}};

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> kRecipes = {
      {"n16-d40-boot-v1", 16, 40, {0, 2}, 0, 16, 12, {}, 58, kCtsFour},
      {"test-n10-leveled-insecure", 10, 40, {0, 2}, 0, 6, 3, {}, 0, {}, 5, Security::Insecure},
      {"test-n10-boot-insecure", 10, 40, {0, 2}, 0, 7, 6, {}, 58, kCtsFour, 5, Security::Insecure},
      {"test-n12-boot-insecure", 12, 40, {0, 2}, 0, 7, 6, {}, 58, kCtsFour, 5, Security::Insecure},
      {"test-n10-d35-boot-insecure",
       10,
       35,
       {0, 2},
       0,
       6,
       6,
       {},
       58,
       kCtsThree,
       5,
       Security::Insecure},
      {"test-n10-sr-insecure", 10, 30, {2, 0}, 40, 5, 3, {30, 0}, 0, {}, 5, Security::Insecure},
      {"test-n10-dr-insecure", 10, 48, {2, 0}, 58, 4, 3, {24, 0}, 0, {}, 5, Security::Insecure},
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
  x.log_scale = r.scale_bits;
  x.security = r.security;
  if (r.evalmod_bits != 0) {
    x.bootstrap = BootstrapLiteral{};
    x.bootstrap->cts_levels = static_cast<int>(r.cts.size());
    x.bootstrap->log_message_ratio = r.log_message_ratio;
  }
  return x;
}

}  // namespace

std::shared_ptr<const Params> preset(const std::string& name) {
  for (const Recipe& r : recipes()) {
    if (r.name == name) return Params::check(literal_of(r));
  }
  std::string known;
  for (const std::string& n : preset_names()) known += (known.empty() ? "" : ", ") + n;
  throw ParameterError("params.preset", "the name '" + name + "'", "one of " + known,
                       "choose a preset or write a literal");
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Recipe& r : recipes()) names.push_back(r.name);
  return names;
}

}  // namespace latticino
