// Five kinds of synchronisation inside a kernel. The paper has five kinds too, and names one of
// them, Local Sync. It takes them from HE-Booster and from Xiao and Feng (IPDPS 2010). Simple, Tree
// and LockFree are the three of Xiao and Feng. Grid is the barrier of CUDA's cooperative groups.
// With Local a block waits only for the blocks whose entries it needs. All blocks must be on the
// device at once. The counts are not set back between launches.
#pragma once

#include <cstdint>

#include "backend/cuda/device/layout.h"
#include "forms/words.cuh"

namespace latticino::bench::forms {

// Launches: no barrier, because each step is a launch.
enum class Sync { Launches, Simple, Tree, LockFree, Grid, Local };
constexpr const char* kSyncNames[] = {"launches", "simple", "tree", "lock-free", "grid", "local"};

// In words: counts of several blocks are on cache lines of their own.
constexpr std::uint32_t kLine = 32;
constexpr std::uint32_t kTreeGroup = 8;
LATTICINO_HOST_DEVICE constexpr std::uint32_t sync_words(std::uint32_t blocks) {
  return kLine * (blocks + 2);
}

struct BarrierArgs {
  Sync sync;
  std::uint32_t* words;             // sync_words() words, 0 before the first launch
  const std::uint16_t* neighbours;  // the lists of Neighbours, of `width` entries each
  std::uint32_t width;
};

class Barrier {
 public:
  __device__ __forceinline__ explicit Barrier(const BarrierArgs& a)
      : a_(a), begun_(a.sync == Sync::Local ? value_of(own()) : 0) {}

  // Waits until step i - 1 is done, then allows step i (from 1 on).
  __device__ __forceinline__ void meet(std::uint32_t i) const {
    __syncthreads();
    switch (a_.sync) {
      case Sync::Launches:
        break;
      case Sync::Simple:
        if (threadIdx.x == 0) simple();
        break;
      case Sync::Tree:
        if (threadIdx.x == 0) tree();
        break;
      case Sync::LockFree:
        lock_free();
        break;
      case Sync::Grid:
        sync_grid();
        break;
      case Sync::Local:
        local(i);
        break;
    }
    __syncthreads();
  }

 private:
  __device__ __forceinline__ std::uint32_t* own() const { return a_.words + blockIdx.x; }

  __device__ __forceinline__ void simple() const {
    const std::uint32_t met = add_to(a_.words, 1);
    wait_for(a_.words, (met / gridDim.x + 1) * gridDim.x);
  }
  // The last block of each group counts for the group.
  __device__ __forceinline__ void tree() const {
    const std::uint32_t group = blockIdx.x / kTreeGroup;
    const std::uint32_t groups = (gridDim.x + kTreeGroup - 1) / kTreeGroup;
    const std::uint32_t size = min(kTreeGroup, gridDim.x - group * kTreeGroup);
    const std::uint32_t met = add_to(a_.words + kLine * (1 + group), 1);
    if (met % size == size - 1) add_to(a_.words, 1);
    wait_for(a_.words, (met / size + 1) * groups);
  }
  // Each block has one word by which it says that it has arrived, and one by which it is told that
  // all have. The threads of the first block read and write these words.
  __device__ __forceinline__ void lock_free() const {
    std::uint32_t *here = a_.words, *all_here = here + gridDim.x;
    const std::uint32_t round = value_of(all_here + blockIdx.x) + 1;
    if (threadIdx.x == 0) put(here + blockIdx.x, round);
    if (blockIdx.x == 0) {
      for (std::uint32_t b = threadIdx.x; b < gridDim.x; b += blockDim.x) wait_for(here + b, round);
      __syncthreads();
      for (std::uint32_t b = threadIdx.x; b < gridDim.x; b += blockDim.x) put(all_here + b, round);
    } else if (threadIdx.x == 0) {
      wait_for(all_here + blockIdx.x, round);
    }
  }
  __device__ __forceinline__ void local(std::uint32_t i) const {
    if (threadIdx.x == 0) put(own(), begun_ + i);
    const std::uint16_t* list =
        a_.neighbours + (static_cast<std::size_t>(i - 1) * gridDim.x + blockIdx.x) * a_.width;
    for (std::uint32_t k = threadIdx.x; k < a_.width; k += blockDim.x) {
      wait_for(a_.words + list[k], begun_ + i);
    }
  }

  const BarrierArgs& a_;
  std::uint32_t begun_;  // for Local: steps of earlier launches
};

}  // namespace latticino::bench::forms
