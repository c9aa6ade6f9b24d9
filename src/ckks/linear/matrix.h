// x @ W on packed vectors.
//
// Packing: a vector of n entries is padded with zeros to n' = next power of two and repeated
// periodically, slot i holds x_(i mod n') (`tile`). The product of x with an n x m matrix W is then
//   z_i = sum_(k < min(n', m')) W[(i+k) mod n'][i mod m'] x_(i+k)
// by min(n', m') diagonals (one linear transform, one level); for n' > m' the n'/m' pieces of each
// output lie m' apart and log2(n'/m') rotations add them. The result has period m': it is packed
// for the next product. (Halevi, Shoup 2014; the rectangular case: Juvekar et al. 2018, "hybrid".)
#pragma once

#include <span>

#include "ckks/linear/linear_transform.h"

namespace latticino::ckks {

// x padded and repeated to `slots` entries; slots a multiple of the padded length.
std::vector<Complex> tile(std::span<const Complex> x, int slots);

class MatrixProduct {
 public:
  // W row by row, rows x columns. options.pre_rotation must be 0.
  MatrixProduct(const std::shared_ptr<const Context>& context, std::span<const Complex> matrix,
                int rows, int columns, int slots, const LinearTransform::Options& options);

  Ciphertext apply(const Evaluator& evaluator, const Ciphertext& x) const;
  int input_period() const { return input_period_; }
  int output_period() const { return output_period_; }
  std::vector<int> rotations() const;  // rotations of all keys that apply() uses
  std::size_t bytes() const { return transform_.bytes(); }

 private:
  int input_period_, output_period_;
  LinearTransform transform_;
};

// The diagonals of the transform z above.
Diagonals matrix_diagonals(std::span<const Complex> matrix, int rows, int columns, int slots);

}  // namespace latticino::ckks
