// Partial results that a warp leaves in device memory for the same warp of a block that starts
// later. The producer never blocks. So the consumer always gets its data, however few blocks run at
// once, as long as blocks start in the order of their numbers: a.number() enforces this order, and
// blind_rotate_fft_pair relies on the hardware for it.
#pragma once

#include <cstdint>

namespace latticino::cuda {

// Sets a word that was 0: what this warp wrote before is complete.
__device__ __forceinline__ void publish(std::uint32_t* word) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(1u) : "memory");
  }
}
// Waits for the word. Afterwards this warp sees what the other one wrote before publish().
__device__ __forceinline__ void wait_until_published(const std::uint32_t* word) {
  if (threadIdx.x % 32 == 0) {
    std::uint32_t ready = 0;
    while (ready == 0) {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(ready) : "l"(word) : "memory");
    }
  }
  __syncwarp();
}

}  // namespace latticino::cuda
