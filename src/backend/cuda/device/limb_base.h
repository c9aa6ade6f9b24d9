// Addresses of limbs as kernels take them. Over a run of primes in which a view stays in one
// segment, the limb of a prime is one address plus the prime times the size of a limb: a block
// reads the address from its parameters and needs no search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/cuda/device/layout.h"
#include "poly/poly_view.h"
#include "poly/ring.h"

namespace latticino::cuda {

class LimbBase {
 public:
  LimbBase() = default;
  // For the primes of the segment that holds `prime`; empty if the view does not have it. The
  // caller may use the mark for a flag of its own.
  LimbBase(const PolyView& v, int prime, bool mark = false) {
    for (int i = 0; i < v.segments; ++i) {
      const Segment& s = v.segment[i];
      if (prime < s.prime || prime >= s.prime + s.count) continue;
      const auto limbs = static_cast<std::int64_t>(s.limb) - s.prime;
      bits_ = reinterpret_cast<std::uintptr_t>(v.data) +
              static_cast<std::uint64_t>(limbs * 4 << v.ring->log_n()) + (mark ? 1 : 0);
    }
  }

  bool operator==(const LimbBase&) const = default;
  LATTICINO_HOST_DEVICE bool empty() const { return bits_ == 0; }
  LATTICINO_HOST_DEVICE bool marked() const { return (bits_ & 1) != 0; }
  // `offset`: the prime times N.
  LATTICINO_HOST_DEVICE std::uint32_t* limb(std::size_t offset) const {
    return reinterpret_cast<std::uint32_t*>(bits_ & ~std::uint64_t{1}) + offset;
  }

 private:
  std::uint64_t bits_ = 0;
};

// Primes at which a view enters or leaves a segment, collected over views and then sorted.
class RunBounds {
 public:
  void add(const PolyView& v) {
    for (int i = 0; i < v.segments; ++i) {
      at_.push_back(v.segment[i].prime);
      at_.push_back(v.segment[i].prime + v.segment[i].count);
    }
  }
  // The bounds in increasing order: run k is [bounds[k], bounds[k + 1]).
  const std::vector<int>& sorted() {
    std::sort(at_.begin(), at_.end());
    at_.erase(std::unique(at_.begin(), at_.end()), at_.end());
    return at_;
  }

 private:
  std::vector<int> at_;
};

}  // namespace latticino::cuda
