// What claims need of a plain matrix. It takes about as long as a product on a GPU, so it is kept
// for matrices that are used again.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>

#include "session/claims/alike.h"
#include "session/claims/sample.h"

namespace latticino::session {

struct MatrixFacts {
  // The largest over all results: the sum of the sizes of its weights, and the root of the sum of
  // their squares.
  double l1 = 0, l2 = 0;
  double rotated = 0;  // the sum of squares of all weights that are not on diagonal 0
  Alike alike;
  std::complex<double> common;
  double correlation = 1;
};

// `entries` is row by row. `height` and `width` of a block, and `scale`, are as in alike.h.
std::shared_ptr<const MatrixFacts> matrix_facts(NumbersView entries, std::size_t rows,
                                                std::size_t height, std::size_t width,
                                                double scale);

}  // namespace latticino::session
