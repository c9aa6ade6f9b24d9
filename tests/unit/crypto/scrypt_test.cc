// The key of a passphrase. Vectors: RFC 7914, sections 11 and 12, and of Python's hashlib.scrypt.
#include "crypto/scrypt.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "math/errors.h"

namespace latticino::crypto {
namespace {

std::string derived(const std::string& passphrase, const std::string& salt, int log_n,
                    std::uint32_t r, std::uint32_t p, std::size_t bytes = 64) {
  const std::vector<std::uint8_t> word(passphrase.begin(), passphrase.end());
  const std::vector<std::uint8_t> grains(salt.begin(), salt.end());
  std::vector<std::uint8_t> out(bytes);
  scrypt(word, grains, log_n, r, p, out);
  std::string hex;
  for (const std::uint8_t b : out) {
    hex += "0123456789abcdef"[b >> 4];
    hex += "0123456789abcdef"[b & 15];
  }
  return hex;
}

TEST(Scrypt, VectorsOfRfc7914) {
  EXPECT_EQ(derived("", "", 4, 1, 1),
            "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
            "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906");
  EXPECT_EQ(derived("password", "NaCl", 10, 8, 16),
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
            "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640");
}

TEST(Scrypt, OtherLengthsOfKeys) {
  const std::string whole = derived("word", "salt", 5, 2, 3, 100);  // result of hashlib.scrypt
  EXPECT_EQ(
      whole,
      "84469d568f91f97bce0bdd847f6cccde91b649e024975d0e99a033161b1adec01b915ac393cc76642cd23114"
      "29f2993d865154815b98673a64feb2c483969ffc1c53109471a0f28303c2db49892fcd808d6f430afa284125"
      "09061a5a40f5ab2eab1b1e27");
  EXPECT_EQ(derived("word", "salt", 5, 2, 3, 40), whole.substr(0, 80));
  EXPECT_NE(derived("wore", "salt", 5, 2, 3, 40), whole.substr(0, 80));
}

TEST(Scrypt, RefusesOtherCosts) {
  EXPECT_THROW(derived("a", "b", 0, 8, 1), ValueError);
  EXPECT_THROW(derived("a", "b", 25, 8, 1), ValueError);
  EXPECT_THROW(derived("a", "b", 10, 0, 1), ValueError);
  EXPECT_THROW(derived("a", "b", 10, 8, 0), ValueError);
  EXPECT_THROW(derived("a", "b", 10, 1u << 15, 1u << 15), ValueError);
}

}  // namespace
}  // namespace latticino::crypto
