// OverModRaise (Cheon, Kim, Yeo 2025, eprint 2025/1298): the first CoeffToSlot factor is applied
// before the raised ciphertext is multiplied by a key, so that it costs no level.
#pragma once

#include <span>

#include "ckks/bootstrap/dft_factors.h"
#include "ckks/evaluator/evaluator.h"

namespace latticino::ckks::bootstrap {

// P must have at least so many bits. Then the key switching noise of the over-raised products,
// which is q0 P' times errors and signs, vanishes in the division by P.
double over_raise_log_p(const Params& params);
inline bool can_over_raise(const Params& params) {
  return over_raise_log_p(params) <= params.log_p();
}

// ModRaise goes to Q P. There the ciphertext, under the sparse secret, is multiplied by every
// diagonal at scale P', the product of two auxiliary primes. Each product is switched with one
// digit to the dense secret that is turned back by the diagonal's rotation (by keys of factor
// P/P'). The sum of all is divided by P once: this is both the ModDown and the rescaling.
class OverRaisedFactor {
 public:
  OverRaisedFactor(std::shared_ptr<const Context> context, const DftFactor& factor);

  // Pairs (b, a) under the sparse secret, Eval over extended(top) -> the products over basis(top),
  // dense. `like`: level top, for keys and errors.
  std::vector<std::array<Poly, 2>> apply(const Evaluator& evaluator, const Ciphertext& like,
                                         std::span<const std::array<PolyView, 2>> x) const;
  std::size_t bytes() const;  // bytes of the encoded diagonals

 private:
  struct Term {
    std::uint32_t galois;
    Plaintext factor;  // the diagonal, turned back by the rotation, which comes last
  };
  std::shared_ptr<const Context> context_;
  std::vector<Term> terms_;
};

}  // namespace latticino::ckks::bootstrap
