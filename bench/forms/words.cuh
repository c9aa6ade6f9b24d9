// Words by which blocks of a grid tell each other how far they are.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>
#include <cuda/atomic>

namespace latticino::bench::forms {

using SharedWord = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;

// Whatever this thread has seen in memory is also visible to a thread that sees the new value.
__device__ __forceinline__ std::uint32_t add_to(std::uint32_t* word, std::uint32_t x) {
  return SharedWord(*word).fetch_add(x, ::cuda::memory_order_acq_rel);
}
__device__ __forceinline__ void put(std::uint32_t* word, std::uint32_t x) {
  SharedWord(*word).store(x, ::cuda::memory_order_release);
}
__device__ __forceinline__ std::uint32_t value_of(std::uint32_t* word) {
  return SharedWord(*word).load(::cuda::memory_order_relaxed);
}
// Waits until the word has reached a count.
__device__ __forceinline__ void wait_for(std::uint32_t* word, std::uint32_t count) {
  while (static_cast<std::int32_t>(SharedWord(*word).load(::cuda::memory_order_acquire) - count) <
         0) {
  }
}
__device__ __forceinline__ void sync_grid() { cooperative_groups::this_grid().sync(); }

}  // namespace latticino::bench::forms
