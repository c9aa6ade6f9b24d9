#include "params/checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string>

#include "math/big_uint.h"
#include "math/errors.h"
#include "math/primes.h"
#include "params/bounds/conversion.h"
#include "params/bounds/security.h"
#include "params/names.h"

namespace latticino::params {
namespace {

constexpr const char* kCheck = "params.check";
using Security = ParamsLiteral::Security;

std::string num(double x) {
  std::string s = std::to_string(x);
  return s.substr(0, s.find('.') + 3);
}
std::string num(int x) { return std::to_string(x); }

void need(bool holds, const std::string& had, const std::string& needs, const std::string& remedy) {
  if (!holds) throw ParameterError(kCheck, had, needs, remedy);
}

void check_primes(const ParamsLiteral& x) {
  std::set<std::uint32_t> seen;
  for (const auto* list : {&x.terminals, &x.mains, &x.outer, &x.aux}) {
    for (const std::uint32_t q : *list) {
      need(is_ntt_prime(x.log_n, q), std::to_string(q) + " among the primes",
           "primes q = 1 mod 2N, q < 2^31, N = 2^" + num(x.log_n), "use generated primes");
      need(seen.insert(q).second, "the prime " + std::to_string(q) + " twice", "distinct primes",
           "remove one");
    }
  }
}

// The terminals of a level that names them, from a list with `listed` terminals.
void check_chosen(const std::string& at, int count, std::uint16_t chosen, std::size_t listed) {
  if (chosen == 0) return;
  need(std::popcount(chosen) == count && (listed >= 16 || chosen >> listed == 0),
       at + " with " + num(count) + " terminals, and " + num(std::popcount(chosen)) + " chosen",
       "as many chosen terminals, all of them in the list", "fix its shape");
  need(chosen != (std::uint32_t{1} << count) - 1,
       at + " with the first " + num(count) + " terminals chosen by number",
       "no numbers where a level has the first ones of a list", "leave them out");
}

// Whether some prime leaves between a level and the one below it.
bool leaves(const ParamsLiteral& x, const LevelShape& s, const LevelShape& below) {
  bool any = s.mains > below.mains;
  for (int i = 0; i < static_cast<int>(x.terminals.size()); ++i) {
    any = any || (s.has_terminal(i) && !below.has_terminal(i));
  }
  for (int i = 0; i < static_cast<int>(x.outer.size()); ++i) {
    any = any || (s.has_outer(i) && !below.has_outer(i));
  }
  return any;
}

// Whether each of the `listed` terminals of a list is used by some level. has(s, i): shape s has
// terminal i.
template <class Has>
bool all_used(const ParamsLiteral& x, std::size_t listed, const Has& has) {
  for (int i = 0; i < static_cast<int>(listed); ++i) {
    const auto uses = [&](const LevelShape& s) { return has(s, i); };
    if (std::none_of(x.levels.begin(), x.levels.end(), uses)) return false;
  }
  return true;
}

void check_shapes(const ParamsLiteral& x) {
  need(!x.levels.empty() && x.levels.size() <= 200, num(int(x.levels.size())) + " levels",
       "1 to 200 levels", "list the level shapes, the base first");
  std::size_t mains = 0;
  for (std::size_t l = 0; l < x.levels.size(); ++l) {
    const LevelShape s = x.levels[l];
    const std::string at = "level " + num(int(l));
    need(s.mains + s.terminals + s.outer > 0, at + " without primes", "at least one prime",
         "fix its shape");
    need(
        s.mains <= x.mains.size() && s.terminals <= x.terminals.size() && s.outer <= x.outer.size(),
        at + " with more primes than listed", "a prefix of mains and of terminals",
        "list more primes");
    check_chosen(at, s.terminals, s.chosen, x.terminals.size());
    check_chosen(at, s.outer, s.chosen_outer, x.outer.size());
    mains = std::max<std::size_t>(mains, s.mains);
    need(l == 0 || leaves(x, s, x.levels[l - 1]), at + " without a leaving prime",
         "a prime that leaves with the rescale of every level", "fix the shapes");
  }
  const auto terminal = [](const LevelShape& s, int i) { return s.has_terminal(i); };
  const auto outer = [](const LevelShape& s, int i) { return s.has_outer(i); };
  need(mains == x.mains.size() && all_used(x, x.terminals.size(), terminal) &&
           all_used(x, x.outer.size(), outer),
       "primes that no level uses", "every main and terminal in some level", "drop the others");
}

void check_bands(const ParamsLiteral& x) {
  need(x.bands.empty() || (x.outer.empty() && std::none_of(x.levels.begin(), x.levels.end(),
                                                           [](auto& s) { return s.free(); })),
       "bands of a set with outer or free terminals", "levels of the first mains and terminals",
       "leave the bands out");
  int above = 1;  // level 0 and switches between rings use P alone
  for (const SwitchBand& b : x.bands) {
    const std::string band = "the band " + b.str();
    need(
        above <= b.lowest && b.lowest <= b.highest && b.highest < static_cast<int>(x.levels.size()),
        band, "levels from " + num(above) + " to the top, the lowest first",
        "list the bands from the lowest levels on, and each level once");
    above = b.highest + 1;
    std::size_t mains = 0;
    for (int l = 0; l <= b.highest; ++l) mains = std::max<std::size_t>(mains, x.levels[l].mains);
    const std::size_t unused = x.mains.size() - mains;
    need(b.extra >= 1 && b.extra <= unused, band,
         "1 to " + std::to_string(unused) + " extra primes, mains that no level up to " +
             num(b.highest) + " has",
         "take fewer, or leave the band out");
  }
}

// All primes of a ring basis, by value.
std::vector<std::uint32_t> values(const Params& p, const Basis& basis) {
  std::vector<std::uint32_t> out;
  out.reserve(basis.size());
  for (int i = 0; i < basis.size(); ++i) out.push_back(p.ring_primes()[basis.prime(i)]);
  return out;
}

void check_load(const Params& p, const Basis& from, const Basis& to, const std::string& what,
                bool divided) {
  const double load = conversion_load(values(p, from), values(p, to), divided);
  need(load < 1, what + " with accumulators up to 2^63 times " + num(load),
       "sums of centred products below 2^63", "choose fewer or smaller auxiliary primes");
}

void check_bootstrap_fields(const BootstrapLiteral& b, int n) {
  const auto within = [](int x, int low, int high) { return low <= x && x <= high; };
  need(
      within(b.cts_levels, 1, 20) && within(b.evalmod_levels, 1, 40) && within(b.stc_levels, 1, 20),
      "bootstrapping level counts out of range", "1..20, 1..40 (EvalMod), 1..20", "fix them");
  need(within(b.log_message_ratio, 0, 60) && within(b.range_k, 1, 512) &&
           within(b.evalmod_degree, 1, 255) && within(b.double_angles, 0, 8) &&
           within(b.sparse_weight, 1, n),
       "EvalMod constants out of range",
       "ratio 2^0..2^60, K in 1..512, degree in 1..255, at most 8 double angles, weight in 1..N",
       "fix them");
}

}  // namespace

void check_literal(const ParamsLiteral& x) {
  check_name(kCheck, x.name, x.security);
  need(x.log_n >= 10 && x.log_n <= 17, "N = 2^" + num(x.log_n), "N = 2^10 .. 2^17", "choose N");
  const std::size_t primes = x.mains.size() + x.terminals.size() + x.outer.size() + x.aux.size();
  need(!x.mains.empty() && primes <= 250, num(int(primes)) + " primes",
       "at least one main prime, at most 250 primes", "fix the prime lists");
  need(x.alpha >= 1 && x.alpha == static_cast<int>(x.aux.size()),
       "alpha = " + num(x.alpha) + " with " + num(int(x.aux.size())) + " auxiliary primes",
       "alpha auxiliary primes, alpha >= 1", "make them agree");
  check_primes(x);
  check_shapes(x);
  check_bands(x);
  need(x.log_scale >= 10 && x.log_scale <= 60, "scale 2^" + num(x.log_scale), "2^10 .. 2^60",
       "choose the scale");
  need(x.level_log_scale.empty() ||
           (x.level_log_scale.size() == x.levels.size() && x.level_log_scale[0] == x.log_scale),
       num(int(x.level_log_scale.size())) + " scale targets",
       "none, or one per level, log_scale first", "list them level by level");
  for (const double bits : x.level_log_scale) {
    need(bits >= 10 && bits <= 120, "a scale target of 2^" + num(bits), "2^10 .. 2^120",
         "choose another target");
  }
  need(x.default_level >= -1 && x.default_level < static_cast<int>(x.levels.size()),
       "default level " + num(x.default_level), "-1 or an existing level", "choose a level");
  if (x.bootstrap) check_bootstrap_fields(*x.bootstrap, 1 << x.log_n);
  need(x.hamming_weight >= 0 && x.hamming_weight <= (1 << x.log_n),
       "Hamming weight " + num(x.hamming_weight), "0 .. N", "choose 0 for uniform ternary");
}

void check_digits(const Params& p) {
  for (std::size_t band = 0; band < p.key_layouts().size(); ++band) {
    const Params::KeyLayout& layout = p.key_layouts()[band];
    const BigUint aux = product(values(p, layout.aux));
    const std::string of = band == 0 ? "" : " of the band " + p.literal().bands[band - 1].str();
    for (std::size_t j = 0; j < layout.digits.size(); ++j) {
      need(product(values(p, layout.digits[j])) <= aux,
           "key-switching digit " + std::to_string(j) + of + " with a product above P",
           "every digit at most P" + std::string(band == 0 ? "" : " times the extra primes"),
           "use larger auxiliary primes or other mains");
    }
  }
}

void check_security(const Params& p) {
  if (p.literal().security != Security::Bits128) return;
  const double bound = max_log_pq_128(p.log_n());
  need(p.log_pq() <= bound, "log2(P Q) = " + num(p.log_pq()),
       "at most " + num(bound) + " at N = 2^" + num(p.log_n()) + " for 128 bits",
       "drop levels or auxiliary primes, or mark the set legacy or insecure by name");
  const int h = p.literal().hamming_weight;
  need(h == 0 || h >= p.n() / 2, "a secret of Hamming weight " + num(h),
       "uniform ternary, or weight N/2 and more, for 128 bits",
       "choose 0, or mark the set legacy by name");
  if (!p.bootstrap()) return;
  double log_key = 0;
  for (const std::uint32_t q : values(p, p.encapsulation_basis())) log_key += std::log2(q);
  const double most = max_log_encapsulation_128(p.log_n());
  need(log_key <= most, "a sparse encapsulation key of " + num(log_key) + " bits",
       "at most " + num(most) + " bits at N = 2^" + num(p.log_n()),
       "make the base level smaller, or mark the set insecure by name");
  need(p.bootstrap()->sparse_weight >= 32,
       "an encapsulation secret of weight " + num(p.bootstrap()->sparse_weight), "32 and more",
       "raise it, or mark the set insecure by name");
}

void check_bootstrap(const Params& p) {
  need(p.default_level() <= p.top_level() && p.default_level() >= 0,
       "default level " + num(p.default_level()), "an existing level", "fix the level counts");
  if (!p.bootstrap()) return;
  const BootstrapLiteral& b = *p.bootstrap();
  need(p.level_after_bootstrap() >= 1,
       num(p.top_level()) + " levels for bootstrapping that takes " +
           num(b.cts_levels + b.evalmod_levels + b.stc_levels),
       "at least one level left afterwards", "add levels");
  need(p.default_level() == p.level_after_bootstrap() + b.stc_levels,
       "default level " + num(p.default_level()), "the level where SlotToCoeff starts",
       "leave default_level at -1");
  need(p.limbs(0) <= 2, num(p.limbs(0)) + " primes in the base level",
       "at most two: ModRaise centres one 64-bit integer", "change the base level");
  need(p.limbs(0) <= p.alpha(), "alpha = " + num(p.alpha()),
       "as many auxiliary primes as base primes", "raise alpha");
  need(p.limbs(p.top_level()) == p.q_count(), "a top level without all primes",
       "every main and terminal at the top: raised ciphertexts meet full keys",
       "let CoeffToSlot levels pull the terminals back in");
  need(std::ldexp(p.bootstrap_message_ratio(), b.log_message_ratio) <= 2,
       "message ratio 2^" + num(b.log_message_ratio) + " with q0 = 2^" + num(p.log_q(0)),
       "q0 >= scale times message ratio", "lower log_message_ratio or enlarge the base");
  const int depth = static_cast<int>(std::ceil(std::log2(b.evalmod_degree + 1))) + b.double_angles;
  need(b.evalmod_levels >= depth, num(b.evalmod_levels) + " EvalMod levels",
       num(depth) + " for degree " + num(b.evalmod_degree) + " and " + num(b.double_angles) +
           " double angles",
       "add levels or lower the degree");
  double low = 1e9, high = 0;
  for (int l = p.default_level() + 1; l <= p.default_level() + b.evalmod_levels; ++l) {
    const double bits = std::log2(p.rescale_factor(l));
    low = std::min(low, bits), high = std::max(high, bits);
  }
  need(high - low <= 0.1, "EvalMod levels of " + num(low) + " to " + num(high) + " bits",
       "equal sizes within 0.1 bit", "choose EvalMod primes of equal size");
}

void check_scales(const Params& p) {
  if (p.literal().security == Security::Legacy) return;  // imported sets keep their drift
  const double bound = p.literal().level_log_scale.empty() ? 0.1 : 0.5;
  need(p.scale_drift() <= bound, "canonical scales off by " + num(p.scale_drift()) + " bits",
       "at most " + num(bound) + " bits", "choose primes nearer to the targets");
}

void check_accumulators(const Params& p) {
  for (int l = 0; l <= p.top_level(); ++l) {
    const std::string at = " at level " + num(l);
    const Basis aux = p.aux_basis(l);
    for (const std::vector<int>& group : p.digit_groups(l)) {
      const Basis from = p.group_basis(l, group);
      check_load(p, from, p.extended(l).without(from), "ModUp of digit " + num(group[0]) + at,
                 false);
    }
    check_load(p, aux, p.basis(l), "ModDown" + at, true);
    if (l == 0) continue;
    check_load(p, p.leaving(l), p.basis(l - 1), "rescaling" + at, true);
    check_load(p, p.leaving(l).with(aux), p.basis(l - 1), "merged ModDown and rescaling" + at,
               true);
  }
  if (!p.bootstrap()) return;
  const Basis base = p.basis(0), small = p.encapsulation_basis().without(base);
  check_load(p, base, small, "encapsulation ModUp", false);
  check_load(p, small, base, "encapsulation ModDown", true);
}

}  // namespace latticino::params
