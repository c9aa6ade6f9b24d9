#include "crypto/expand.h"

#include <algorithm>

#include "crypto/expand_kernels.h"
#include "crypto/secure_memory.h"

namespace latticino::crypto {
namespace {

std::uint32_t load_le32(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) | static_cast<std::uint32_t>(p[1]) << 8 |
         static_cast<std::uint32_t>(p[2]) << 16 | static_cast<std::uint32_t>(p[3]) << 24;
}

// RFC 8439 Sec. 2.3: constants, key, counter, nonce.
ChachaState initial_state(std::span<const std::uint8_t, 32> key, std::uint32_t counter,
                          const std::array<std::uint32_t, 3>& nonce) {
  ChachaState s = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  for (int i = 0; i < 8; ++i) s[4 + i] = load_le32(key.data() + 4 * i);
  s[12] = counter;
  for (int i = 0; i < 3; ++i) s[13 + i] = nonce[i];
  return s;
}

const ExpandKernel& best_kernel() {
  static const ExpandKernel& kBest =
      *std::find_if(expand_kernels().begin(), expand_kernels().end(),
                    [](const ExpandKernel& k) { return k.supported(); });
  return kBest;
}

}  // namespace

std::array<std::uint32_t, 16> chacha20_block(std::span<const std::uint8_t, 32> key,
                                             std::uint32_t counter,
                                             const std::array<std::uint32_t, 3>& nonce) {
  ChachaLanes<Lane4> lanes;
  lanes.run(initial_state(key, counter, nonce));
  std::array<std::uint32_t, 16> out;
  for (int w = 0; w < 16; ++w) out[w] = lanes.x[w][0];
  return out;
}

void chacha20_keystream(std::span<const std::uint8_t, 32> key, std::uint32_t counter,
                        const std::array<std::uint32_t, 3>& nonce, std::span<std::uint8_t> out) {
  ChachaState state = initial_state(key, counter, nonce);
  best_kernel().keystream(state, out);
  secure_clear(&state, sizeof state);
}

void expand_limb(std::span<const std::uint8_t, 32> seed, std::uint64_t stream,
                 std::uint32_t prime_index, std::uint32_t q, std::span<std::uint32_t> out) {
  best_kernel().run(initial_state(seed, 0,
                                  {static_cast<std::uint32_t>(stream),
                                   static_cast<std::uint32_t>(stream >> 32), prime_index}),
                    q, out);
}

}  // namespace latticino::crypto
