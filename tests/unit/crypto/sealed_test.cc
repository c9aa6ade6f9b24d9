// Authenticated encryption of secrets at rest. Vectors: RFC 4231, test cases 1, 2 and 6.
#include "crypto/sealed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace latticino::crypto {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::string hex(const Sha256Digest& digest) {
  std::string out;
  for (const std::uint8_t b : digest) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

TEST(Sealed, HmacOfRfc4231) {
  EXPECT_EQ(hex(hmac_sha256(Bytes(20, 0x0b), bytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), bytes("what do ya want "), bytes("for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(Bytes(131, 0xaa),
                            bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Sealed, OpensWithTheSameKeyAndContextOnly) {
  Bytes key(kSealKeyBytes);
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  const SealKey seal_key(key.data(), kSealKeyBytes);
  const Bytes secret(1000, 1), context = bytes("context");
  Bytes data = secret;
  const Sha256Digest check = seal(seal_key, context, data);
  EXPECT_NE(data, secret);
  const auto refused = [&](const Bytes& k, const Bytes& c, Bytes d, Sha256Digest t) {
    const Bytes before = d;
    return !open_sealed(SealKey(k.data(), kSealKeyBytes), c, d, t) && d == before;
  };
  for (const std::size_t at : {std::size_t{32}, std::size_t{63}}) {
    Bytes other = key;
    other[at] ^= 1;
    EXPECT_TRUE(refused(other, context, data, check));
  }
  Bytes changed = data;
  changed[999] ^= 128;
  EXPECT_TRUE(refused(key, context, changed, check));
  EXPECT_TRUE(refused(key, bytes("contexu"), data, check));
  Sha256Digest wrong = check;
  wrong[31] ^= 1;
  EXPECT_TRUE(refused(key, context, data, wrong));
  ASSERT_TRUE(open_sealed(seal_key, context, data, check));
  EXPECT_EQ(data, secret);
}

}  // namespace
}  // namespace latticino::crypto
