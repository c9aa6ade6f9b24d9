// ChaCha20 (RFC 8439) on the device, a block per thread: additions, exclusive or and rotations by
// fixed amounts only, so that nothing but the registers' contents depends on the key.
#pragma once

#include <cstdint>

namespace latticino::cuda {

__device__ __forceinline__ void quarter_round(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c,
                                              std::uint32_t& d) {
  a += b, d = __funnelshift_l(d ^ a, d ^ a, 16);
  c += d, b = __funnelshift_l(b ^ c, b ^ c, 12);
  a += b, d = __funnelshift_l(d ^ a, d ^ a, 8);
  c += d, b = __funnelshift_l(b ^ c, b ^ c, 7);
}

// RFC 8439, Sec. 2.3.
__device__ __forceinline__ void chacha20_block(const std::uint32_t (&start)[16],
                                               std::uint32_t (&x)[16]) {
#pragma unroll
  for (int i = 0; i < 16; ++i) x[i] = start[i];
#pragma unroll 2
  for (int round = 0; round < 10; ++round) {
#pragma unroll
    for (int i = 0; i < 4; ++i) quarter_round(x[i], x[4 + i], x[8 + i], x[12 + i]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      quarter_round(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
    }
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) x[i] += start[i];
}

}  // namespace latticino::cuda
