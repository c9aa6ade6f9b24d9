// Copies that one thread starts for its block and that arrive with a count of their bytes (sm_90).
#pragma once

#include "backend/cuda/cluster.cuh"

namespace latticino::cuda {

// A multiple of 16 bytes. What was read at `shared` before was read by this thread, or by threads
// that it has seen leave.
__device__ __forceinline__ void copy_bulk(double2* shared, const double2* from, std::uint32_t bytes,
                                          const Arrivals& arrivals) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "fence.proxy.async.shared::cta;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(shared)),
      "l"(from), "r"(bytes), "r"(shared_address(arrivals.word))
      : "memory");
#endif
}

// Counts who leaves; phases alternate in parity, from 0 on.
struct Departures {
  std::uint64_t* word;  // of the block's shared memory

  // `all` leave in a phase; the block meets before the first one does.
  __device__ __forceinline__ void begin(std::uint32_t all) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(word)), "r"(all)
                 : "memory");
#endif
  }
  __device__ __forceinline__ void leave() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(word)) : "memory");
#endif
  }
  // All have left, and what they did before is seen.
  __device__ __forceinline__ void wait(std::uint32_t parity) const { Arrivals{word}.wait(parity); }
};

}  // namespace latticino::cuda
