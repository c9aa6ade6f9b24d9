// Bulk copies arrive in any order, in parts.
#pragma once

#include "backend/cuda/cluster.cuh"

namespace latticino::cuda {

void copy_bulk(double2* shared, const double2* from, std::uint32_t bytes, const Arrivals& arrivals);

inline bool is_last(std::uint32_t* count, std::uint32_t all) {
  *count = *count + 1 == all ? 0 : *count + 1;
  return *count == 0;
}

}  // namespace latticino::cuda
