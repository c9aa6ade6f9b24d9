// The plan of a polynomial evaluation: which basis polynomials T_i (or powers x^i) are made, and
// how p is split into products. It has no levels, scales or data.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "ckks/polynomial/polynomial.h"

namespace latticino::ckks {

// The sum of a constant, of c_i T_i over i, and of child_j T_(g_j) over j. It is rescaled once, and
// the result is `depth` levels below the input. Everything in the sum is one level above that, and
// its products are not relinearised yet (lazy).
struct PolynomialProduct;
struct PolynomialNode {
  int depth = 0;
  Complex constant = 0;
  std::vector<std::pair<int, Complex>> terms;
  std::vector<PolynomialProduct> products;
};
struct PolynomialProduct {
  int element;  // g_j
  PolynomialNode child;
};

struct PolynomialPlan {
  PolynomialBasis basis = PolynomialBasis::Monomial;
  PolynomialNode root;
  std::set<int> elements;  // indices >= 2 of the basis polynomials that must be computed
  int products = 0;        // number of all ciphertext products
};

// T_n = 2 T_high T_low - T_(high - low), x^n = x^high x^low.
struct ElementSplit {
  int high, low;
};
ElementSplit split_element(int n);

int ceil_log2(int n);

// From this multiple of the canonical scale on, an element is adjusted with an exact scale.
inline constexpr double kLargeElement = 16;

// Coefficients without rounding errors and trailing zeros.
std::vector<Complex> cleaned(const Polynomial& p);

// The plan with the fewest products among the depth-optimal ones with leaves below 2, 4, 8, ...
PolynomialPlan plan_polynomial(PolynomialBasis basis, const std::vector<Complex>& coefficients);

}  // namespace latticino::ckks
