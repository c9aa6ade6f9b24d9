// What a warp leaves in the device's memory for the same warp of a block that begins later. Who
// passes on waits for nobody, so it comes, however few blocks run at once, as long as blocks begin
// in the order of their numbers: a.number() sees to that, blind_fourier_pair takes it for granted.
#pragma once

#include <cstdint>

namespace latticino::cuda {

// A word, 0 before.
__device__ __forceinline__ void pass_on(std::uint32_t* word) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(1u) : "memory");
  }
}
// What was written before the other warp's pass_on() is seen after.
__device__ __forceinline__ void take_over(const std::uint32_t* word) {
  if (threadIdx.x % 32 == 0) {
    std::uint32_t come = 0;
    while (come == 0) {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(come) : "l"(word) : "memory");
    }
  }
  __syncwarp();
}

}  // namespace latticino::cuda
