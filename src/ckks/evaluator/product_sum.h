// Sums of products of ciphertexts with a linear combination beside them, before relinearisation:
// one record (ops::Tensor) for a batch.
#pragma once

#include <utility>
#include <vector>

#include "ckks/ciphertext.h"

namespace latticino::ckks {

using Batch = std::vector<Ciphertext>;  // all of one level and scale

// factor sum_k a_k b_k + sum_t c_t x_t + constant.
struct ProductSum {
  std::vector<std::pair<const Batch*, const Batch*>> products;  // at least one
  int factor = 1;                                               // one or two
  std::vector<std::pair<const Batch*, Complex>> terms = {};
  Complex constant = 0;
};

// Three parts each, over basis(level), which all operands have. The products a b are taken to have
// `scale`, and the other terms are brought to it. (Half the true scale, declared as `scale`,
// doubles a product.)
Batch product_sum(const ProductSum& sum, int level, double scale);

// The same without products, two parts: sum_t c_t x_t + constant; at least one term.
Batch linear_sum(const std::vector<std::pair<const Batch*, Complex>>& terms, Complex constant,
                 int level, double scale);

}  // namespace latticino::ckks
