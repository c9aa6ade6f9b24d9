#pragma once

#include <cstdint>

#include "poly/poly_view.h"

namespace latticino {

// Polynomials of one shape that lie one after another: `first`, then count - 1 more, each
// first.limbs() limbs further. A batch of GLWE ciphertexts (k + 1 polynomials each: b, then the
// mask) or all rows of a bootstrapping key.
struct PolyArray {
  PolyView first;
  std::uint32_t count = 0;

  PolyView operator[](std::uint32_t i) const {
    PolyView v = first;
    for (int s = 0; s < v.segments; ++s) {
      v.segment[s].limb += i * static_cast<std::uint32_t>(first.limbs());
    }
    return v;
  }
  // Polynomials [begin, begin + size).
  PolyArray part(std::uint32_t begin, std::uint32_t size) const { return {(*this)[begin], size}; }
};

}  // namespace latticino
