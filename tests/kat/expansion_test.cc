// Known answers of the seed expander; tests/python/test_expansion.py checks the file itself against
// an independent ChaCha20.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "crypto/expand.h"
#include "support/digest_support.h"

namespace latticino::crypto {
namespace {

TEST(ExpansionKnownAnswers, EveryCase) {
  std::ifstream file(LATTICINO_TEST_DATA "/expansion_v1.txt");
  ASSERT_TRUE(file.is_open());
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string seed_hex, digest;
    std::uint64_t stream = 0;
    std::uint32_t prime_index = 0, q = 0;
    std::size_t n = 0;
    fields >> seed_hex >> stream >> prime_index >> q >> n >> digest;
    ASSERT_TRUE(fields) << line;
    std::array<std::uint8_t, 32> seed{};
    for (std::size_t i = 0; i < seed.size(); ++i) {
      seed[i] = static_cast<std::uint8_t>(std::stoi(seed_hex.substr(2 * i, 2), nullptr, 16));
    }
    std::vector<std::uint32_t> limb(n);
    expand_limb(seed, stream, prime_index, q, limb);
    EXPECT_EQ(test::digest(limb), digest) << line;
    ++cases;
  }
  EXPECT_EQ(cases, 5);
}

}  // namespace
}  // namespace latticino::crypto
