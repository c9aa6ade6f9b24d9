// What a thread of SampleGaussian does: four coefficients of one polynomial, a block of keystream,
// in every limb. Apart from the kernel, so that it also runs on the host (tests/emulation).
//
// Constant time: loops end at numbers of entries, segments and limbs, addresses come from those and
// the thread's number, and table entries are parameters that all threads read in one order. A word
// of keystream only decides the borrow of a subtraction and a mask, never a branch or an address.
#pragma once

#include <cstdint>

#include "backend/cuda/device/chacha.cuh"
#include "backend/cuda/device/elementwise.cuh"
#include "crypto/expand.h"
#include "crypto/gaussian.h"
#include "ops/operations.h"

namespace latticino::cuda {

constexpr int kSampleItems = 64;
constexpr int kSampleThreads = 128;  // 2^14 threads, one polynomial of N = 2^16, on 128 blocks

struct SampleArgs {
  RingArgs ring;
  struct {
    View out;
    const std::uint32_t* seed;  // in device memory, because launch parameters must not be secret
    std::uint32_t index[2];
  } item[kSampleItems];
  crypto::Wide table[kMaxSampleEntries];
  int entries;
};
static_assert(sizeof(SampleArgs) <= 4096);

// |x| is the number of table entries that are at most the low 127 bits of a word; bit 127 is its
// sign. Words and entries are below 2^127, so bit 127 of a difference says that the word is below
// the entry.
__device__ __forceinline__ void scan_table(const SampleArgs& a, const std::uint32_t (&x)[16],
                                           std::int32_t (&value)[kGroup]) {
  crypto::Wide u[kGroup];
  std::uint32_t below[kGroup] = {};
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    const std::uint64_t low = static_cast<std::uint64_t>(x[4 * j + 1]) << 32 | x[4 * j];
    const std::uint64_t high =
        static_cast<std::uint64_t>(x[4 * j + 3] & 0x7FFFFFFF) << 32 | x[4 * j + 2];
    u[j] = static_cast<crypto::Wide>(high) << 64 | low;
  }
#pragma unroll 4
  for (int e = 0; e < a.entries; ++e) {
    const crypto::Wide entry = a.table[e];
#pragma unroll
    for (int j = 0; j < kGroup; ++j) below[j] += static_cast<std::uint32_t>((u[j] - entry) >> 127);
  }
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    const std::uint32_t magnitude = static_cast<std::uint32_t>(a.entries) - below[j];
    const std::uint32_t sign = x[4 * j + 3] >> 31;
    value[j] = static_cast<std::int32_t>((magnitude ^ (0 - sign)) + sign);
  }
}

__device__ __forceinline__ void sample_group(const SampleArgs& a, int i, std::uint32_t g) {
  const auto& item = a.item[i];
  std::uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  const Group first = load_group(item.seed, 0), second = load_group(item.seed, 1);
#pragma unroll
  for (int k = 0; k < 4; ++k) start[4 + k] = first.w[k], start[8 + k] = second.w[k];
  start[12] = g;
  start[13] = item.index[0];
  start[14] = item.index[1];
  start[15] = crypto::kErrorNonce;
  std::uint32_t x[16];
  chacha20_block(start, x);
  std::int32_t value[kGroup];
  scan_table(a, x, value);

  const std::size_t n = std::size_t{1} << a.ring.log_n;
#pragma unroll
  for (int s = 0; s < kViewSegments; ++s) {
    const Segment segment = item.out.segment[s];
    std::uint32_t* limb = item.out.data + segment.limb * n;
    for (int k = 0; k < segment.count; ++k, limb += n) {
      const Modulus m = load_modulus(a.ring.modulus + segment.prime + k);
      Group y;
#pragma unroll
      for (int j = 0; j < kGroup; ++j) y.w[j] = canonical(value[j], m);
      store_group(limb, g, y);  // in Coeff, the physical order is the logical one
    }
  }
}

}  // namespace latticino::cuda
