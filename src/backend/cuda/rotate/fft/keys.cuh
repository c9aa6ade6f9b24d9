// How the rows of the key reach the warps of rotate/fft/block.cuh. Each row is one chunk: take()
// it, load() the numbers, leave() it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/device/bulk.cuh"
#include "backend/cuda/device/fetch.cuh"
#include "backend/cuda/rotate/fft/transform.cuh"

namespace latticino::cuda {

// Registers limit the threads of a block.
template <class S, int PARTS>
constexpr int kMaxFourierThreads = PARTS == 2 ? 4096 / S::kV : 384;

// Reads the key through the L1. The ciphertexts of a block share it, and read the same rows at
// about the same time. A thread that begins a row also fetches a part of the next row to the L2.
// Otherwise the first warp that needs it would wait for main memory, and soon all others would too.
// Rows of N = 2^12 have 64 KiB, and do not fit into the L1 next to two ciphertexts. They are
// fetched to the L2 in time from the memory of the device; the key is larger than the L2.
template <class S, int PARTS>
struct KeyStream {
  static constexpr std::size_t kNumbers = 0;  // no shared memory
  static constexpr bool kToL1 = PARTS == 3 || S::kLogN < 12;
  static constexpr int kChunk = PARTS * S::kM, kPiece = kToL1 ? 2 : 8;  // numbers
  // Lines that a thread fetches.
  static constexpr int kFetched = kChunk / kPiece / kMaxFourierThreads<S, PARTS>;

  const double2* next;
  std::uint32_t left;  // chunks

  __device__ __forceinline__ KeyStream(double2*, const double2* key, std::uint32_t chunks, int)
      : next(key), left(chunks) {}
  __device__ __forceinline__ const double2* take() {
    const double2* row = next;
    next += kChunk;
    if (--left != 0) {
#pragma unroll
      for (int i = 0; i < kFetched; ++i) {
        const double2* const piece = next + kPiece * (threadIdx.x + i * blockDim.x);
        kToL1 ? fetch_to_l1(piece) : fetch_to_l2(piece);
      }
    }
    return row;
  }
  static __device__ __forceinline__ Complex load(const double2* x) { return complex(__ldg(x)); }
  __device__ __forceinline__ void leave() {}
};

// Through shared memory by bulk copies, kSlots chunks at a time. Instead of a barrier, the warps
// take turns. The warp whose turn it is waits until all warps have left the chunk before, and
// starts the copy of a new chunk into its place.
template <class S, int PARTS, int PRIMES>
struct KeyPipeline {
  static constexpr int kSlots = PRIMES == 1 ? 3 : 2;
  static constexpr int kChunk = PARTS * S::kM;  // numbers
  static constexpr std::uint32_t kBytes = sizeof(double2) * kChunk;
  static constexpr int kHead = kSlots;  // counts of the slots
  static constexpr std::size_t kNumbers = kHead + std::size_t{kSlots} * kChunk;

  double2* slots;
  std::uint64_t* counts;  // first those of full barriers, then those of empty ones
  const double2* ahead;   // the next chunk to copy
  std::uint32_t left;     // number of chunks still to copy
  int warps;              // warps per block
  int turn = -1;          // the warp whose turn it is; none before the first chunk
  int slot = 0;
  std::uint32_t parity = 0;

  // For all threads of the block and `units` ciphertexts.
  __device__ __forceinline__ KeyPipeline(double2* shared, const double2* key, std::uint32_t chunks,
                                         int units)
      : slots(shared + kHead),
        counts(reinterpret_cast<std::uint64_t*>(shared)),
        ahead(key + kSlots * kChunk),
        left(chunks > kSlots ? chunks - kSlots : 0),
        warps(units * S::kThreads / 32) {
    if (threadIdx.x == 0) {
      for (std::uint32_t i = 0; i < kSlots && i < chunks; ++i) {
        empty(i).begin(warps);
        full(i).begin(kBytes);
        copy_bulk(slots + i * kChunk, key + i * kChunk, kBytes, full(i));
      }
    }
    __syncthreads();
  }
  __device__ __forceinline__ Arrivals full(int i) const { return {counts + i}; }
  __device__ __forceinline__ EmptyBarrier empty(int i) const { return {counts + kSlots + i}; }
  __device__ __forceinline__ const double2* take() {
    full(slot).wait(parity);
    return slots + slot * kChunk;
  }
  static __device__ __forceinline__ Complex load(const double2* x) { return complex(*x); }
  __device__ __forceinline__ void leave() {
    __syncwarp();
    const int before = slot == 0 ? kSlots - 1 : slot - 1;
    const bool copies = turn >= 0 && left != 0;
    if (threadIdx.x % 32 == 0) {
      empty(slot).leave();
      if (copies && turn == static_cast<int>(threadIdx.x / 32)) {
        empty(before).wait(slot == 0 ? parity ^ 1 : parity);
        full(before).expect(kBytes);
        copy_bulk(slots + before * kChunk, ahead, kBytes, full(before));
      }
    }
    if (copies) ahead += kChunk, --left;
    if (++turn == warps) turn = 0;
    if (++slot == kSlots) slot = 0, parity ^= 1;
  }
};

// The faster way on an H200 for N = 2^10. Larger chunks leave too little memory for ciphertexts.
template <class S, int PARTS, int PRIMES>
using FourierKeyPath =
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    KeyStream<S, PARTS>;
#else
    std::conditional_t<S::kLogN == 10, KeyPipeline<S, PARTS, PRIMES>, KeyStream<S, PARTS> >;
#endif

}  // namespace latticino::cuda
