// Physical order of the entries of a limb. Every kernel, upload and download that depends on it
// asks here; nothing else may assume an order.
//
// Kernels rely on three properties of every layout:
//   1. Coeff is in logical order.
//   2. In every domain an aligned group of four entries stays an aligned group of four, in order.
//   3. In Eval an entry stays in its row (cols consecutive words).
#pragma once

#include <cstdint>

#include "poly/domain.h"

#ifdef __CUDACC__
#define LATTICINO_HOST_DEVICE __host__ __device__
#else
#define LATTICINO_HOST_DEVICE
#endif

namespace latticino::cuda {

// True where position(d, i, log_n) == i for all i.
LATTICINO_HOST_DEVICE constexpr bool natural_order(Domain) { return true; }

// Where the entry of logical index i lies in its limb.
LATTICINO_HOST_DEVICE constexpr std::uint32_t position(Domain, std::uint32_t i, int) { return i; }

// The logical index of the entry at position p: the inverse of position().
LATTICINO_HOST_DEVICE constexpr std::uint32_t logical_index(Domain, std::uint32_t p, int) {
  return p;
}

}  // namespace latticino::cuda
