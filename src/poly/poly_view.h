#pragma once

#include <cstdint>
#include <string>

#include "poly/basis.h"
#include "poly/domain.h"

namespace latticino {

class Ring;

// The position of a run of a view's primes in its buffer: limb `limb + k` of the buffer holds prime
// `prime + k`.
struct Segment {
  std::uint16_t prime = 0;
  std::uint16_t count = 0;
  std::uint32_t limb = 0;
};

// A non-owning, trivially copyable reference to the limbs of one polynomial in backend memory.
// Limb l starts at data + l*N. `data` is null in a dry run: shapes are checked all the same.
struct PolyView {
  std::uint32_t* data = nullptr;
  const Ring* ring = nullptr;
  Domain domain = Domain::Coeff;
  std::uint8_t segments = 0;
  Segment segment[Basis::kMaxRuns];

  Basis basis() const;
  int limbs() const;
  // Index of the buffer's limb for a prime; throws ShapeError.
  std::uint32_t limb_index(int prime) const;
  std::uint32_t* limb(int prime) const;  // address of that limb
  // The same limbs restricted to `sub` (a subset of basis()); throws ShapeError otherwise.
  PolyView select(const Basis& sub) const;
  // The same memory seen in another domain, for an output that is about to be written.
  PolyView in(Domain d) const;
  std::string str() const;

  // A view of consecutive limbs that hold exactly `basis`, in order, from limb `first`.
  static PolyView contiguous(std::uint32_t* data, const Ring& ring, const Basis& basis, Domain d,
                             std::uint32_t first = 0);
};

}  // namespace latticino
