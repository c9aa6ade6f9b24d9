#include "ckks/linear/matrix.h"

#include <algorithm>
#include <bit>
#include <string>

#include "math/errors.h"

namespace latticino::ckks {
namespace {

int padded(int n) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))); }

void require_shape(int rows, int columns, std::size_t entries, int slots) {
  if (rows < 1 || columns < 1 || entries != static_cast<std::size_t>(rows) * columns) {
    throw ShapeError("ckks.MatrixProduct", std::to_string(entries) + " entries",
                     std::to_string(rows) + " x " + std::to_string(columns), "check the matrix");
  }
  if (std::max(padded(rows), padded(columns)) > slots) {
    throw ShapeError("ckks.MatrixProduct",
                     std::to_string(rows) + " x " + std::to_string(columns) + " matrix",
                     "sides of at most " + std::to_string(slots) + " (the slots)",
                     "split the matrix into blocks");
  }
}

LinearTransform::Options checked(const LinearTransform::Options& options) {
  if (options.pre_rotation != 0) {
    throw UnsupportedError("ckks.MatrixProduct", "pre_rotation", "0",
                           "use LinearTransform with matrix_diagonals()");
  }
  return options;
}

}  // namespace

std::vector<Complex> tile(std::span<const Complex> x, int slots) {
  const int period = padded(static_cast<int>(x.size()));
  if (x.empty() || period > slots || slots % period != 0) {
    throw ShapeError("ckks.tile", std::to_string(x.size()) + " values",
                     "at least one, and at most " + std::to_string(slots) + " (the slots)",
                     "split the vector");
  }
  std::vector<Complex> out(slots);
  for (int i = 0; i < slots; ++i) {
    const std::size_t k = static_cast<std::size_t>(i % period);
    if (k < x.size()) out[i] = x[k];
  }
  return out;
}

Diagonals matrix_diagonals(std::span<const Complex> matrix, int rows, int columns, int slots) {
  require_shape(rows, columns, matrix.size(), slots);
  const int n = padded(rows), m = padded(columns);
  Diagonals out;
  for (int k = 0; k < std::min(n, m); ++k) {
    std::vector<Complex> diagonal(slots);
    bool any = k == 0;  // a zero matrix keeps one diagonal
    for (int i = 0; i < slots; ++i) {
      const int row = (i + k) % n, column = i % m;
      if (row < rows && column < columns) {
        diagonal[i] = matrix[static_cast<std::size_t>(row) * columns + column];
        any = any || diagonal[i] != Complex(0);
      }
    }
    if (any) out.emplace(k, std::move(diagonal));
  }
  return out;
}

MatrixProduct::MatrixProduct(const std::shared_ptr<const Context>& context,
                             std::span<const Complex> matrix, int rows, int columns, int slots,
                             const LinearTransform::Options& options)
    : input_period_(padded(rows)),
      output_period_(padded(columns)),
      transform_(context, matrix_diagonals(matrix, rows, columns, slots), slots, checked(options)) {
}

Ciphertext MatrixProduct::apply(const Evaluator& evaluator, const Ciphertext& x) const {
  Ciphertext z = transform_.apply(evaluator, x);
  if (input_period_ <= output_period_) return z;
  return evaluator.inner_sum(z, output_period_, input_period_ / output_period_);
}

std::vector<int> MatrixProduct::rotations() const {
  std::vector<int> out = transform_.rotations();
  for (int r = output_period_; r < input_period_; r *= 2) out.push_back(r);
  return out;
}

}  // namespace latticino::ckks
