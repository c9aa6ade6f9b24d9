// Products of encrypted vectors and plain matrices, apart from shapes.
#pragma once

#include <cstddef>
#include <span>

#include "session/ckks/constants.h"
#include "session/ckks/contents.h"

namespace latticino::session {

struct Matrix {
  std::span<const ckks::Complex> entries;  // row by row
  std::size_t rows = 0, columns = 0;
  bool real = false;  // whether its entries stand for real numbers
};

// The values of x, of which there are as many as rows, times the matrix. It takes one level.
// `times`: the same product of one row of a sample. The results lie in ciphertexts of as many slots
// as slots_for() gives for their number.
Contents multiplied(const ckks::Evaluator& e, const Contents& x, const Matrix& w,
                    const RowMap& times, Constants& constants);

}  // namespace latticino::session
