// Loads of data that are not needed again soon: the L2 evicts such lines before all others.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace latticino::cuda {

// Like copy_async() of device/async_copy.cuh. The illegal instruction described there did not
// appear in the kernels that use this function: they ran on an H200 as ptxas 13.0 compiled them.
// Test each new use there.
__device__ __forceinline__ void copy_async_once(uint4* shared, const uint4* from) {
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile(
      "{\n"
      ".reg .b64 policy;\n"
      "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
      "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, policy;\n"
      "}" ::"r"(to),
      "l"(from)
      : "memory");
}

// Volatile, so that it stays behind wait_for_previous() of device/overlap.cuh.
__device__ __forceinline__ std::uint32_t load_once(const std::uint32_t* from) {
  std::uint32_t word;
  asm volatile(
      "{\n"
      ".reg .b64 policy;\n"
      "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
      "ld.global.L2::cache_hint.u32 %0, [%1], policy;\n"
      "}"
      : "=r"(word)
      : "l"(from));
  return word;
}

}  // namespace latticino::cuda
