// To the emulated device copies differ in nothing.
#pragma once

#include "backend/cuda/async_copy.cuh"

namespace latticino::cuda {

inline void copy_async_once(uint4* shared, const uint4* from) { copy_async(shared, from); }

}  // namespace latticino::cuda
