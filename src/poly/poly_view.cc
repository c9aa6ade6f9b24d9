#include "poly/poly_view.h"

#include <span>

#include "math/errors.h"
#include "poly/ring.h"

namespace latticino {

Basis PolyView::basis() const {
  PrimeRange r[Basis::kMaxRuns];
  for (int i = 0; i < segments; ++i) {
    r[i] = {segment[i].prime, static_cast<std::uint16_t>(segment[i].prime + segment[i].count)};
  }
  return Basis(std::span(r, segments));
}

int PolyView::limbs() const {
  int n = 0;
  for (int i = 0; i < segments; ++i) n += segment[i].count;
  return n;
}

std::uint32_t PolyView::limb_index(int prime) const {
  for (int i = 0; i < segments; ++i) {
    const int k = prime - segment[i].prime;
    if (k >= 0 && k < segment[i].count) return segment[i].limb + static_cast<std::uint32_t>(k);
  }
  throw ShapeError("PolyView::limb", "prime " + std::to_string(prime) + " with " + str(),
                   "a prime of the view", "check the basis");
}

std::uint32_t* PolyView::limb(int prime) const {
  const std::size_t index = limb_index(prime);
  return data == nullptr ? nullptr : data + index * static_cast<std::size_t>(ring->n());
}

PolyView PolyView::select(const Basis& sub) const {
  PolyView v = *this;
  v.segments = 0;
  for (int r = 0; r < sub.runs(); ++r) {
    // A run of `sub` may straddle two of this view's segments: merge only where limbs are adjacent.
    for (int p = sub.run(r).begin; p < sub.run(r).end; ++p) {
      const std::uint32_t limb = limb_index(p);
      Segment* last = v.segments > 0 ? &v.segment[v.segments - 1] : nullptr;
      if (last != nullptr && last->prime + last->count == p && last->limb + last->count == limb) {
        ++last->count;
      } else if (v.segments == Basis::kMaxRuns) {
        throw ShapeError("PolyView::select", sub.str() + " of " + str(),
                         "at most " + std::to_string(Basis::kMaxRuns) + " segments",
                         "split the operation");
      } else {
        v.segment[v.segments++] = {static_cast<std::uint16_t>(p), 1, limb};
      }
    }
  }
  return v;
}

PolyView PolyView::in(Domain d) const {
  PolyView v = *this;
  v.domain = d;
  return v;
}

std::string PolyView::str() const { return std::string(name(domain)) + " over " + basis().str(); }

PolyView PolyView::contiguous(std::uint32_t* data, const Ring& ring, const Basis& basis, Domain d,
                              std::uint32_t first) {
  PolyView v;
  v.data = data;
  v.ring = &ring;
  v.domain = d;
  for (int r = 0; r < basis.runs(); ++r) {
    const auto count = static_cast<std::uint16_t>(basis.run(r).size());
    v.segment[v.segments++] = {basis.run(r).begin, count, first};
    first += count;
  }
  return v;
}

}  // namespace latticino
