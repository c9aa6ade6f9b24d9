// Known answers of the seed expander and of errors from secret seeds;
// tests/python/answers/test_expansion.py checks the files themselves against an independent
// ChaCha20.
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <sstream>
#include <vector>

#include "crypto/expand.h"
#include "crypto/gaussian.h"
#include "support/digest_support.h"
#include "support/ring_support.h"

namespace latticino::crypto {
namespace {

std::array<std::uint8_t, 32> seed_of(const std::string& hex) {
  std::array<std::uint8_t, 32> seed{};
  for (std::size_t i = 0; i < seed.size(); ++i) {
    seed[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return seed;
}

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
    const std::array<std::uint8_t, 32> seed = seed_of(seed_hex);
    std::vector<std::uint32_t> limb(n);
    expand_limb(seed, stream, prime_index, q, limb);
    EXPECT_EQ(test::digest(limb), digest) << line;
    ++cases;
  }
  EXPECT_EQ(cases, 5);
}

TEST(ErrorKnownAnswers, EveryCase) {
  std::ifstream file(LATTICINO_TEST_DATA "/errors_v1.txt");
  ASSERT_TRUE(file.is_open());
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string seed_hex, digest;
    std::uint64_t index = 0;
    double sigma = 0;
    std::uint32_t q = 0, n = 0;
    fields >> seed_hex >> index >> sigma >> q >> n >> digest;
    ASSERT_TRUE(fields) << line;
    const std::array<std::uint8_t, 32> seed = seed_of(seed_hex);
    const GaussianTable table(sigma);
    for (const bool simd : {false, true}) {
      const Ring ring(std::countr_zero(n), {q});
      Queue queue(make_cpu_backend({simd, 2}));
      const Buffer key = queue.allocate(seed.size(), true);
      queue.copy_in(key->data(), seed.data(), seed.size());
      const Poly out = queue.allocate(ring, test::range(0, 1), Domain::Coeff);
      queue.submit(SampleGaussian{
          &table, {{static_cast<const std::uint8_t*>(key->data()), index, out.view}}});
      EXPECT_EQ(test::digest(test::download(queue, out.view)), digest) << line;
    }
    ++cases;
  }
  EXPECT_EQ(cases, 4);
}

}  // namespace
}  // namespace latticino::crypto
