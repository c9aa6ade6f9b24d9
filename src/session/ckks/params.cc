// Parameter sets in the form of the public headers.
#include "latticino/params.h"

#include "ckks/bootstrap/explain.h"
#include "math/errors.h"
#include "params/own/request.h"
#include "params/params.h"
#include "params/security.h"

namespace latticino {
namespace {

// The fields that the public literal and the internal one have under the same name.
template <class To, class From>
To with_same_fields(const From& x) {
  To out;
  out.name = x.name;
  out.log_n = x.log_n;
  out.terminals = x.terminals;
  out.mains = x.mains;
  out.aux = x.aux;
  out.outer = x.outer;
  for (const auto& level : x.levels) {
    out.levels.push_back(
        {level.mains, level.terminals, level.outer, level.chosen, level.chosen_outer});
  }
  out.alpha = x.alpha;
  out.log_scale = x.log_scale;
  out.level_log_scale = x.level_log_scale;
  out.default_level = x.default_level;
  out.hamming_weight = x.hamming_weight;
  if (x.bootstrap) {
    using Bootstrap = typename decltype(out.bootstrap)::value_type;
    const auto& b = *x.bootstrap;
    out.bootstrap = Bootstrap{.cts_levels = b.cts_levels,
                              .evalmod_levels = b.evalmod_levels,
                              .stc_levels = b.stc_levels,
                              .log_message_ratio = b.log_message_ratio,
                              .range_k = b.range_k,
                              .evalmod_degree = b.evalmod_degree,
                              .double_angles = b.double_angles,
                              .sparse_weight = b.sparse_weight,
                              .arcsine = b.arcsine};
  }
  return out;
}

ParamsLiteral literal_of(const ParameterLiteral& x) {
  auto out = with_same_fields<ParamsLiteral>(x);
  out.security = x.insecure ? ParamsLiteral::Security::Insecure : ParamsLiteral::Security::Bits128;
  return out;
}

void require_level(const Params& params, int level) {
  if (level >= 0 && level <= params.top_level()) return;
  throw LevelError("parameters", "level " + std::to_string(level),
                   "a level from 0 to " + std::to_string(params.top_level()), "name such a level");
}

}  // namespace

ParameterSet ParameterSet::check(const ParameterLiteral& literal) {
  return ParameterSet(Params::check(literal_of(literal)));
}

ParameterSet ParameterSet::make(const ParameterRequest& x) {
  return ParameterSet(make_params({.n = x.n,
                                   .log_scale = x.log_scale,
                                   .level_log_scale = x.level_log_scale,
                                   .levels = x.levels,
                                   .word = x.word,
                                   .bootstrapping = x.bootstrapping,
                                   .dnum = x.dnum,
                                   .hamming_weight = x.hamming_weight,
                                   .security = x.security,
                                   .quantum = x.quantum,
                                   .name = x.name}));
}

ParameterSet ParameterSet::preset(const std::string& name) {
  return ParameterSet(latticino::preset(name));
}

std::vector<std::string> ParameterSet::presets() { return preset_names(); }

ParameterLiteral ParameterSet::literal() const {
  const ParamsLiteral& x = params_->literal();
  auto out = with_same_fields<ParameterLiteral>(x);
  out.insecure = x.security != ParamsLiteral::Security::Bits128;
  return out;
}

const std::string& ParameterSet::name() const { return params_->name(); }
const std::string& ParameterSet::hash() const { return params_->hash(); }
int ParameterSet::slots() const { return params_->max_slots(); }
int ParameterSet::top_level() const { return params_->top_level(); }
int ParameterSet::default_level() const { return params_->default_level(); }
int ParameterSet::level_after_bootstrap() const { return params_->level_after_bootstrap(); }
bool ParameterSet::has_bootstrap() const { return params_->bootstrap().has_value(); }
bool ParameterSet::secure() const {
  return params_->literal().security == ParamsLiteral::Security::Bits128;
}
int ParameterSet::security_bits(bool quantum) const {
  return latticino::security_bits(*params_, quantum);
}
int ParameterSet::dnum() const { return params_->dnum(); }
std::size_t ParameterSet::key_bytes() const { return params_->switching_key_bytes(); }
double ParameterSet::scale(int level) const {
  require_level(*params_, level);
  return params_->scale(level);
}
double ParameterSet::log_q(int level) const {
  require_level(*params_, level);
  return params_->log_q(level);
}
std::string ParameterSet::explain() const { return ckks::bootstrap::explain(*params_); }

}  // namespace latticino
