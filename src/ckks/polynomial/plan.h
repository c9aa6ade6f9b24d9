// The plan of a polynomial evaluation: which basis polynomials T_i (or powers x^i) are made, and
// how p splits into products. No levels, scales or data yet.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "ckks/polynomial/polynomial.h"

namespace latticino::ckks {

// sum of constant + sum_i c_i T_i + sum_j child_j T_(g_j). The sum is rescaled once, at `depth`
// levels below the input; everything in it lives one level above that, products not yet
// relinearised (lazy).
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
  int products = 0;        // ciphertext products in all
};

// T_n = 2 T_high T_low - T_(high - low), x^n = x^high x^low.
struct ElementSplit {
  int high, low;
};
ElementSplit split_element(int n);

int ceil_log2(int n);

// The plan with the fewest products among the depth-optimal ones with leaves below 2, 4, 8, ...
PolynomialPlan plan_polynomial(PolynomialBasis basis, const std::vector<Complex>& coefficients);

}  // namespace latticino::ckks
