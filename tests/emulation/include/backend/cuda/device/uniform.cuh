#pragma once

#include <cuda_runtime.h>

namespace latticino::cuda {

inline std::uint32_t uniform(std::uint32_t x) { return x; }
inline int warp_of_block() { return static_cast<int>(threadIdx.x / 32); }

}  // namespace latticino::cuda
