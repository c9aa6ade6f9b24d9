// What the kernels that work entry by entry share: a thread owns aligned groups of four entries,
// 16 bytes, which every layout keeps together (device/layout.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cuda/device/modular.cuh"
#include "backend/cuda/device/overlap.cuh"
#include "backend/cuda/device/view.h"
#include "backend/cuda/launch/launch.h"

namespace latticino::cuda {

constexpr int kGroup = 4;  // entries of a 16-byte access
constexpr int kThreads = 256;

struct Group {
  std::uint32_t w[kGroup];
};

// What every kernel needs of a Ring, by value.
struct RingArgs {
  const Modulus* modulus;
  int log_n;
  __device__ std::uint32_t groups() const { return (1u << log_n) / kGroup; }
};

__device__ __forceinline__ Group load_group(const std::uint32_t* limb, std::uint32_t g) {
  const uint4 v = reinterpret_cast<const uint4*>(limb)[g];
  return {{v.x, v.y, v.z, v.w}};
}

__device__ __forceinline__ void store_group(std::uint32_t* limb, std::uint32_t g, const Group& x) {
  reinterpret_cast<uint4*>(limb)[g] = make_uint4(x.w[0], x.w[1], x.w[2], x.w[3]);
}

// Limbs x items of a launch, each limb covered by threads with `per_thread` groups, kThreads apart.
inline Shape limb_grid(int n, int per_thread, int limbs, int items) {
  const unsigned per_block = static_cast<unsigned>(kGroup * kThreads * per_thread);
  const unsigned blocks = (static_cast<unsigned>(n) + per_block - 1) / per_block;
  return {dim3(blocks, limbs, items), dim3(kThreads), 0, true};
}

}  // namespace latticino::cuda
