#include "crypto/expand.h"

#include <gtest/gtest.h>

#include <cstring>

#include <string>
#include <vector>

#include "crypto/expand_kernels.h"

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

// RFC 8439, Sec. 2.4.2: encryption of a text of 114 bytes from block 1 on.
TEST(Expand, KeystreamMatchesRfc8439) {
  const std::string text =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
      "sunscreen would be it.";
  const std::string expected =
      "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0bf91b65c55247"
      "33ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d807ca0dbf500d6a6156a38e08"
      "8a22b65e52bc514d16ccf806818ce91ab77937365af90bbf74a35be6b40b8eedf2785e42874d";
  std::vector<std::uint8_t> stream(text.size());
  chacha20_keystream(counting_key(), 1, {0, 0x4a000000, 0}, stream);
  std::string got;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int byte = stream[i] ^ static_cast<std::uint8_t>(text[i]);
    got += "0123456789abcdef"[byte >> 4];
    got += "0123456789abcdef"[byte & 15];
  }
  EXPECT_EQ(got, expected);
}

// Long streams are the blocks one after another, whatever the length.
TEST(Expand, KeystreamIsItsBlocks) {
  for (std::size_t length : {1, 63, 64, 65, 255, 256, 257, 1000, 1023, 1024, 1025, 3001}) {
    std::vector<std::uint8_t> stream(length);
    chacha20_keystream(counting_key(), 7, {1, 2, 3}, stream);
    ChachaState start = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int w = 0; w < 8; ++w) std::memcpy(&start[4 + w], counting_key().data() + 4 * w, 4);
    start[12] = 7;
    for (std::uint32_t w = 1; w <= 3; ++w) start[12 + w] = w;
    for (const ExpandKernel& kernel : expand_kernels()) {
      if (!kernel.supported()) continue;
      std::vector<std::uint8_t> other(length);
      kernel.keystream(start, other);
      ASSERT_EQ(other, stream) << kernel.name << " " << length;
    }
    for (std::size_t i = 0; i < length; ++i) {
      const auto block =
          chacha20_block(counting_key(), 7 + static_cast<std::uint32_t>(i / 64), {1, 2, 3});
      ASSERT_EQ(stream[i], static_cast<std::uint8_t>(block[i % 64 / 4] >> (8 * (i % 4))));
    }
  }
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

TEST(Expand, EveryKernelGivesTheSameBits) {
  ChachaState start{};
  for (std::uint32_t i = 0; i < 16; ++i) start[i] = i == 12 ? 0 : 0x9e3779b9u * (i + 1);
  int ran = 0;
  for (const ExpandKernel& kernel : expand_kernels()) {
    if (!kernel.supported()) continue;
    ++ran;
    for (std::size_t n : {1, 5, 64, 100, 4096}) {
      std::vector<std::uint32_t> got(n), expected(n);
      kernel.run(start, 2147473409, got);
      expand_kernels().back().run(start, 2147473409, expected);
      EXPECT_EQ(got, expected) << kernel.name << " " << n;
    }
  }
  EXPECT_GE(ran, 1);
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
