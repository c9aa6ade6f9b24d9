// Polynomial views as kernels see them: 32 bytes, passed by value in the parameter block.
#pragma once

#include <cstdint>

#include "backend/cuda/device/layout.h"
#include "poly/poly_view.h"

namespace latticino::cuda {

struct View {
  std::uint32_t* data = nullptr;
  Segment segment[Basis::kMaxRuns];  // count 0: unused

  View() = default;
  explicit View(const PolyView& v) : data(v.data) {
    for (int i = 0; i < v.segments; ++i) segment[i] = v.segment[i];
  }

  LATTICINO_HOST_DEVICE bool empty() const { return segment[0].count == 0; }

  LATTICINO_HOST_DEVICE int limbs() const {
    return segment[0].count + segment[1].count + segment[2].count;
  }

  // Ring index of the l-th prime, l < limbs().
  LATTICINO_HOST_DEVICE int prime(int l) const {
    int p = 0;
    for (int i = 0; i < Basis::kMaxRuns; ++i) {
      if (l >= 0 && l < segment[i].count) p = segment[i].prime + l;
      l -= segment[i].count;
    }
    return p;
  }

  // The limb of a prime; null where the view does not have it.
  LATTICINO_HOST_DEVICE std::uint32_t* limb(int prime, int log_n) const {
    std::uint32_t* p = nullptr;
    for (int i = 0; i < Basis::kMaxRuns; ++i) {
      const int k = prime - segment[i].prime;
      if (k >= 0 && k < segment[i].count) {
        p = data + (static_cast<std::size_t>(segment[i].limb + k) << log_n);
      }
    }
    return p;
  }
};
static_assert(sizeof(View) == 32);

}  // namespace latticino::cuda
