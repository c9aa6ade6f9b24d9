// Errors as the kernel samples them (backend/cuda/poly/sample_gaussian.cuh), thread by thread on
// the host, against one block and one word at a time. The kernel has no barrier, so threads can run
// one after the other.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "backend/cuda/poly/sample_gaussian.cuh"
#include "crypto/expand.h"
#include "crypto/gaussian.h"
#include "poly/ring.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using crypto::GaussianTable;
using crypto::Wide;

std::vector<cuda::Modulus> moduli(const Ring& ring) {
  std::vector<cuda::Modulus> out;
  for (const std::uint32_t q : ring.primes()) {
    const Modulus m = make_modulus(q);
    out.push_back(
        {m.q, static_cast<std::uint32_t>(m.q_inverse), pow_mod(2, 32, m), pow_mod(2, 64, m)});
  }
  return out;
}

cuda::SampleArgs arguments(const GaussianTable& table, const cuda::Modulus* modulus, int log_n) {
  cuda::SampleArgs a{};
  a.ring = {modulus, log_n};
  std::ranges::copy(table.entries(), a.table);
  a.entries = static_cast<int>(table.entries().size());
  return a;
}

std::int64_t reference(const std::array<std::uint8_t, 32>& seed, std::uint64_t index,
                       const GaussianTable& table, std::uint32_t i) {
  const auto block = crypto::chacha20_block(
      seed, i / 4,
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0xFFFFFFFF});
  Wide word = 0;
  for (int k = 3; k >= 0; --k) word = word << 32 | block[i % 4 * 4 + k];
  return crypto::gaussian_from_word(table.entries(), word);
}

void expect_errors(int log_n, const Basis& basis, double sigma) {
  test::Words primes = test::ntt_primes(log_n, 5);
  for (const std::uint32_t q : test::ntt_primes(log_n, 4, 1u << (log_n + 8))) primes.push_back(q);
  const Ring ring(log_n, primes);
  const std::vector<cuda::Modulus> modulus = moduli(ring);
  const GaussianTable table(sigma);
  constexpr std::uint64_t kIndices[] = {0, 7, 0xfedcba9876543210};
  // Limbs before a polynomial, so that offsets differ from prime indices.
  constexpr int kItems = 3, kFirst = 2;
  std::mt19937_64 random(static_cast<unsigned>(log_n));
  alignas(16) std::array<std::uint8_t, 32> seed;
  for (auto& x : seed) x = static_cast<std::uint8_t>(random());
  cuda::SampleArgs a = arguments(table, modulus.data(), log_n);
  const std::size_t n = static_cast<std::size_t>(ring.n());
  std::vector<test::Words> memory(kItems, test::Words((kFirst + basis.size() + 1) * n, 0xA5A5A5A5));
  for (int item = 0; item < kItems; ++item) {
    const PolyView out =
        PolyView::contiguous(memory[item].data(), ring, basis, Domain::Coeff, kFirst);
    a.item[item].out = cuda::View(out);
    a.item[item].seed = reinterpret_cast<const std::uint32_t*>(seed.data());
    a.item[item].index[0] = static_cast<std::uint32_t>(kIndices[item]);
    a.item[item].index[1] = static_cast<std::uint32_t>(kIndices[item] >> 32);
    for (std::uint32_t g = 0; g < n / 4; ++g) cuda::sample_group(a, item, g);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::int64_t value = reference(seed, kIndices[item], table, i);
      for (int k = 0; k < basis.size(); ++k) {
        const std::int64_t q = ring.prime(basis.prime(k));
        ASSERT_EQ(out.limb(basis.prime(k))[i], value < 0 ? q + value : value)
            << "item " << item << " prime " << basis.prime(k) << " entry " << i;
      }
    }
    for (std::size_t i = 0; i < kFirst * n; ++i) ASSERT_EQ(memory[item][i], 0xA5A5A5A5);
    for (std::size_t i = (kFirst + basis.size()) * n; i < memory[item].size(); ++i) {
      ASSERT_EQ(memory[item][i], 0xA5A5A5A5);
    }
  }
}

TEST(SampleGaussianKernel, IsTheDefinition) {
  for (const int log_n : {10, 11, 13}) {
    for (const Basis& basis :
         {test::range(0, 1), test::range(2, 7), Basis{{0, 2}, {3, 4}, {6, 9}}, test::range(0, 9)}) {
      expect_errors(log_n, basis, 3.19);
    }
  }
}

TEST(SampleGaussianKernel, OfEverySigma) {
  for (const double sigma : {0.5, 1.0, 4.0}) expect_errors(10, test::range(1, 3), sigma);
}

// Words at, below and above every entry, of both signs, because a random keystream practically
// never contains them.
TEST(SampleGaussianKernel, ScansWordsAtTheEntries) {
  for (const double sigma : {0.5, 3.19, 4.0}) {
    const GaussianTable table(sigma);
    const cuda::SampleArgs a = arguments(table, nullptr, 10);
    std::vector<Wide> words = {0, ~Wide{0}, Wide{1} << 127, ~Wide{0} >> 1};
    for (const Wide entry : table.entries()) {
      for (const Wide near : {entry - 1, entry, entry + 1, entry + (Wide{1} << 64)}) {
        words.push_back(near);
        words.push_back(near | Wide{1} << 127);
      }
    }
    for (std::size_t first = 0; first + 4 <= words.size(); first += 4) {
      std::uint32_t x[16];
      for (int k = 0; k < 16; ++k) {
        x[k] = static_cast<std::uint32_t>(words[first + k / 4] >> (32 * (k % 4)));
      }
      std::int32_t value[4];
      cuda::scan_table(a, x, value);
      for (int j = 0; j < 4; ++j) {
        ASSERT_EQ(value[j], crypto::gaussian_from_word(table.entries(), words[first + j]));
      }
    }
  }
}

}  // namespace
}  // namespace latticino
