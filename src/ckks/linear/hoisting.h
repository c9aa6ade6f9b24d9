// sum_g rot_g( sum_b factor_(g,b) * rot_b(x) ): the two ways of evaluating it.
#pragma once

#include "ckks/encoding/encoder.h"
#include "ckks/evaluator/evaluator.h"

namespace latticino::ckks {

struct HoistedSum {
  struct Term {
    int baby;  // position in `babies`
    Plaintext factor;
  };
  std::vector<int> babies, giants;      // rotations, increasing
  std::vector<std::vector<Term>> rows;  // one a giant
  bool merged = true;                   // one division by P and the rescale factor together
};

// Factors of hoisted_sum() for rotations of the input: over P Q; for the input itself (rotation 0),
// which is given modulo Q: times P instead.
std::vector<Plaintext> encode_hoisted(const std::shared_ptr<const Context>& context,
                                      std::span<const Values> batch, int level, double scale,
                                      bool rotated);

// Double hoisting (Bossuat et al. 2021; paper: Cheddar, Fig. 5): everything between the one
// ModUp of x and the one ModDown + rescale at the end stays modulo P Q. Factors are made by
// encode_hoisted(). All of x at the factors' level; results one level lower.
std::vector<Ciphertext> hoisted_sum(const Evaluator& evaluator, const HoistedSum& sum,
                                    std::span<const Ciphertext> x);

// Minimal keys (ARK, Kim et al. 2022): only rotations by `baby_step` and `giant_step`, one after
// the other.
Ciphertext iterated_sum(const Evaluator& evaluator, const HoistedSum& sum, int baby_step,
                        int giant_step, const Ciphertext& x);

}  // namespace latticino::ckks
