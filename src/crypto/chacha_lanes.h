// Computes several ChaCha20 blocks at once, one per vector lane (GCC and Clang vector extension).
// Everything is inlined into its caller, so that the caller's target decides on the instructions.
#pragma once

#include <array>
#include <cstdint>

namespace latticino::crypto {

// Order of the words: constants, key, counter, nonce (RFC 8439).
using ChachaState = std::array<std::uint32_t, 16>;

// One type per width, because GCC accepts no vector size that depends on a template argument.
typedef std::uint32_t Lane4 __attribute__((vector_size(16)));
typedef std::uint32_t Lane8 __attribute__((vector_size(32)));
typedef std::uint32_t Lane16 __attribute__((vector_size(64)));

template <class Lane>
struct ChachaLanes {
  static constexpr int kLanes = sizeof(Lane) / sizeof(std::uint32_t);

  // Word w of block counter + i is x[w][i].
  Lane x[16];

  [[gnu::always_inline]] void run(const ChachaState& start) {
    Lane offset{};
    for (int i = 0; i < kLanes; ++i) offset[i] = static_cast<std::uint32_t>(i);
    for (int w = 0; w < 16; ++w) x[w] = Lane{} + start[w];
    x[12] += offset;
    for (int round = 0; round < 10; ++round) {
      quarter_round(0, 4, 8, 12);
      quarter_round(1, 5, 9, 13);
      quarter_round(2, 6, 10, 14);
      quarter_round(3, 7, 11, 15);
      quarter_round(0, 5, 10, 15);
      quarter_round(1, 6, 11, 12);
      quarter_round(2, 7, 8, 13);
      quarter_round(3, 4, 9, 14);
    }
    for (int w = 0; w < 16; ++w) x[w] += start[w];
    x[12] += offset;
  }

 private:
  [[gnu::always_inline]] void quarter_round(int a, int b, int c, int d) {
    x[a] += x[b];
    x[d] ^= x[a];
    x[d] = x[d] << 16 | x[d] >> 16;
    x[c] += x[d];
    x[b] ^= x[c];
    x[b] = x[b] << 12 | x[b] >> 20;
    x[a] += x[b];
    x[d] ^= x[a];
    x[d] = x[d] << 8 | x[d] >> 24;
    x[c] += x[d];
    x[b] ^= x[c];
    x[b] = x[b] << 7 | x[b] >> 25;
  }
};

}  // namespace latticino::crypto
