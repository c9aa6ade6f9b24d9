// Polynomial evaluation: depth ceil(log2(degree+1)), scale-exact, lazily relinearised leaves
// (Bossuat et al. 2021, Sec. 3; paper: BitPacker for the scale bookkeeping).
#pragma once

#include "ckks/evaluator/evaluator.h"

namespace latticino::ckks {

enum class PolynomialBasis { Monomial, Chebyshev };

// p(y) with y = (2x - lower - upper) / (upper - lower): x itself on the default interval.
struct Polynomial {
  PolynomialBasis basis = PolynomialBasis::Monomial;
  std::vector<Complex> coefficients;  // c_0 .. c_d
  double lower = -1, upper = 1;
  int degree() const;  // degree of the last coefficient that is not zero
  int depth() const;   // ceil(log2(degree + 1))
  // Levels that evaluate() takes: depth(), and one more if the interval needs a scaling product
  // (that is, if its length is not 2/k for an integer k).
  int levels() const;
};

// The result is at x.level - levels(), at `target_scale` or the canonical scale. Several inputs
// share one plan and run as a batch; higher ones are first brought to the lowest level.
Ciphertext evaluate(const Evaluator& evaluator, const Polynomial& p, const Ciphertext& x,
                    double target_scale = 0);
std::vector<Ciphertext> evaluate(const Evaluator& evaluator, const Polynomial& p,
                                 std::span<const Ciphertext> x, double target_scale = 0);

// Products of two ciphertexts that evaluate() makes for each input.
int product_count(const Polynomial& p);

}  // namespace latticino::ckks
