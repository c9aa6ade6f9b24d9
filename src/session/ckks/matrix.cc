// Products of encrypted vectors with plain matrices, with numpy's rules for shapes.
#include "session/ckks/matrix.h"

#include <algorithm>
#include <cmath>

#include "ckks/linear/linear_transform.h"
#include "math/errors.h"
#include "session/ckks/state.h"
#include "session/claims/matrix_facts.h"
#include "session/claims/slot_noise.h"

namespace latticino {
namespace session {
namespace {

[[noreturn]] void refuse(const Shape& a, const Shape& b, const char* needs) {
  throw ShapeError("matmul", "shapes " + text_of(a) + " and " + text_of(b), needs,
                   "reshape or transpose");
}

// The product with all rows of `w`: one block of rows for each ciphertext of x.
ckks::Ciphertext row_of_blocks(const ckks::Evaluator& e, const Contents& x, const Matrix& w,
                               std::size_t first_column, std::size_t columns, int out_slots,
                               Constants& constants) {
  const auto height = static_cast<std::size_t>(x.slots());
  const int slots = std::max(x.slots(), out_slots);
  std::optional<ckks::Ciphertext> sum;
  for (std::size_t i = 0; i < x.parts.size(); ++i) {
    std::vector<ckks::Complex> block(height * columns);
    bool any = false;
    for (std::size_t r = 0; r < height && i * height + r < w.rows; ++r) {
      for (std::size_t c = 0; c < columns && first_column + c < w.columns; ++c) {
        const ckks::Complex entry = w.entries[(i * height + r) * w.columns + first_column + c];
        block[r * columns + c] = entry;
        any = any || entry != ckks::Complex(0);
      }
    }
    if (!any && (sum || i + 1 < x.parts.size())) continue;
    const ckks::Ciphertext& part = x.parts[i];
    const auto product = constants.matrix_product(block, static_cast<int>(height),
                                                  static_cast<int>(columns), slots, part.level);
    const ckks::Ciphertext y = product->apply(e, with_slots(part, slots));
    sum = sum ? e.add(*sum, y) : y;
  }
  return with_slots(*sum, out_slots);
}

// The product of the flat values of x with a matrix, as an array of `shape`.
Array times_matrix(const Array& from, const Matrix& w, Shape shape) {
  require_finite(w.entries, "matmul");
  const Array ready_x = ready(from, 1);
  const ArrayState& x = state(ready_x);
  const auto times = [&](NumbersView row) {
    Numbers out(w.columns);
    for (std::size_t i = 0; i < w.rows; ++i) {
      for (std::size_t j = 0; j < w.columns; ++j) out[j] += row[i] * w.entries[i * w.columns + j];
    }
    return out;
  };
  return result_of(x, multiplied(x.evaluator(), x.open(), w, times, x.host()), std::move(shape));
}

void require_vector(const Array& x, const Values& w, const Shape& a, const Shape& b) {
  if (w.size() == 0) refuse(a, b, "at least one value");
  if (x.shape().size() != 1 || w.shape().empty() || w.shape().size() > 2) {
    throw UnsupportedError("matmul", "shapes " + text_of(a) + " and " + text_of(b),
                           "an encrypted vector and a plain vector or matrix",
                           "multiply the rows one by one as vectors");
  }
}

}  // namespace

Contents multiplied(const ckks::Evaluator& e, const Contents& x, const Matrix& w,
                    const RowMap& times, Constants& constants) {
  const Params& params = x.params();
  const int out_slots = slots_for(w.columns, params.max_slots(), "matmul");
  const auto width = static_cast<std::size_t>(out_slots);
  Parts parts;
  for (std::size_t at = 0; at < w.columns; at += width) {
    // If there are several ciphertexts, columns of zeros fill the last one. In a narrower block the
    // values would repeat.
    const std::size_t columns = w.columns > width ? width : w.columns;
    parts.push_back(row_of_blocks(e, x, w, at, columns, out_slots, constants));
  }
  // If inputs are longer than results, each result comes in pieces, which rotations add up
  // (ckks/linear/matrix.h).
  const int pieces = std::max(1, x.slots() / out_slots);
  const double moved =
      switched_error(params, parts[0].level, parts[0].slots, parts[0].scale) * doubling(pieces);
  // A shorter x is repeated over these slots, and decoding reads more coefficients.
  const int slots = std::max(x.slots(), out_slots);
  const double count = static_cast<double>(x.parts.size());
  const double scale = ckks::weight_scale(params, x.level());
  const double rounded = encoded_error(slots, scale) * std::sqrt(static_cast<double>(w.rows));
  const auto height = static_cast<std::size_t>(x.slots());
  // The errors that key switches leave in rotations of x are multiplied by the weights. Diagonal 0
  // takes x as it is.
  const auto facts = matrix_facts(w.entries, w.rows, height, width, scale);
  const double weight = std::sqrt(facts->rotated / static_cast<double>(w.columns));
  const double divided = facts->rotated > 0
                             ? x.multiplied(parts)
                             : rescaled_error(params, x.level(), parts[0].slots, parts[0].scale);
  const double products = std::hypot(pieces * divided, moved) * std::sqrt(count);
  const double added =
      std::hypot(products, weight * key_error_alone(params, x.level(), slots, x.scale()));
  Known known = x.known.repeated(w.rows, std::sqrt(static_cast<double>(slots) / x.slots()))
                    .mapped(times, facts->l1, facts->l2, w.real, added, rounded, facts->alike,
                            facts->correlation)
                    .with_common_error(x.known, facts->common * static_cast<double>(pieces));
  return {std::move(parts), std::move(known), UnusedSlots::zero()};
}

}  // namespace session

Array matmul(const Array& x, const Values& w) {
  session::require_vector(x, w, x.shape(), w.shape());
  if (w.shape()[0] != x.size()) session::refuse(x.shape(), w.shape(), "(n,) and (n,) or (n, m)");
  const bool matrix = w.shape().size() == 2;
  const std::size_t columns = matrix ? w.shape()[1] : 1;
  return session::times_matrix(x, {w.numbers(), x.size(), columns, w.is_real()},
                               matrix ? Shape{columns} : Shape{});
}

Array matmul(const Values& w, const Array& x) {
  session::require_vector(x, w, w.shape(), x.shape());
  if (w.shape().back() != x.size()) {
    session::refuse(w.shape(), x.shape(), "(n,) or (m, n) and (n,)");
  }
  const std::size_t columns = w.size() / x.size();
  std::vector<Complex> transposed(w.size());
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      transposed[j * columns + i] = w.numbers()[i * x.size() + j];
    }
  }
  return session::times_matrix(x, {transposed, x.size(), columns, w.is_real()},
                               w.shape().size() == 2 ? Shape{columns} : Shape{});
}

Array matmul(const Array& x, const Array& y) {
  if (x.shape().size() != 1 || y.shape().size() != 1) {
    throw UnsupportedError("matmul",
                           "encrypted arrays of shapes " + session::text_of(x.shape()) + " and " +
                               session::text_of(y.shape()),
                           "two encrypted vectors, or one plain operand",
                           "compose the product of x * y and sums");
  }
  if (x.size() != y.size()) session::refuse(x.shape(), y.shape(), "vectors of one length");
  return (x * y).sum();
}

}  // namespace latticino
