// Copies from global to shared memory that use no registers and complete on their own (sm_80 and
// later). A thread sees its own copies after wait_for_copies(); other threads see them after a
// barrier as well. They have no cache hint: for copies with one, ptxas 13.0 makes an instruction
// that an H200 calls illegal, if it keeps a part of the shared address in a uniform register.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace latticino::cuda {

__device__ __forceinline__ void copy_async(uint4* shared, const uint4* from) {
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Copies half as many bytes. Such copies go through the L1.
__device__ __forceinline__ void copy_async(uint2* shared, const uint2* from) {
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from) : "memory");
}

// end_group() makes one group of all copies since its last call. wait_for_groups() waits for all
// groups except the last PENDING ones.
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

}  // namespace latticino::cuda
