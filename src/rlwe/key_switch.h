// Hybrid key switching (Han-Ki) from records: the five passes of the kernel plan.
#pragma once

#include "params/params.h"
#include "rlwe/constants.h"
#include "rlwe/keys.h"

namespace latticino::rlwe {

// ModUp of one polynomial: its own Eval limbs and, digit by digit, the converted limbs in Half.
// Holds memory until destroyed; shared by all rotations of a hoisted group.
struct Raised {
  int level = 0;
  PolyView source;               // Eval, basis(level); must outlive this object
  std::vector<int> digit_index;
  std::vector<Poly> converted;   // Half, extended(level) without the digit
  std::vector<KeyInner::Digit> digits() const;
};

Raised mod_up(Queue& queue, const Constants& constants, const PolyView& a, int level);

// sum_j digit_j key_j (+ P add): result modulo P Q_level, Eval on Q primes and, if `for_mod_down`,
// Half on the primes that the next mod_down removes (P, and level's leaving primes when
// `drop_level`), ready for it without another transform.
struct ExtendedPair {
  int level = 0;
  std::array<Poly, 2> part;           // limbs over extended(level)
  std::array<PolyView, 2> eval, half; // as KeyInner::Target
};

struct InnerTarget {
  const SwitchKey* key = nullptr;
  std::array<PolyView, 2> add{};      // Eval, basis(level); added times P
  std::uint32_t galois = 1;
  bool for_mod_down = true, drop_level = false;
};
std::vector<ExtendedPair> key_inner(Queue& queue, const Constants& constants, const Raised& raised,
                                    const std::vector<InnerTarget>& targets);

// Divides by P (and, if drop_level, by the rescale factor of `level` in the same pass; paper 000
// Sec. 4, merged ModDown + rescale), then adds `add` and applies the automorphism.
std::array<Poly, 2> mod_down(Queue& queue, const Constants& constants, const ExtendedPair& x,
                             bool drop_level, const std::array<PolyView, 2>& add = {},
                             std::uint32_t galois = 1);

// Divides by rescale_factor(level): polynomials of basis(level) -> basis(level - 1).
std::vector<Poly> rescale(Queue& queue, const Constants& constants,
                          const std::vector<PolyView>& in, int level);

}  // namespace latticino::rlwe
