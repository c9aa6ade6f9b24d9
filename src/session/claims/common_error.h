// Errors that all slots have in common. A diagonal of weights is encoded as a polynomial. Its
// constant coefficient is the mean of the weights, and the rounding error of that coefficient adds
// the same number to all weights. Diagonals with equal means have equal errors there. As an
// example, take a map that reverses n values: each of its n diagonals has a single 1, so all n
// means are 1/n. Together they multiply the sum of the values, and a sum of results grows with n^2
// instead of n.
#pragma once

#include "session/claims/sample.h"

namespace latticino::session {

// By how much these rounding errors together exceed errors that are independent. `means`: the means
// of the weights, over all slots, of the diagonals that lead to one ciphertext. They are encoded at
// `scale`.
std::complex<double> common_error(NumbersView means, double scale);

// The same for a product with a matrix of so many rows, for values of mean 1: the largest of all
// ciphertexts of results. Blocks of `height` rows and `width` columns as in alike.h. Diagonals of
// equal weights do not count here; Alike knows their errors.
std::complex<double> common_error_of_matrix(NumbersView entries, std::size_t rows,
                                            std::size_t height, std::size_t width, double scale);

}  // namespace latticino::session
