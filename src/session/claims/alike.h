// Which weights of a linear map are rounded alike. The weights are encoded as diagonals. For the
// result in slot s, diagonal d multiplies the value in slot s + d. Equal diagonals have equal
// rounding errors, so their common error meets the sum of their values. As an example, take sums of
// n equal values with one weight: all diagonals are equal, and the error grows with n. It would
// grow with the root of n if the diagonals differed.
//
// A diagonal that repeats after a few slots is a message of few coefficients, so its rounding error
// is smaller. Weights that are all 1/n have one coefficient.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "session/claims/sample.h"

namespace latticino::session {

struct Alike {
  struct Diagonal {
    std::size_t target = 0, source = 0;  // the indices of its ciphertexts
    std::size_t distance = 0;
    std::size_t group = 0;  // equal diagonals of a target have the same number
    double sign = 1;  // or those that differ only by this sign, because their errors do so too
    std::size_t period = 0;  // number of slots after which it and its error repeat; 0: all slots
    double size = 1;  // size of its error, compared with that of a diagonal that does not repeat
  };

  // The size of the error of a diagonal of so many slots that repeats these weights, encoded at
  // `scale`. For a few weights it is computed by rounding them. For more weights, or if the scale
  // is 0 (any scale), it is the expected size.
  static double size_of(NumbersView weights, std::size_t slots, double scale);

  // The product of values, row by row in ciphertexts of `height` slots, with a matrix of as many
  // rows. Its results lie in ciphertexts of `width` slots (see ckks/linear/matrix.h). `scale`: as
  // for size_of.
  static Alike of_matrix(NumbersView entries, std::size_t rows, std::size_t height,
                         std::size_t width, double scale = 0);

  // By how much the error of rounded weights is larger than that of diagonals that all differ: for
  // these values, and for any values of a known size.
  double growth(NumbersView values) const;
  double largest_growth() const;
  // How often the diagonal with the most repetitions repeats, and so its rounding errors.
  double most_repetitions() const;
  bool differ() const { return diagonals.empty(); }

  // For each target. None if all diagonals differ and none repeats.
  std::vector<Diagonal> diagonals;
  // Diagonals of zeros are neither multiplied nor listed. They make the growth smaller, because it
  // is relative to the error of as many diagonals as there are values.
  bool some_are_zero = false;
  std::size_t slots = 1;              // slots of a diagonal
  std::size_t height = 1;             // slots of a source, which repeats over those of a diagonal
  std::vector<std::int64_t> places;   // addresses of the values in the sources
  std::vector<std::int64_t> results;  // addresses of the results in the targets
  // Each result is a sum of several slots of the product, at these distances from its own slot.
  std::vector<std::size_t> pieces{0};

 private:
  double added_up(NumbersView values, bool with_signs) const;
};

}  // namespace latticino::session
