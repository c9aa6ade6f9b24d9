// Hybrid key switching (Han-Ki) in five passes, each an ordinary record (docs/architecture.md):
// key_switch() runs all of them. Every function takes a batch; one batch is one record per pass, so
// that independent switches share their launches.
#pragma once

#include <span>

#include "params/params.h"
#include "rlwe/constants.h"
#include "rlwe/keys.h"

namespace latticino::rlwe {

// A pair of polynomials modulo P_level Q_level (limbs over extended(level)), Eval, or Half on the
// primes that the next mod_down removes: P_level's, and the level's leaving primes when it drops
// the level. The limbs on Q hold P / P_level times the polynomial: so addends there are multiplied
// by P at every level, and products with polynomials over extended(level) stay such pairs.
struct ExtendedPair {
  int level = 0;
  std::array<Poly, 2> part;  // limbs over extended(level)
  // The limbs that are in Eval, and those that are in Half.
  std::array<PolyView, 2> eval, half;
  // For a switch of one digit that continues with mod_down at once: `eval` has the digit's own
  // limbs. They are multiplied by `times`, which are limbs of the key, divided by P, and added to
  // `add`.
  std::array<PolyView, 2> times, add;
};

// Memory for such a pair, all Eval.
ExtendedPair allocate_extended(Queue& queue, const Constants& constants, int level);

// One polynomial `a` of a batch under one key, or under several, which share passes 1 and 2.
struct SwitchTarget {
  const SwitchKey* key = nullptr;
  std::array<PolyView, 2> add = {};    // Eval; added to the sum before its division, see Addend
  std::array<PolyView, 2> after = {};  // Eval; added to the quotient
  std::uint32_t galois = 1;            // applied last
};
struct SwitchInput {
  PolyView a;  // Eval, at least the primes of the level
  std::vector<SwitchTarget> targets = {};
  // For two ciphertexts (a0, a1), where a1 is `a`, and (b0, b1): a1 b1 is switched, and the other
  // parts are added times P. The parts are never stored, because the passes that would read them
  // multiply. For one target without addends.
  KeyInner::Product product = {};
};
enum class Addend {
  TimesP,    // over basis(level), multiplied by P (PseudoModUp)
  Extended,  // over extended(level), as it is: already modulo P Q
};

// Switches every input to every one of its keys, and divides by P and, with drop_level, by the
// rescale factor of `level`. Gives (b, a) for each target, input by input.
std::vector<std::array<Poly, 2>> key_switch(Queue& queue, const Constants& constants,
                                            std::span<const SwitchInput> inputs, int level,
                                            bool drop_level = false);
// The first three passes: the sums stay modulo P Q, all Eval.
std::vector<std::vector<ExtendedPair>> key_switch_extended(Queue& queue, const Constants& constants,
                                                           std::span<const SwitchInput> inputs,
                                                           int level,
                                                           Addend addend = Addend::TimesP);

// The passes by themselves. 1 and 2: ModUp of one polynomial. It has its own Eval limbs and, for
// each group of digits, the converted limbs in Half. It holds memory until it is destroyed, and all
// rotations of a hoisted group share it.
struct ModUpResult {
  int level = 0;
  // The polynomial itself: Eval, basis(level). It must outlive this object. Of a product it is a1
  // (SwitchInput::product).
  PolyView source;
  std::vector<Poly> converted;  // Half, extended(level) without the group's primes
  std::vector<Basis> own;       // primes of each group that are present at `level`
  std::vector<KeyInner::Digit> digits() const;
};
std::vector<ModUpResult> mod_up(Queue& queue, const Constants& constants,
                                std::span<const PolyView> a, int level);
ModUpResult mod_up(Queue& queue, const Constants& constants, const PolyView& a, int level);

// 3: sum_j digit_j key_j (+ add), ready for `mod_down` without another transform if `for_mod_down`.
struct InnerTarget {
  const SwitchKey* key = nullptr;
  std::array<PolyView, 2> add = {};  // Eval; see Addend
  std::uint32_t galois = 1;          // applied last; 1 where for_mod_down
  bool for_mod_down = true, drop_level = false;
};
std::vector<ExtendedPair> key_inner(Queue& queue, const Constants& constants,
                                    const ModUpResult& raised,
                                    const std::vector<InnerTarget>& targets);

// 4 and 5: one polynomial modulo P Q_level on its way down.
struct DownItem {
  PolyView eval;             // Eval, on at least the primes that stay
  PolyView removed;          // Half or Eval, on the primes that are removed
  PolyView add = {};         // Eval over the target; may be empty
  std::uint32_t galois = 1;  // applied last, to the sum
  PolyView times = {};       // Eval on the primes that stay, a factor of `eval`; may be empty
};
// Divides by P_level (and, if drop_level, by the rescale factor of `level` in the same pass: merged
// ModDown + rescale, paper: Cheddar, Sec. 6), then adds `add` and applies the automorphism.
std::vector<Poly> mod_down(Queue& queue, const Constants& constants,
                           std::span<const DownItem> items, int level, bool drop_level);
std::array<Poly, 2> mod_down(Queue& queue, const Constants& constants, const ExtendedPair& x,
                             bool drop_level, const std::array<PolyView, 2>& add = {},
                             std::uint32_t galois = 1);
// The input of mod_down for part h of `x`.
DownItem down_item(const Constants& constants, const ExtendedPair& x, int h, bool drop_level,
                   const PolyView& add = {}, std::uint32_t galois = 1);

// Divides by rescale_factor(level): polynomials of basis(level) -> basis(level - 1).
std::vector<Poly> rescale(Queue& queue, const Constants& constants, const std::vector<PolyView>& in,
                          int level);

// Converts polynomials of one basis (Eval) to the basis `target`, and multiplies them by (product
// of `target`) / (product of their primes).
std::vector<Poly> change_modulus(Queue& queue, const Constants& constants,
                                 std::span<const PolyView> in, const Basis& target);

// With a key of one digit, pairs (b, a) over the same primes, Eval, and those of `aux`: the same
// messages under the key's secret, same basis.
std::vector<std::array<Poly, 2>> switch_one_digit(Queue& queue, const Constants& constants,
                                                  std::span<const std::array<PolyView, 2>> x,
                                                  const std::array<PolyView, 2>& key,
                                                  const Basis& aux);

// Sparse-secret encapsulation (Bossuat, Troncoso-Pastoriza, Hubaux 2022). Ciphertexts (b, a) over
// basis(0), Eval, under the dense secret -> the same messages under the sparse one, same basis.
std::vector<std::array<Poly, 2>> switch_to_sparse(Queue& queue, const Constants& constants,
                                                  std::span<const std::array<PolyView, 2>> x,
                                                  const SwitchKey& key);
// A raised ciphertext under the sparse secret: b and a over basis(level), Eval, and the same `a`
// over P, Half or Eval.
struct RaisedPair {
  PolyView b, a, a_aux;
};
// The results are under the dense secret over basis(level). There is one digit: the raised `a` is
// its own ModUp. `level` is the top level, whose switches use all of P.
std::vector<std::array<Poly, 2>> switch_from_sparse(Queue& queue, const Constants& constants,
                                                    std::span<const RaisedPair> x,
                                                    const SwitchKey& key, int level);

// Products of a raised ciphertext under the sparse secret, each (b, a) over extended(level), Eval.
// Each result is under the secret of its key, times P/P', modulo the same primes; there is one
// digit here as well. The next mod_down divides by P, and so by P' too
// (ckks/bootstrap/over_raise.h).
std::vector<ExtendedPair> switch_over_raised(Queue& queue, const Constants& constants,
                                             std::span<const ExtendedPair> x,
                                             std::span<const SwitchKey* const> keys, int level);

}  // namespace latticino::rlwe
