// Copies that one thread starts for its block and that arrive with a count of their bytes (sm_90).
#pragma once

#include "backend/cuda/device/cluster.cuh"

namespace latticino::cuda {

// A multiple of 16 bytes. The old content of `shared` must have been read by this thread, or by
// threads that it has seen leave.
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

// Counts threads that have left a buffer. When all have, it is empty and may be filled again. A
// thread that waits sees what all of them did before.
struct EmptyBarrier : Phases {
  __device__ __forceinline__ void leave() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(word)) : "memory");
#endif
  }
};

}  // namespace latticino::cuda
