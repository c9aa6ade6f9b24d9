// Asynchronous copies of what is not read again soon.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace latticino::cuda {

// As copy_async() of async_copy.cuh; what was copied leaves the L2 before all else. The illegal
// instruction that is told of there did not arise in the kernels that use this one: they ran on an
// H200 as ptxas 13.0 made them. A new use has to be tried there.
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

}  // namespace latticino::cuda
