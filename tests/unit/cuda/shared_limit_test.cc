// A GPU whose blocks are given 99 KB of shared memory, as on sm_86, sm_89 and sm_120.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "math/errors.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

constexpr std::size_t kLimit = 99 << 10;

test::Words converted(Queue& queue, const Ring& ring, int sources) {
  const Basis from = test::range(0, sources), to = test::range(24, ring.prime_count());
  const BaseConversion table(ring, from, to);
  std::mt19937_64 random(sources);
  const Poly x =
      test::upload(queue, ring, from, Domain::Half, test::random_words(ring, from, random));
  const Poly y = queue.allocate(ring, to, Domain::Half);
  queue.submit(Convert{{{&table, x.view, y.view}}});
  return test::download(queue, y.view);
}

bool any_has(const std::set<std::string>& names, const std::string& part) {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

TEST(SharedLimit, ConversionsOfUpToTwentySourcesAreTiles) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  for (const int log_n : {16, 17}) {
    for (const int sources : {12, 13, 16, 17, 20, 21, 24}) {
      SCOPED_TRACE("N = 2^" + std::to_string(log_n) + ", " + std::to_string(sources) + " sources");
      const auto launched = std::make_shared<std::set<std::string>>();
      // A ring serves one backend.
      const auto primes = test::ntt_primes(log_n, 24 + 29, 1u << 30);
      const Ring ring(log_n, primes), on_cpu(log_n, primes);
      Queue limited(make_cuda_backend({.launched = launched, .shared_limit = kLimit}));
      Queue cpu(make_cpu_backend({true, 0}));
      EXPECT_EQ(converted(limited, ring, sources), converted(cpu, on_cpu, sources));
      EXPECT_EQ(any_has(*launched, "convert_tile"), sources <= (log_n == 16 ? 20 : 16));
      EXPECT_NE(any_has(*launched, "convert_tile"), any_has(*launched, "convert_entries"));
    }
  }
}

TEST(SharedLimit, IsWithinTheDevices) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  EXPECT_THROW(make_cuda_backend({.shared_limit = 1}), UnsupportedError);
  EXPECT_THROW(make_cuda_backend({.shared_limit = std::size_t{1} << 30}), UnsupportedError);
}

// Chooses as for an RTX 4090: no overlap of launches, and the rules of kernels instead of a table.
TEST(SharedLimit, ChoosesAsAnOlderArchitectureWithTheSameResults) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const auto primes = test::ntt_primes(16, 24 + 29, 1u << 30);
  const Ring ring(16, primes), on_cpu(16, primes);
  Queue older(make_cuda_backend({.shared_limit = kLimit, .arch = 89}));
  EXPECT_EQ(older.device().arch, 89);
  Queue cpu(make_cpu_backend({true, 0}));
  for (const int sources : {12, 16, 24}) {
    EXPECT_EQ(converted(older, ring, sources), converted(cpu, on_cpu, sources)) << sources;
  }
}

}  // namespace
}  // namespace latticino
