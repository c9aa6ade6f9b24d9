// Thread block clusters (sm_90 and later): blocks on neighbouring multiprocessors that write into
// each other's shared memory. A block waits for the data that it needs, and not for other blocks to
// reach a barrier. A barrier in its shared memory counts the bytes that arrive. That takes one trip
// between multiprocessors; ordinary remote stores and a barrier of the cluster take three.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace latticino::cuda {

// The dynamic shared memory of the block.
__device__ __forceinline__ std::uint32_t* dynamic_shared() {
  extern __shared__ uint4 dynamic_words[];
  return reinterpret_cast<std::uint32_t*>(dynamic_words);
}

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// The same number, in a form whose value ptxas does not know. Numbers that it knows (an address of
// shared memory, a thread's index) it computes again in every step, from registers of the
// multiprocessor that take tens of cycles to read.
__device__ __forceinline__ std::uint32_t held(std::uint32_t x) {
  return __shfl_xor_sync(~0u, x, 0);
}
// The same for an address of shared memory.
template <class T>
__device__ __forceinline__ T* held(T* p) {
  const auto bits = reinterpret_cast<std::uintptr_t>(p);
  const std::uint32_t low = held(static_cast<std::uint32_t>(bits)),
                      high = held(static_cast<std::uint32_t>(bits >> 32));
  auto* same = reinterpret_cast<T*>(static_cast<std::uintptr_t>(high) << 32 | low);
  __builtin_assume(__isShared(same));
  return same;
}

__device__ __forceinline__ std::uint32_t cluster_rank() {
  std::uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

// Every thread of the cluster has arrived, and what they wrote to shared memory is visible.
__device__ __forceinline__ void sync_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
#endif
}

// A barrier of the block's shared memory; its phases alternate in parity, from 0 on.
struct Phases {
  std::uint64_t* word;

  // `count` threads arrive in each phase. Other threads may arrive after they have synchronised
  // with this block.
  __device__ __forceinline__ void begin(std::uint32_t count) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], %1;\n"
        "fence.mbarrier_init.release.cluster;" ::"r"(shared_address(word)),
        "r"(count)
        : "memory");
#endif
  }
  // Acquires at block scope only. This is enough, because what other blocks sent is in this block's
  // own shared memory. Acquiring more would invalidate the first-level cache.
  __device__ __forceinline__ void wait(std::uint32_t parity) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n"
        ".reg .pred come;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 come, [%0], %1;\n"
        "@!come bra again;\n"
        "}" ::"r"(shared_address(word)),
        "r"(parity)
        : "memory");
#endif
  }
};

// Counts bytes that arrive. One thread must begin each phase.
struct Arrivals : Phases {
  // The first phase also waits for expect().
  __device__ __forceinline__ void prepare() const { Phases::begin(1); }
  __device__ __forceinline__ void begin(std::uint32_t bytes) const {
    prepare();
    expect(bytes);
  }
  // A phase ends when `bytes` have arrived. Some of them may have arrived already.
  __device__ __forceinline__ void expect(std::uint32_t bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(word)),
        "r"(bytes)
        : "memory");
#endif
  }
};

// Sends four words to the place of `to` in block `rank` of the cluster, where `arrivals` counts
// them.
__device__ __forceinline__ void push(std::uint32_t* to, const Arrivals& arrivals,
                                     std::uint32_t rank, uint4 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      ".reg .b32 at, count;\n"
      "mapa.shared::cluster.u32 at, %0, %2;\n"
      "mapa.shared::cluster.u32 count, %1, %2;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [at], "
      "{%3, %4, %5, %6}, [count];\n"
      "}" ::"r"(shared_address(to)),
      "r"(shared_address(arrivals.word)), "r"(rank), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
      : "memory");
#endif
}

}  // namespace latticino::cuda
