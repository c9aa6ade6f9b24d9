#include "rlwe/constants.h"

#include <algorithm>
#include <string>

#include "math/errors.h"
#include "math/modulus.h"

namespace latticino::rlwe {
namespace {

// Product of the primes of `basis` modulo q.
std::uint32_t product_mod(const Ring& ring, const Basis& basis, const Modulus& q) {
  std::uint32_t product = 1;
  for (int i = 0; i < basis.size(); ++i) {
    product = mul_mod(product, ring.prime(basis.prime(i)) % q.q, q);
  }
  return product;
}

std::uint32_t inverse_of(const Ring& ring, const Basis& basis, const Modulus& q) {
  return inverse_mod(product_mod(ring, basis, q), q);
}

// [prod(basis)]_q for the ring's primes of `where`, and 0 for all others.
std::vector<std::uint32_t> residues_on(const Ring& ring, const Basis& basis, const Basis& where) {
  std::vector<std::uint32_t> out(ring.prime_count(), 0);
  for (int i = 0; i < where.size(); ++i) {
    const int p = where.prime(i);
    out[p] = product_mod(ring, basis, make_modulus(ring.prime(p)));
  }
  return out;
}

// The auxiliary primes, of product P / P_level, that key switching at `level` does not use.
Basis unused_aux(const Params& params, int level) {
  return params.key_layout(level).aux.without(params.aux_basis(level));
}

}  // namespace

struct Constants::Cache {
  enum Kind { ModUp, DivideByP, DivideByPAndRescale, Rescale, Other };
  // Kind, level, digit, and the bases of other conversions.
  using Key = std::tuple<int, int, int, std::string>;

  struct OwnedDivision {
    std::unique_ptr<BaseConversion> conversion;
    Division division;
  };

  std::mutex mutex;
  std::map<Key, std::unique_ptr<BaseConversion>> conversions;
  std::map<Key, OwnedDivision> divisions;

  template <class Make>
  const BaseConversion& conversion(const Key& key, Make make) {
    const std::scoped_lock lock(mutex);
    std::unique_ptr<BaseConversion>& slot = conversions[key];
    if (slot == nullptr) slot = make();
    return *slot;
  }

  // Whether x must first be multiplied by 1 / prod(lacking), except on the limbs of `complete`.
  struct Parts {
    Basis removed, target, entering, complete = {}, lacking = {};
  };

  // make() computes the Parts. Only the first call for a key does so.
  template <class Make>
  const Division& division(const Key& key, const Ring& ring, const Make& make) {
    const std::scoped_lock lock(mutex);
    OwnedDivision& slot = divisions[key];
    if (slot.conversion == nullptr) {
      const auto [removed, target, entering, complete, lacking] = make();
      std::vector<std::uint32_t> extra;
      for (int i = 0; i < removed.size(); ++i) {
        const int p = removed.prime(i);
        const Modulus q = make_modulus(ring.prime(p));
        const std::uint32_t u = product_mod(ring, entering, q);
        extra.push_back(complete.contains(p) ? u : mul_mod(u, inverse_of(ring, lacking, q), q));
      }
      std::vector<std::uint32_t> inverse;
      inverse.reserve(target.size());
      for (int i = 0; i < target.size(); ++i) {
        inverse.push_back(inverse_of(ring, removed, make_modulus(ring.prime(target.prime(i)))));
      }
      slot.conversion = std::make_unique<BaseConversion>(ring, removed, target, extra, inverse);
      fill(slot.division, *slot.conversion, inverse, entering, lacking);
    }
    return slot.division;
  }

