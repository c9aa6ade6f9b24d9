// Words between blocks, on the host: threads switch while they wait (emulation/machine.h).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/device/cluster.cuh"
#include "emulation/machine.h"

namespace latticino::bench::forms {

inline std::uint32_t add_to(std::uint32_t* word, std::uint32_t x) { return atomicAdd(word, x); }
inline void put(std::uint32_t* word, std::uint32_t x) { *word = x; }
inline std::uint32_t value_of(const std::uint32_t* word) { return *word; }
inline void wait_for(const std::uint32_t* word, std::uint32_t count) {
  emulation::wait_until([word, count] { return static_cast<std::int32_t>(*word - count) >= 0; });
}
inline void sync_grid() { cuda::sync_cluster(); }

}  // namespace latticino::bench::forms
