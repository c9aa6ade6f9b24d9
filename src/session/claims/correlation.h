// How much the errors of the results of a linear map have in common. All results of a matrix of
// ones are equal, for example, and so are their errors: the sum of m results has m times the error
// of one, not sqrt(m) times. Results share errors because they share operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "session/claims/sample.h"

namespace latticino::session {

// The factor by which the variance of a weighted sum of results may exceed that of independent
// results, at least 1. For m results and the matrix W this is at most m |W|^2 / |W|_F^2, where |W|
// is the largest singular value. For matrices of random signs this bound is a factor of a few as
// well, but only for special weights, which do not occur by chance. So the bound is used if it is
// well above that of such matrices. The plain sum of all results is always taken into account. The
// matrix is given row by row, with one row for each operand and one column for each result.
double correlation_of_matrix(NumbersView entries, std::size_t rows);
// The matrix is given by its entries: addresses of results, addresses of operands, and weights.
double correlation_of_entries(std::span<const std::int64_t> results,
                              std::span<const std::int64_t> operands, NumbersView weights);

}  // namespace latticino::session
