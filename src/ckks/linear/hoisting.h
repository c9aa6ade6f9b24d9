// sum_g rot_g( sum_b factor_(g,b) * rot_b(x) ): two ways of evaluating it. The hoisted one also
// takes several ciphertexts x, the sources, and computes several such sums of them, the targets.
#pragma once

#include <memory>

#include "ckks/encoding/encoder.h"
#include "ckks/evaluator/evaluator.h"

namespace latticino::ckks {

struct HoistedSum {
  struct Term {
    int baby;          // position in `babies`
    Plaintext factor;  // without its polynomial if `compact` is set
    int source = 0;
    std::shared_ptr<const CompactFactor> compact = {};
  };
  static Term term(int baby, CompactFactor factor, int source = 0);
  int sources = 1, targets = 1;
  std::vector<int> babies, giants;  // rotations, increasing
  std::vector<std::vector<Term>>
      rows;            // target by target, one for each giant; empty if there is no term
  bool merged = true;  // divides by P and by the rescale factor together
  bool rotates() const { return babies.back() != 0 || giants.back() != 0; }
  const Plaintext& any_factor() const;  // that of some term; there must be one
  HoistedSum expanded() const;          // the terms, with the polynomials of all compact factors
  std::size_t bytes() const;            // bytes of the factors, as they are stored
};

// The factors of a transform. Those that are not compact have no integers.
//
// If it rotates, they are made for hoisted_sum(): for rotations of the input they are over P Q; for
// the input itself (rotation 0), which is modulo Q, they are multiplied by P. If not, they are made
// for plain_sum().
struct TermForm {
  int level = 0;
  double scale = 0;
  bool rotates = false, compact = false;
};
std::vector<CompactFactor> encode_terms(const std::shared_ptr<const Context>& context,
                                        const Factors& given, const TermForm& form, bool rotated);

// Double hoisting (Bossuat et al. 2021; paper: Cheddar, Fig. 5): everything between the one
// ModUp of x and the one ModDown + rescale at the end stays modulo P Q. Factors are made by
// encode_terms(). `x`: all sources one after another, for one application or for several; all at
// the factors' level. Results: all targets one after another, one level lower. Every source is
// raised once, and each of its rotations is made once for all targets.
std::vector<Ciphertext> hoisted_sum(const Evaluator& evaluator, const HoistedSum& sum,
                                    std::span<const Ciphertext> x);

// The same if there is no rotation. Factors are modulo Q alone.
std::vector<Ciphertext> plain_sum(const Evaluator& evaluator, const HoistedSum& sum,
                                  std::span<const Ciphertext> x);

// The inputs of a transform, brought to the level of its factors. Throws if they do not fit the
// transform.
std::vector<Ciphertext> transform_inputs(const char* operation, const Evaluator& evaluator,
                                         std::span<const Ciphertext> x, int slots,
                                         const Plaintext& factor);

// With minimal keys (ARK, Kim et al. 2022): uses only rotations by `baby_step` and `giant_step`,
// one after the other.
Ciphertext iterated_sum(const Evaluator& evaluator, const HoistedSum& sum, int baby_step,
                        int giant_step, const Ciphertext& x);

}  // namespace latticino::ckks
