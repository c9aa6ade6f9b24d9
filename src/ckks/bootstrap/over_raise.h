// OverModRaise (Cheon, Kim, Yeo 2025, eprint 2025/1298): the first CoeffToSlot factor before the
// raised ciphertext meets a key, so that it costs no level.
#pragma once

#include "ckks/bootstrap/dft_factors.h"
#include "ckks/evaluator/evaluator.h"

namespace latticino::ckks::bootstrap {

// Bits that P must have: key switching noise of the over-raised products, q0 P' errors and signs,
// is then lost in it.
double over_raise_log_p(const Params& params);
inline bool can_over_raise(const Params& params) {
  return over_raise_log_p(params) <= params.log_p();
}

// ModRaise goes to Q P. There, under the sparse secret, the ciphertext is multiplied by every
// diagonal (at scale P', the product of two auxiliary primes); each product switches with one digit
// to the dense secret turned back by its rotation (keys of factor P/P'), and one division of the
// sum of all by P is at once the ModDown and the rescaling.
class OverRaisedFactor {
 public:
  OverRaisedFactor(std::shared_ptr<const Context> context, const DftFactor& factor);

  // (b, a) under the sparse secret, Eval over extended(top) -> the product over basis(top), dense.
  // `like`: level top, for keys and errors.
  std::array<Poly, 2> apply(const Evaluator& evaluator, const Ciphertext& like, const PolyView& b,
                            const PolyView& a) const;
  std::size_t bytes() const;  // of the encoded diagonals

 private:
  struct Term {
    std::uint32_t galois;
    Plaintext factor;  // turned back by the rotation, which comes last
  };
  std::shared_ptr<const Context> context_;
  std::vector<Term> terms_;
};

}  // namespace latticino::ckks::bootstrap
