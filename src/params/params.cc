#include "params/params.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "crypto/sha256.h"
#include "math/big_uint.h"
#include "math/errors.h"
#include "params/checks.h"

namespace latticino {
namespace {

std::uint16_t u16(int x) { return static_cast<std::uint16_t>(x); }

double log2_of(const std::vector<std::uint32_t>& primes) {
  double sum = 0;
  for (const std::uint32_t q : primes) sum += std::log2(q);
  return sum;
}

}  // namespace

BigUint Params::product_of(const Basis& basis) const {
  BigUint out(1);
  for (int i = 0; i < basis.size(); ++i) out *= ring_primes_[basis.prime(i)];
  return out;
}

std::string LevelShape::str() const {
  // The numbers of the terminals of a list, in the order of the list.
  const auto numbers = [](std::uint16_t set) {
    std::string out;
    for (int i = 0; i < 16; ++i) {
      if ((set >> i & 1) != 0) out.append(out.empty() ? ":" : ".").append(std::to_string(i));
    }
    return out;
  };
  std::string out = std::to_string(mains) + "+" + std::to_string(terminals) + numbers(chosen);
  if (outer != 0) out += "+" + std::to_string(outer) + numbers(chosen_outer);
  return out;
}

std::shared_ptr<const Params> Params::check(ParamsLiteral literal) {
  params::check_literal(literal);
  params::check_runs(literal);
  std::shared_ptr<Params> p(new Params());
  p->literal_ = std::move(literal);
  p->derive();
  params::check_runs_of_sums(*p);
  params::check_digits(*p);
  params::check_security(*p);
  params::check_bootstrap(*p);
  params::check_scales(*p);
  params::check_accumulators(*p);
  params::check_preset_name(*p);
  return p;
}

void Params::derive() {
  const ParamsLiteral& x = literal_;
  ring_primes_.assign(x.terminals.rbegin(), x.terminals.rend());
  ring_primes_.insert(ring_primes_.end(), x.mains.begin(), x.mains.end());
  ring_primes_.insert(ring_primes_.end(), x.outer.rbegin(), x.outer.rend());
  ring_primes_.insert(ring_primes_.end(), x.aux.begin(), x.aux.end());
  default_level_ = x.default_level;
  if (default_level_ < 0) {
    default_level_ = x.bootstrap ? level_after_bootstrap() + x.bootstrap->stc_levels : top_level();
  }
  for (const LevelShape& s : x.levels) basis_.push_back(basis_of(s));
  rescale_factor_.push_back(0);  // for a level below the lowest one
  for (int l = 0; l <= top_level(); ++l) {
    double log_q = 0;
    const Basis b = basis(l);
    for (int i = 0; i < b.size(); ++i) log_q += std::log2(ring_primes_[b.prime(i)]);
    log_q_.push_back(log_q);
    if (l == 0) continue;
    rescale_factor_.push_back(BigUint::ratio(product_of(leaving(l)), product_of(entering(l))));
  }
  scale_.push_back(exp2_reproducible(x.log_scale));
  for (int l = 1; l <= top_level(); ++l) {
    const double r = rescale_factor(l);
    scale_.push_back(l <= default_level_ ? std::sqrt(scale_[l - 1] * r) : r);
  }
  derive_keys();
  hash_ = crypto::sha256_hex(canonical_text());
}

int Params::level_after_bootstrap() const {
  const std::optional<BootstrapLiteral>& b = literal_.bootstrap;
  if (!b) {
    throw ParameterError("params.level_after_bootstrap", "the set " + name(),
                         "a set with bootstrapping levels", "choose a preset named ...-boot-...");
  }
  return top_level() - b->cts_levels - b->evalmod_levels - b->stc_levels;
}

void Params::check_level(int level, int least, const char* operation) const {
  if (level >= least && level <= top_level()) return;
  throw LevelError(operation, "level " + std::to_string(level),
                   std::to_string(least) + " <= level <= " + std::to_string(top_level()),
                   "choose a level of the set " + name());
}

int Params::limbs(int level) const {
  check_level(level, 0, "params.limbs");
  const LevelShape s = literal_.levels[level];
  return s.mains + s.terminals + s.outer;
}

Basis Params::basis(int level) const {
  check_level(level, 0, "params.basis");
  return basis_[level];
}

Basis Params::basis_of(const LevelShape& s) const {
  const int t = static_cast<int>(literal_.terminals.size());
  const int outer = static_cast<int>(literal_.outer.size());
  std::vector<PrimeRange> runs;
  for (int i = t - 1; i >= 0; --i) {
    if (s.has_terminal(i)) runs.push_back({u16(t - 1 - i), u16(t - i)});
  }
  runs.push_back({u16(t), u16(t + s.mains)});
  for (int i = outer - 1; i >= 0; --i) {
    if (s.has_outer(i)) runs.push_back({u16(q_count() - 1 - i), u16(q_count() - i)});
  }
  return Basis(runs);
}

bool Params::free_terminals() const {
  return std::any_of(literal_.levels.begin(), literal_.levels.end(),
                     [](const LevelShape& s) { return s.free(); });
}

Basis Params::aux_basis() const { return {{u16(q_count()), u16(q_count() + alpha())}}; }

Basis Params::encapsulation_basis() const {
  const int count = std::min(limbs(0), alpha());
  return basis(0).with({{u16(q_count()), u16(q_count() + count)}});
}

Basis Params::over_raise_basis() const {
  return {{u16(q_count()), u16(q_count() + std::min(2, alpha()))}};
}

double Params::over_raise_factor() const {
  const Basis over = over_raise_basis();
  double product = 1;
  for (int i = 0; i < over.size(); ++i) product *= ring_primes_[over.prime(i)];
  return product;
}

Basis Params::leaving(int level) const {
  check_level(level, 1, "params.leaving");
  return basis(level).without(basis(level - 1));
}

Basis Params::entering(int level) const {
  check_level(level, 1, "params.entering");
  return basis(level - 1).without(basis(level));
}

double Params::scale(int level) const {
  check_level(level, 0, "params.scale");
  return scale_[level];
}

double Params::rescale_factor(int level) const {
  check_level(level, 1, "params.rescale_factor");
  return rescale_factor_[level];
}

double Params::log_q(int level) const {
  check_level(level, 0, "params.log_q");
  return log_q_[level];
}

double Params::log_q_max() const {
  return log2_of(literal_.terminals) + log2_of(literal_.mains) + log2_of(literal_.outer);
}

double Params::log_p() const { return log2_of(literal_.aux); }

double Params::target_log_scale(int level) const {
  check_level(level, 0, "params.target_log_scale");
  return literal_.level_log_scale.empty() ? literal_.log_scale : literal_.level_log_scale[level];
}

double Params::scale_drift() const {
  double drift = 0;
  for (int l = 0; l <= default_level_; ++l) {
    drift = std::max(drift, std::abs(std::log2(scale_[l]) - target_log_scale(l)));
  }
  return drift;
}

double Params::message_bound(int level) const {
  return std::exp2(log_q(level) - 1 - std::log2(scale(level)));
}

std::string Params::canonical_text() const { return params::to_text(literal_); }

}  // namespace latticino
