#include "crypto/sha256.h"

#include <random>
#include <string>

#include "crypto/sha256_kernels.h"
#include "gtest/gtest.h"

namespace latticino::crypto {
namespace {

// FIPS 180-4 examples (NIST CSRC, SHA-256 one-block, two-block and long messages).
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameDigest) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  for (std::size_t length = 0; length <= text.size(); ++length) {
    Sha256 pieces;
    for (std::size_t at = 0; at < length; at += 37) {
      pieces.update({bytes + at, std::min<std::size_t>(37, length - at)});
    }
    ASSERT_EQ(pieces.finish(), sha256({bytes, length})) << length;
  }
}

TEST(Sha256, KernelsAreEqual) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::array<std::uint32_t, 8> before;
    std::array<std::uint8_t, 64 + 1> bytes;
    for (std::uint32_t& word : before) word = random();
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    const std::uint8_t* block = bytes.data() + i % 2;  // at any address
    std::array<std::uint32_t, 8> expected = before;
    sha256_kernels().back().compress(expected, block);
    for (const Sha256Kernel& kernel : sha256_kernels()) {
      if (!kernel.supported()) continue;
      std::array<std::uint32_t, 8> state = before;
      kernel.compress(state, block);
      ASSERT_EQ(state, expected) << kernel.name << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace latticino::crypto
