// Polynomial evaluation: depth ceil(log2(degree+1)), scale-exact, lazily relinearised leaves
// (algorithm: Bossuat et al. 2021 Sec. 3; paper 004 for the scale bookkeeping).
#pragma once

#include "ckks/evaluator.h"

namespace latticino::ckks {

enum class PolynomialBasis { Monomial, Chebyshev };

struct Polynomial {
  PolynomialBasis basis = PolynomialBasis::Monomial;
  std::vector<Complex> coefficients;  // c_0 .. c_d; Chebyshev on [lower, upper]
  double lower = -1, upper = 1;       // an affine map to [-1, 1] is folded in where it is free
  int degree() const;
  int depth() const;
};

// Result at x.level - depth() (one more if the interval needs a scaling product), scale
// `target_scale` or the canonical one. Several inputs share one plan and run as a batch.
Ciphertext evaluate(const Evaluator& evaluator, const Polynomial& p, const Ciphertext& x,
                    double target_scale = 0);

}  // namespace latticino::ckks
