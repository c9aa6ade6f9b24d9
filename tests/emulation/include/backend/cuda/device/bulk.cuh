// Bulk copies arrive in any order, in parts.
#pragma once

#include "backend/cuda/device/cluster.cuh"

namespace latticino::cuda {

void copy_bulk(double2* shared, const double2* from, std::uint32_t bytes, const Arrivals& arrivals);

struct EmptyBarrier {
  std::uint64_t* word;
  void begin(std::uint32_t all) const;
  void leave() const;
  void wait(std::uint32_t parity) const;
};

}  // namespace latticino::cuda
