// Products of encrypted vectors with plain matrices. Shapes are checked elsewhere.
#pragma once

#include <cstddef>
#include <span>

#include "session/ckks/constants.h"
#include "session/ckks/contents.h"

namespace latticino::session {

struct Matrix {
  std::span<const ckks::Complex> entries;  // entries, row by row
  std::size_t rows = 0, columns = 0;
  bool real = false;  // whether its entries stand for real numbers
};

// The product of the values of x, as many as the matrix has rows, with the matrix. It takes one
// level. `times`: computes the same product for one row of a sample. The results lie in ciphertexts
// of as many slots as slots_for() gives for their number.
Contents multiplied(const ckks::Evaluator& e, const Contents& x, const Matrix& w,
                    const RowMap& times, Constants& constants);

}  // namespace latticino::session