  static void fill(Division& out, const BaseConversion& conversion,
                   const std::vector<std::uint32_t>& inverse, const Basis& entering,
                   const Basis& lacking) {
    const Ring& ring = conversion.ring();
    out.conversion = &conversion;
    out.removed = conversion.from();
    out.target = conversion.to();
    for (int i = 0; i < out.target.size(); ++i) {
      const int p = out.target.prime(i);
      const Modulus q = make_modulus(ring.prime(p));
      // A prime that enters divides U, and x has no limb for it: the factor of this prime is 0.
      const std::uint32_t u = product_mod(ring, entering, q);
      out.factor.push_back(mul_mod(mul_mod(u, inverse_of(ring, lacking, q), q), inverse[i], q));
    }
  }
};

Constants::Constants(std::shared_ptr<const Params> params)
    : params_(std::move(params)),
      ring_(std::make_unique<Ring>(params_->log_n(), params_->ring_primes())),
      cache_(std::make_shared<Cache>()) {
  const Basis p = params_->aux_basis();
  Basis q;
  for (int l = 0; l <= params_->top_level(); ++l) q = q.with(params_->basis(l).without(q));
  for (const Params::KeyLayout& layout : params_->key_layouts()) {
    p_mod_.push_back(residues_on(*ring_, layout.aux, q.without(layout.aux)));
  }
  if (params_->bootstrap()) {
    const Basis base = params_->basis(0);
    encapsulation_p_mod_ = residues_on(*ring_, params_->encapsulation_basis().without(base), base);
    const Basis over = params_->over_raise_basis();
    over_raise_p_mod_ = residues_on(*ring_, p.without(over), q.with(over));
  }
}

Basis Constants::key_basis(int level) const {
  const Params::KeyLayout& layout = params_->key_layout(level);
  Basis q;
  for (int l = layout.lowest; l <= level; ++l) q = q.with(params_->basis(l).without(q));
  return q.with(layout.aux);
}

std::vector<int> Constants::key_digits(int level) const {
  const Basis basis = key_basis(level);
  const std::vector<Basis>& all = params_->key_layout(level).digits;
  std::vector<int> digits;
  for (int j = 0; j < static_cast<int>(all.size()); ++j) {
    if (all[j].intersect(basis).size() > 0) digits.push_back(j);
  }
  return digits;
}

const BaseConversion& Constants::mod_up(int group, int level) const {
  return cache_->conversion({Cache::ModUp, level, group, {}}, [&] {
    const Basis from = params_->group_basis(level, params_->digit_groups(level)[group]);
    std::vector<std::uint32_t> extra;
    extra.reserve(from.size());
    for (int i = 0; i < from.size(); ++i) {
      extra.push_back(inverse_of(*ring_, unused_aux(*params_, level),
                                 make_modulus(ring_->prime(from.prime(i)))));
    }
    return std::make_unique<BaseConversion>(*ring_, from, params_->extended(level).without(from),
                                            extra);
  });
}

const BaseConversion& Constants::conversion(const Basis& from, const Basis& to) const {
  return cache_->conversion({Cache::Other, 0, 0, from.str() + to.str()},
                            [&] { return std::make_unique<BaseConversion>(*ring_, from, to); });
}

const Constants::Division& Constants::divide_by_p(int level) const {
  return cache_->division({Cache::DivideByP, level, 0, {}}, *ring_, [&] {
    return Cache::Parts{params_->aux_basis(level),
                        params_->basis(level),
                        {},
                        params_->key_layout(level).aux,
                        unused_aux(*params_, level)};
  });
}

const Constants::Division& Constants::divide_by_p_and_rescale(int level) const {
  if (level < 1) {
    throw LevelError(
        "rlwe.mod_down", "level 0", "a level to drop",
        "multiply fewer times in sequence, or bootstrap() where the parameters have it");
  }
  return cache_->division({Cache::DivideByPAndRescale, level, 0, {}}, *ring_, [&] {
    return Cache::Parts{params_->leaving(level).with(params_->aux_basis(level)),
                        params_->basis(level - 1), params_->entering(level),
                        params_->key_layout(level).aux, unused_aux(*params_, level)};
  });
}

const Constants::Division& Constants::rescale(int level) const {
  if (level < 1) {
    throw LevelError(
        "rlwe.rescale", "level 0", "a level to drop",
        "multiply fewer times in sequence, or bootstrap() where the parameters have it");
  }
  return cache_->division({Cache::Rescale, level, 0, {}}, *ring_, [&] {
    return Cache::Parts{params_->leaving(level), params_->basis(level - 1),
                        params_->entering(level)};
  });
}

const Constants::Division& Constants::division(const Basis& from, const Basis& target) const {
  return cache_->division({Cache::Other, 0, 0, from.str() + target.str()}, *ring_, [&] {
    return Cache::Parts{from.without(target), target, target.without(from)};
  });
}

std::vector<std::uint32_t> Constants::product_on(const Basis& product, const Basis& where) const {
  return residues_on(*ring_, product, where);
}

}  // namespace latticino::rlwe
