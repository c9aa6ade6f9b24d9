#include "crypto/expand.h"

#include <gtest/gtest.h>

#include <vector>

namespace latticino::crypto {
namespace {

std::array<std::uint8_t, 32> counting_key() {
  std::array<std::uint8_t, 32> key;
  for (int i = 0; i < 32; ++i) key[i] = static_cast<std::uint8_t>(i);
  return key;
}

// RFC 8439, Sec. 2.3.2.
TEST(Expand, BlockMatchesRfc8439) {
  const std::array<std::uint32_t, 16> expected = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
                                                  0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
                                                  0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                                                  0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
  EXPECT_EQ(chacha20_block(counting_key(), 1, {0x09000000, 0x4a000000, 0}), expected);
}

// RFC 8439, Appendix A.1, vectors 1 and 2: zero key and nonce, blocks 0 and 1.
TEST(Expand, BlocksOfTheZeroKey) {
  const std::array<std::uint8_t, 32> zero{};
  EXPECT_EQ(chacha20_block(zero, 0, {})[0], 0xade0b876u);
  EXPECT_EQ(chacha20_block(zero, 0, {})[15], 0x8665eeb2u);
  EXPECT_EQ(chacha20_block(zero, 1, {})[0], 0xbee7079fu);
}

// The header's definition, written again word by word with 128-bit arithmetic.
TEST(Expand, LimbMatchesTheDefinition) {
  __extension__ typedef unsigned __int128 Wide;
  const auto seed = counting_key();
  const std::uint64_t stream = 0x123456789abcdef0;
  for (std::uint32_t q : {2147473409u, 1073479681u, 12289u}) {
    for (std::size_t n : {std::size_t{1}, std::size_t{64}, std::size_t{1024}, std::size_t{70}}) {
      std::vector<std::uint32_t> limb(n);
      expand_limb(seed, stream, 7, q, limb);
      for (std::size_t i = 0; i < n; ++i) {
        const auto b =
            chacha20_block(seed, static_cast<std::uint32_t>(i / 4), {0x9abcdef0u, 0x12345678u, 7});
        const std::size_t w = 4 * (i % 4);
        Wide x = 0;
        for (int k = 3; k >= 0; --k) x = x << 32 | b[w + k];
        ASSERT_EQ(limb[i], static_cast<std::uint32_t>(x % q)) << "q " << q << " i " << i;
      }
    }
  }
}

TEST(Expand, StreamsAndPrimesDiffer) {
  const auto seed = counting_key();
  std::vector<std::uint32_t> a(64), b(64), c(64);
  expand_limb(seed, 0, 0, 2147473409u, a);
  expand_limb(seed, 1, 0, 2147473409u, b);
  expand_limb(seed, 0, 1, 2147473409u, c);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(b, c);
}

}  // namespace
}  // namespace latticino::crypto
