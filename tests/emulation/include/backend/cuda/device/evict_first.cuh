// The emulated device has no caches, so these copies are like all others.
#pragma once

#include "backend/cuda/device/async_copy.cuh"

namespace latticino::cuda {

inline void copy_async_once(uint4* shared, const uint4* from) { copy_async(shared, from); }
inline std::uint32_t load_once(const std::uint32_t* p) { return *p; }

}  // namespace latticino::cuda
