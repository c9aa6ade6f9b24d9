// Which weights of a linear map are rounded alike. The weights are encoded as diagonals. For the
// result in slot s, diagonal d multiplies the value in slot s + d. Equal diagonals have equal
// rounding errors, so their common error meets the sum of their values. As an example, take sums of
// n equal values with one weight: all diagonals are equal, and the error grows with n. It would
// grow with the root of n if the diagonals differed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "session/claims/sample.h"

namespace latticino::session {

struct Alike {
  struct Diagonal {
    std::size_t target = 0, source = 0;  // ciphertexts
    std::size_t distance = 0;
    std::size_t group = 0;  // equal diagonals of a target have the same one
    double sign = 1;        // or those that differ by this sign: so do their errors
  };

  // The product of values, row by row in ciphertexts of `height` slots, with a matrix of as many
  // rows. Its results lie in ciphertexts of `width` slots (see ckks/linear/matrix.h).
  static Alike of_matrix(NumbersView entries, std::size_t rows, std::size_t height,
                         std::size_t width);

  // By how much the error of rounded weights is larger than that of diagonals that all differ: for
  // these values, and for any values of a known size.
  double growth(NumbersView values) const;
  double largest_growth() const;
  bool differ() const { return diagonals.empty(); }

  // By target. None if all diagonals differ.
  std::vector<Diagonal> diagonals;
  std::size_t slots = 1;   // of a diagonal
  std::size_t height = 1;  // slots of a source, which repeats over those of a diagonal
  std::size_t period = 1;  // all diagonals repeat after so many slots, and so do their errors
  std::vector<std::int64_t> places;   // addresses of the values in the sources
  std::vector<std::int64_t> results;  // addresses of the results in the targets
  // Each result is a sum of the slots that are so far from its own.
  std::vector<std::size_t> pieces{0};

 private:
  double added_up(NumbersView values, bool with_signs) const;
};

}  // namespace latticino::session
