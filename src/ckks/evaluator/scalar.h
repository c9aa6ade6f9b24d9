// Complex constants as residues: c is the polynomial a + b X^(N/2), which acts as a + i b on every
// slot.
#pragma once

#include <cstdint>
#include <vector>

#include "ckks/ciphertext.h"

namespace latticino::ckks {

// One residue a prime of `basis`, as in ops::Linear; `upper` is empty when it equals `lower`.
struct ScalarResidues {
  std::vector<std::uint32_t> lower, upper;
};

// round(Re c * scale) + round(Im c * scale) X^(N/2). Rounding is to even; the products are exact to
// one IEEE rounding. Throws ValueError for NaN and infinity, ScaleError for integers that reach
// half the product of the basis: as with encoded values, nothing wraps around.
ScalarResidues scalar_residues(const char* operation, const Ring& ring, const Basis& basis,
                               Complex c, double scale);

// i^power (power 0..3) without rounding or scale.
ScalarResidues unit_residues(const Ring& ring, const Basis& basis, int power);

ScalarResidues integer_residues(const Ring& ring, const Basis& basis, std::int64_t c);

}  // namespace latticino::ckks
