// The record that samples errors, on the CPU, and the code that uses it.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "crypto/expand.h"
#include "crypto/gaussian.h"
#include "math/errors.h"
#include "rlwe/secret_poly.h"
#include "support/gaussian_support.h"
#include "support/ring_support.h"
#include "support/rlwe_support.h"

namespace latticino {
namespace {

using crypto::GaussianTable;
using test::range;

constexpr std::array<std::uint8_t, 32> kSeed = {1, 2, 3, 250};

// Samples one polynomial.
Poly sample(Queue& queue, const Ring& ring, const Basis& basis, const GaussianTable& table,
            std::uint64_t index) {
  const Buffer seed = queue.allocate(kSeed.size(), true);
  queue.copy_in(seed->data(), kSeed.data(), kSeed.size());
  Poly out = queue.allocate(ring, basis, Domain::Coeff);
  queue.submit(
      SampleGaussian{&table, {{static_cast<const std::uint8_t*>(seed->data()), index, out.view}}});
  return out;
}

std::int64_t reference(std::uint64_t index, const GaussianTable& table, std::uint32_t i) {
  const auto block = crypto::chacha20_block(
      kSeed, i / 4,
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0xFFFFFFFF});
  crypto::Wide word = 0;
  for (int k = 3; k >= 0; --k) word = word << 32 | block[i % 4 * 4 + k];
  return crypto::gaussian_from_word(table.entries(), word);
}

TEST(SampleGaussianRecord, IsTheDefinitionOnEveryKernelAndThread) {
  const GaussianTable table(3.19);
  for (const int log_n : {10, 13, 17}) {
    for (const CpuOptions& options :
         {CpuOptions{false, 1}, CpuOptions{true, 1}, CpuOptions{true, 3}}) {
      const Ring ring(log_n, test::ntt_primes(log_n, 3));
      Queue queue(make_cpu_backend(options));
      constexpr std::uint64_t kIndex = 0x123456789;
      const Poly out = sample(queue, ring, range(0, 3), table, kIndex);
      const test::Words words = test::download(queue, out.view);
      const auto n = static_cast<std::uint32_t>(ring.n());
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::int64_t value = reference(kIndex, table, i);
        for (std::uint32_t k = 0; k < 3; ++k) {
          const std::int64_t q = ring.prime(static_cast<int>(k));
          ASSERT_EQ(words[k * n + i], value < 0 ? q + value : value) << log_n << " entry " << i;
        }
      }
    }
  }
}

TEST(SampleGaussianRecord, FollowsThePmf) {
  Queue queue(make_cpu_backend());
  const Ring ring(17, test::ntt_primes(17, 1));
  for (const double sigma : {0.8, 3.19, 4.0}) {
    const GaussianTable table(sigma);
    std::map<std::int64_t, double> counts;
    double square = 0, sum = 0, total = 0;
    for (std::uint64_t index = 0; index < 16; ++index) {
      const test::Words words =
          test::download(queue, sample(queue, ring, range(0, 1), table, index).view);
      for (const std::uint32_t w : words) {
        const std::int64_t x = w > ring.prime(0) / 2 ? std::int64_t{w} - ring.prime(0) : w;
        ++counts[x];
        ASSERT_LT(std::abs(x), 8 * sigma) << "2^-49 for all of them";
        square += static_cast<double>(x * x);
        sum += static_cast<double>(x);
        ++total;
      }
    }
    EXPECT_LT(test::chi_square(counts, test::gaussian_pmf(sigma), total), 6) << sigma;
    EXPECT_NEAR(std::sqrt(square / total), sigma, 0.005 * sigma);
    EXPECT_LT(std::abs(sum), 6 * sigma * std::sqrt(total));
  }
}

TEST(SampleGaussianRecord, EveryErrorIsFreshAndSmall) {
  test::RlweWorld w("test-n10-leveled-insecure");
  const Ring& ring = w.constants.ring();
  const Basis basis = range(0, 2);
  std::vector<test::Words> seen;
  for (int call = 0; call < 2; ++call) {
    for (Poly& error : rlwe::error_polys(w.queue, ring, basis, w.random, 3)) {
      EXPECT_EQ(error.view.domain, Domain::Eval);
      const PolyView coeff = error.view.in(Domain::Coeff);
      w.queue.submit(Transform{{{error.view, coeff}}});
      seen.push_back(test::download(w.queue, coeff));
    }
  }
  const std::uint32_t q = ring.prime(0), other = ring.prime(1);
  const auto n = static_cast<std::size_t>(ring.n());
  for (std::size_t a = 0; a < seen.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) EXPECT_NE(seen[a], seen[b]);
    double square = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t x = seen[a][i] > q / 2 ? std::int64_t{seen[a][i]} - q : seen[a][i];
      ASSERT_EQ(seen[a][n + i], x < 0 ? other + x : x) << "one integer in every limb";
      square += static_cast<double>(x * x);
    }
    EXPECT_NEAR(std::sqrt(square / static_cast<double>(n)), kErrorSigma, 0.15 * kErrorSigma);
  }
}

TEST(SampleGaussianRecord, IsCountedByDryRunsAndRefusedByRecordings) {
  test::RlweWorld w("test-n10-leveled-insecure");
  const Ring& ring = w.constants.ring();
  const std::unique_ptr<Queue> dry = Queue::dry();
  rlwe::error_polys(*dry, ring, range(0, 2), w.random, 3);
  EXPECT_EQ(dry->report().operations_by_name.at("SampleGaussian"), 1u);
  EXPECT_EQ(dry->report().bytes_by_name.at("SampleGaussian"),
            3u * 2 * 4 * static_cast<unsigned>(ring.n()));
  EXPECT_THROW(w.queue.record([&] { rlwe::error_polys(w.queue, ring, range(0, 2), w.random, 1); }),
               UnsupportedError);
}

}  // namespace
}  // namespace latticino
