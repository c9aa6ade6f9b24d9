#include "params/packing_literal.h"

#include <algorithm>
#include <cmath>

#include "math/errors.h"
#include "params/chain/arrange.h"
#include "params/params.h"

namespace latticino::bench {
namespace {

constexpr int kStcLevels = 3;

ParamsLiteral literal_of(const PackingPlan& plan, const PackedChain& chain) {
  ParamsLiteral x = arranged(chain);
  x.name = "study-insecure";
  x.security = ParamsLiteral::Security::Insecure;
  x.log_n = plan.log_n;
  x.log_scale = plan.level_log_scale[0];
  x.level_log_scale = plan.level_log_scale;
  for (const PackedStep& step : plan.raised) x.level_log_scale.push_back(step.bits);
  const int users = static_cast<int>(plan.level_log_scale.size());
  x.default_level = users - 1;
  // Bootstrapping needs a level for SlotToCoeff and one that is left.
  if (!plan.raised.empty() && users > 2) {
    x.bootstrap = BootstrapLiteral{};
    x.bootstrap->cts_levels = static_cast<int>(plan.raised.size()) - x.bootstrap->evalmod_levels;
    x.bootstrap->stc_levels = std::min(kStcLevels, users - 2);
    x.bootstrap->log_message_ratio =
        static_cast<int>(std::clamp(std::floor(plan.base_bits - x.log_scale - 0.5), 0.0, 7.0));
  }
  return x;
}

// Why a set is refused; empty if it is accepted.
std::string refusal(const PackingPlan& plan, const PackedChain& chain) {
  try {
    Params::check(literal_of(plan, chain));
    return "";
  } catch (const ParameterError& e) {
    return e.what();
  }
}

}  // namespace

std::string refused_as_set(const PackingPlan& plan, const PackedChain& chain) {
  std::string why = refusal(plan, chain);
  PackingPlan other = plan;
  while (why.find("accumulators") != std::string::npos && other.alpha > 1) {
    --other.alpha;
    try {
      why = refusal(other, pack_primes(other));
    } catch (const ParameterError& e) {
      return e.what();
    }
  }
  return why;
}

}  // namespace latticino::bench
