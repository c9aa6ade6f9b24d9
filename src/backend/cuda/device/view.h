// Polynomial views as kernels see them, passed by value in the parameter block. A View has 32 bytes
// and takes three segments. Records over more are divided before (backend/splitting.h); the few
// kernels that need all primes of a polynomial at once take a WideView.
#pragma once

#include <cstdint>
#include <string>

#include "backend/cuda/device/layout.h"
#include "math/errors.h"
#include "poly/poly_view.h"

namespace latticino::cuda {

constexpr int kViewSegments = 3;

template <int SEGMENTS>
struct ViewOf {
  static constexpr int kSegments = SEGMENTS;
  std::uint32_t* data = nullptr;
  Segment segment[SEGMENTS];  // a segment with count 0 is unused

  ViewOf() = default;
  explicit ViewOf(const PolyView& v) : data(v.data) {
    if (v.segments > SEGMENTS) {
      throw ShapeError("cuda.view", v.str() + " in " + std::to_string(v.segments) + " segments",
                       "at most " + std::to_string(SEGMENTS), "divide the record");
    }
    for (int i = 0; i < v.segments; ++i) segment[i] = v.segment[i];
  }

  LATTICINO_HOST_DEVICE bool empty() const { return segment[0].count == 0; }

  LATTICINO_HOST_DEVICE int limbs() const {
    int n = 0;
    for (int i = 0; i < SEGMENTS; ++i) n += segment[i].count;
    return n;
  }

  // Ring index of the l-th prime, l < limbs().
  LATTICINO_HOST_DEVICE int prime(int l) const {
    int p = 0;
    for (int i = 0; i < SEGMENTS; ++i) {
      if (l >= 0 && l < segment[i].count) p = segment[i].prime + l;
      l -= segment[i].count;
    }
    return p;
  }

  // The limb of a prime; null where the view does not have it.
  LATTICINO_HOST_DEVICE std::uint32_t* limb(int prime, int log_n) const {
    std::uint32_t* p = nullptr;
    for (int i = 0; i < SEGMENTS; ++i) {
      const int k = prime - segment[i].prime;
      if (k >= 0 && k < segment[i].count) {
        p = data + (static_cast<std::size_t>(segment[i].limb + k) << log_n);
      }
    }
    return p;
  }
};
using View = ViewOf<kViewSegments>;
using WideView = ViewOf<Basis::kMaxRuns>;
static_assert(sizeof(View) == 32);

}  // namespace latticino::cuda
