#include "crypto/expand_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "crypto/secure_memory.h"
#include "math/modulus.h"

namespace latticino::crypto {
namespace {

template <class Lane>
[[gnu::always_inline]] inline void expand(ChachaState state, std::uint32_t q,
                                          std::span<std::uint32_t> out) {
  constexpr int kLanes = ChachaLanes<Lane>::kLanes;
  constexpr std::size_t kPerBlock = 4, kStep = kPerBlock * kLanes;
  const Modulus m = make_modulus(q);
  const std::uint64_t high = reduce_u64(~std::uint64_t{0}, m) + 1;  // 2^64 mod q, in [1, q]
  ChachaLanes<Lane> block;
  for (std::size_t first = 0; first < out.size(); first += kStep) {
    block.run(state);
    state[12] += kLanes;
    for (std::size_t k = 0; k < kStep && first + k < out.size(); ++k) {
      const std::size_t i = k / kPerBlock, w = k % kPerBlock * 4;
      const auto word = [&](std::size_t at) {
        return static_cast<std::uint64_t>(block.x[at + 1][i]) << 32 | block.x[at][i];
      };
      // < q * q + q, far below 2^64
      out[first + k] = reduce_u64(reduce_u64(word(w + 2), m) * high + reduce_u64(word(w), m), m);
    }
  }
}

template <class Lane>
[[gnu::always_inline]] inline void stream(ChachaState state, std::span<std::uint8_t> out) {
  constexpr std::size_t kLanes = ChachaLanes<Lane>::kLanes, kStep = 64 * kLanes;
  ChachaLanes<Lane> block;
  std::uint32_t words[16][kLanes];
  std::uint8_t bytes[kStep];
  for (std::size_t first = 0; first < out.size(); first += kStep) {
    block.run(state);
    state[12] += kLanes;
    std::memcpy(words, block.x, sizeof words);
    for (std::size_t i = 0; i < kLanes; ++i) {
      for (std::size_t w = 0; w < 16; ++w) {
        std::uint32_t x = words[w][i];
        if constexpr (std::endian::native == std::endian::big) x = __builtin_bswap32(x);
        std::memcpy(bytes + 64 * i + 4 * w, &x, sizeof x);
      }
    }
    std::memcpy(out.data() + first, bytes, std::min(kStep, out.size() - first));
  }
  secure_clear(&state, sizeof state);
  secure_clear(&block, sizeof block);
  secure_clear(words, sizeof words);
  secure_clear(bytes, sizeof bytes);
}

void stream_portable(ChachaState start, std::span<std::uint8_t> out) { stream<Lane4>(start, out); }
void expand_portable(ChachaState start, std::uint32_t q, std::span<std::uint32_t> out) {
  expand<Lane4>(start, q, out);
}
bool always() { return true; }

#if defined(__x86_64__)
[[gnu::target("avx2,bmi2")]] void expand_avx2(ChachaState start, std::uint32_t q,
                                              std::span<std::uint32_t> out) {
  expand<Lane8>(start, q, out);
}
[[gnu::target("avx512f,bmi2")]] void expand_avx512(ChachaState start, std::uint32_t q,
                                                   std::span<std::uint32_t> out) {
  expand<Lane16>(start, q, out);
}
[[gnu::target("avx2")]] void stream_avx2(ChachaState start, std::span<std::uint8_t> out) {
  stream<Lane8>(start, out);
}
[[gnu::target("avx512f")]] void stream_avx512(ChachaState start, std::span<std::uint8_t> out) {
  stream<Lane16>(start, out);
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"); }
bool has_avx512() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("bmi2"); }
#endif

constexpr ExpandKernel kKernels[] = {
#if defined(__x86_64__)
    {"avx512", has_avx512, expand_avx512, stream_avx512},
    {"avx2", has_avx2, expand_avx2, stream_avx2},
#endif
    {"portable", always, expand_portable, stream_portable},
};

}  // namespace

std::span<const ExpandKernel> expand_kernels() { return kKernels; }

}  // namespace latticino::crypto
