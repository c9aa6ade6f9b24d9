#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "ops/conversion.h"
#include "params/params.h"
#include "poly/ring.h"

namespace latticino::rlwe {

// The ring of a Params and the constants of its base conversions, built on first use and kept.
// Thread-safe; immutable as seen from outside. One per context (a Ring serves one backend).
class Constants {
 public:
  explicit Constants(std::shared_ptr<const Params> params);
  const Params& params() const { return *params_; }
  std::shared_ptr<const Params> shared_params() const { return params_; }
  const Ring& ring() const { return *ring_; }

  // The primes of a switching key that serves every level of the band up to `level`. They are the
  // primes of all these levels, and the band's auxiliary primes. With rational rescaling a lower
  // level may have primes that `level` does not have. The primes of the levels are one run in the
  // ring's order.
  Basis key_basis(int level) const;
  // The digits of the layout that such a key has: those with a prime in key_basis(level).
  std::vector<int> key_digits(int level) const;

  // From the primes of group `group` of Params::digit_groups(level) to all others of
  // extended(level). Where P_level is a part of P the digit is multiplied by (P / P_level)^-1. Here
  // and below P has the extra primes of the level's band.
  const BaseConversion& mod_up(int group, int level) const;
  // Between any two disjoint sets of the ring's primes.
  const BaseConversion& conversion(const Basis& from, const Basis& to) const;
  // Division by D (the primes of `removed`: P, P + leaving(level), or leaving(level) alone) after
  // multiplication by U = prod(entering(level)) when a level is dropped (paper: Cheddar, Fig. 4):
  //   out = (x U - conversion(x U mod D)) / D  on target; x is 0 on the primes that enter. The
  // conversion divides what it makes by D.
  struct Division {
    const BaseConversion* conversion = nullptr;
    std::vector<std::uint32_t> factor;  // factors of ModDownFinish, by position in `target`
    Basis removed, target;
  };
  // For results of key switching, that is modulo P_level Q_level. If P_level is a part of P, Q's
  // limbs of such a result lack the digit's factor (P / P_level)^-1: it is in the constants here.
  const Division& divide_by_p(int level) const;
  const Division& divide_by_p_and_rescale(int level) const;
  const Division& rescale(int level) const;
  // From all primes of x to `target`: divides by the primes that leave, and multiplies by those
  // that enter. If there are no common primes, it changes the modulus (a rational rescale of any
  // width).
  const Division& division(const Basis& from, const Basis& target) const;

  // Product of the primes of `product` modulo those of `where`, by ring prime index; 0 elsewhere.
  std::vector<std::uint32_t> product_on(const Basis& product, const Basis& where) const;
  // [P]_q, indexed by ring prime, where P has the extra primes of the level's band.
  const std::vector<std::uint32_t>& p_mod(int level) const { return p_mod_[params_->band(level)]; }
  const std::vector<std::uint32_t>& encapsulation_p_mod() const { return encapsulation_p_mod_; }
  // [P/P'] on the primes of Q and P' (Params::over_raise_basis()).
  const std::vector<std::uint32_t>& over_raise_p_mod() const { return over_raise_p_mod_; }

 private:
  struct Cache;
  std::shared_ptr<const Params> params_;
  std::unique_ptr<Ring> ring_;
  std::vector<std::vector<std::uint32_t>> p_mod_;  // by band
  std::vector<std::uint32_t> encapsulation_p_mod_, over_raise_p_mod_;
  std::shared_ptr<Cache> cache_;
};

}  // namespace latticino::rlwe
