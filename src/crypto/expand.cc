#include "crypto/expand.h"

#include <algorithm>

#include "crypto/secure_memory.h"
#include "math/modulus.h"

namespace latticino::crypto {
namespace {

// kLanes keystream blocks side by side, one a vector lane (GCC and Clang vector extension; lowered
// to whatever the target has).
constexpr int kLanes = 4;
typedef std::uint32_t Lane __attribute__((vector_size(4 * kLanes)));

inline Lane rotate(Lane x, int bits) { return x << bits | x >> (32 - bits); }

inline void quarter_round(Lane& a, Lane& b, Lane& c, Lane& d) {
  a += b;
  d = rotate(d ^ a, 16);
  c += d;
  b = rotate(b ^ c, 12);
  a += b;
  d = rotate(d ^ a, 8);
  c += d;
  b = rotate(b ^ c, 7);
}

std::uint32_t load_le32(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) | static_cast<std::uint32_t>(p[1]) << 8 |
         static_cast<std::uint32_t>(p[2]) << 16 | static_cast<std::uint32_t>(p[3]) << 24;
}

using State = std::array<std::uint32_t, 16>;

// RFC 8439 Sec. 2.3: constants, key, counter, nonce.
State initial_state(std::span<const std::uint8_t, 32> key, std::uint32_t counter,
                    const std::array<std::uint32_t, 3>& nonce) {
  State s = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  for (int i = 0; i < 8; ++i) s[4 + i] = load_le32(key.data() + 4 * i);
  s[12] = counter;
  for (int i = 0; i < 3; ++i) s[13 + i] = nonce[i];
  return s;
}

// Blocks counter .. counter + kLanes - 1 of `start`; word w of block i ends in out[w][i].
void blocks(const State& start, std::array<Lane, 16>& out) {
  std::array<Lane, 16> x;
  for (int w = 0; w < 16; ++w) x[w] = Lane{} + start[w];
  for (int i = 0; i < kLanes; ++i) x[12][i] += static_cast<std::uint32_t>(i);
  out = x;
  for (int round = 0; round < 10; ++round) {
    quarter_round(x[0], x[4], x[8], x[12]);
    quarter_round(x[1], x[5], x[9], x[13]);
    quarter_round(x[2], x[6], x[10], x[14]);
    quarter_round(x[3], x[7], x[11], x[15]);
    quarter_round(x[0], x[5], x[10], x[15]);
    quarter_round(x[1], x[6], x[11], x[12]);
    quarter_round(x[2], x[7], x[8], x[13]);
    quarter_round(x[3], x[4], x[9], x[14]);
  }
  for (int w = 0; w < 16; ++w) out[w] += x[w];
}

}  // namespace

std::array<std::uint32_t, 16> chacha20_block(std::span<const std::uint8_t, 32> key,
                                             std::uint32_t counter,
                                             const std::array<std::uint32_t, 3>& nonce) {
  std::array<Lane, 16> lanes;
  blocks(initial_state(key, counter, nonce), lanes);
  State out;
  for (int w = 0; w < 16; ++w) out[w] = lanes[w][0];
  return out;
}

void chacha20_keystream(std::span<const std::uint8_t, 32> key, std::uint32_t counter,
                        const std::array<std::uint32_t, 3>& nonce, std::span<std::uint8_t> out) {
  State state = initial_state(key, counter, nonce);
  std::array<Lane, 16> lanes;
  for (std::size_t first = 0; first < out.size(); first += 64 * kLanes) {
    blocks(state, lanes);
    state[12] += kLanes;
    const std::size_t bytes = std::min<std::size_t>(64 * kLanes, out.size() - first);
    for (std::size_t b = 0; b < bytes; ++b) {
      out[first + b] = static_cast<std::uint8_t>(lanes[b % 64 / 4][b / 64] >> (8 * (b % 4)));
    }
  }
  secure_clear(&state, sizeof state);
  secure_clear(&lanes, sizeof lanes);
}

void expand_limb(std::span<const std::uint8_t, 32> seed, std::uint64_t stream,
                 std::uint32_t prime_index, std::uint32_t q, std::span<std::uint32_t> out) {
  State state = initial_state(
      seed, 0,
      {static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32), prime_index});
  const Modulus m = make_modulus(q);
  const std::uint64_t high = reduce_u64(~std::uint64_t{0}, m) + 1;  // 2^64 mod q, in [1, q]
  const auto word = [](const std::array<Lane, 16>& x, int w, int i) {
    return static_cast<std::uint64_t>(x[w + 1][i]) << 32 | x[w][i];
  };
  std::array<Lane, 16> lanes;
  constexpr std::size_t kPerBlock = 4;
  for (std::size_t first = 0; first < out.size(); first += kPerBlock * kLanes) {
    blocks(state, lanes);
    state[12] += kLanes;
    for (std::size_t k = 0; k < kPerBlock * kLanes && first + k < out.size(); ++k) {
      const int i = static_cast<int>(k / kPerBlock), w = static_cast<int>(k % kPerBlock) * 4;
      const std::uint64_t w0 = word(lanes, w, i), w1 = word(lanes, w + 2, i);
      // < q * q + q, far below 2^64
      out[first + k] = reduce_u64(reduce_u64(w1, m) * high + reduce_u64(w0, m), m);
    }
  }
}

}  // namespace latticino::crypto
