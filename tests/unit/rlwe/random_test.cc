#include "rlwe/random.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "crypto/expand.h"
#include "crypto/gaussian.h"
#include "math/errors.h"
#include "support/gaussian_support.h"

namespace latticino::rlwe {
namespace {

using crypto::Convolution;
using crypto::gaussian_from_word;
using crypto::gaussian_scans;
using crypto::gaussian_table;
using crypto::GaussianScan;
using crypto::kMaxSigma;
using crypto::kMaxTableSigma;
using crypto::plan_convolution;
using crypto::Wide;
using test::chi_square;
using test::gaussian_pmf;

Random fixed_random(std::uint8_t x) {
  Seed seed{};
  seed[0] = x;
  return Random::insecure_from_seed(seed);
}

TEST(Random, StreamIsReproducibleAndRekeys) {
  Random a = fixed_random(1), b = fixed_random(1), c = fixed_random(2);
  std::vector<std::uint8_t> x(5000), y(5000), z(5000);
  a.fill(x);
  // Requests below the buffer size are served from the buffer: the bytes are the same whatever the
  // lengths.
  for (std::size_t i = 0; i < 700; i += 70) b.fill(std::span(y).subspan(i, 70));
  c.fill(z);
  EXPECT_NE(x, z);
  Random d = fixed_random(1);
  d.fill(std::span(z).first(700));
  EXPECT_TRUE(std::equal(y.begin(), y.begin() + 700, z.begin()));
  EXPECT_NE(fixed_random(1).next64(), Random().next64());
  EXPECT_NE(Random().next64(), Random().next64());
}

// The format of the insecure seed: label keys, then output from block 1 of the label's key.
TEST(Random, StreamMatchesItsConstruction) {
  Seed master{}, key{};
  master[0] = 9;
  crypto::chacha20_keystream(master, 0, {1, 0, 0}, key);
  Seed expected;
  crypto::chacha20_keystream(key, 1, {}, expected);
  EXPECT_EQ(fixed_random(9).seed(), expected);
}

TEST(Random, ChildOfAForkDrawsItsOwn) {
  Random random;
  random.next64();
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::uint64_t x = random.next64();
    const bool written = write(pipe_ends[1], &x, sizeof x) == sizeof x;
    _exit(written ? 0 : 1);
  }
  std::uint64_t theirs = 0;
  ASSERT_EQ(read(pipe_ends[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(random.next64(), theirs);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(Random, TernaryIsUniform) {
  Random random = fixed_random(3);
  const int n = 3000000;
  std::map<std::int64_t, double> counts;
  for (const std::int8_t x : random.ternary(n)) ++counts[x];
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_LT(chi_square(counts, {{-1, 1.0 / 3}, {0, 1.0 / 3}, {1, 1.0 / 3}}, n), 6);
}

TEST(Random, WeightIsExactAndPlacesAreUniform) {
  Random random = fixed_random(4);
  for (int n : {1, 2, 3, 100, 1024, 4096}) {
    for (int weight : {0, 1, n / 2, n}) {
      const auto x = random.ternary_weight(n, weight);
      EXPECT_EQ(std::count_if(x.begin(), x.end(), [](int v) { return v != 0; }), weight);
      EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](int v) { return v >= -1 && v <= 1; }));
    }
  }
  std::map<std::int64_t, double> places, signs, uniform;
  const int n = 64, weight = 20, runs = 20000;
  for (int r = 0; r < runs; ++r) {
    const auto x = random.ternary_weight(n, weight);
    for (int i = 0; i < n; ++i) {
      if (x[i] != 0) ++places[i], ++signs[x[i]];
    }
  }
  for (int i = 0; i < n; ++i) uniform[i] = 1.0 / n;
  EXPECT_LT(chi_square(places, uniform, double{weight} * runs), 6);
  EXPECT_LT(chi_square(signs, {{-1, 0.5}, {1, 0.5}}, double{weight} * runs), 6);
  EXPECT_THROW(random.ternary_weight(16, 17), ParameterError);
}

TEST(Random, GaussianFollowsThePmf) {
  Random random = fixed_random(5);
  const int n = 2000000;
  for (double sigma : {0.8, 3.19, 17.0}) {
    std::map<std::int64_t, double> counts;
    double square = 0;
    for (const std::int64_t x : random.gaussian(n, sigma)) {
      ++counts[x];
      square += static_cast<double>(x) * static_cast<double>(x);
    }
    EXPECT_LT(chi_square(counts, gaussian_pmf(sigma), n), 6) << sigma;
    EXPECT_NEAR(std::sqrt(square / n), sigma, 0.005 * sigma);
  }
}

// Convolution of base samples at a sigma small enough to see every cell.
TEST(Random, ConvolvedGaussianFollowsThePmf) {
  Random random = fixed_random(6);
  for (const auto& [sigma, n] : {std::pair{40.0, 1000000}, std::pair{150.0, 250000}}) {
    ASSERT_FALSE(plan_convolution(sigma).factors.empty());
    std::map<std::int64_t, double> counts;
    for (const std::int64_t x : random.gaussian(n, sigma)) ++counts[x];
    EXPECT_LT(chi_square(counts, gaussian_pmf(sigma), n), 6) << sigma;
  }
}

// Wide: equal-probability cells of the (continuous to 2^-30) normal distribution; low bits uniform.
TEST(Random, WideGaussianFollowsTheNormalDistribution) {
  Random random = fixed_random(7);
  const int n = 250000, cells = 64;
  const double sigma = std::ldexp(1.37, 40);
  std::map<std::int64_t, double> counts, low, uniform;
  double square = 0;
  for (const std::int64_t x : random.gaussian(n, sigma)) {
    const double t = static_cast<double>(x) / sigma;
    ++counts[static_cast<std::int64_t>(cells * 0.5 * std::erfc(-t / std::sqrt(2.0)))];
    ++low[x & 63];
    square += t * t;
  }
  for (int i = 0; i < cells; ++i) uniform[i] = 1.0 / cells;
  EXPECT_LT(chi_square(counts, uniform, n), 6);
  EXPECT_LT(chi_square(low, uniform, n), 6);
  EXPECT_NEAR(std::sqrt(square / n), 1.0, 0.01);
}

// Every implementation gives the same values as one word at a time, in particular at the table's
// entries.
TEST(Random, ScansAgree) {
  Random random = Random::insecure_from_seed({5});
  for (const double sigma : {0.5, 3.19, 26.0}) {
    const std::vector<Wide> table = gaussian_table(sigma);
    std::vector<Wide> words = {0, ~Wide{0}, Wide{1} << 127, ~Wide{0} >> 1};
    for (const Wide entry : table) {
      for (const Wide near : {entry - 1, entry, entry + 1, entry + (Wide{1} << 64)}) {
        words.push_back(near);
        words.push_back(near | Wide{1} << 127);
      }
    }
    for (int i = 0; i < 1001; ++i) {
      words.push_back(static_cast<Wide>(random.next64()) << 64 | random.next64());
    }
    std::vector<std::uint8_t> bytes;
    for (const Wide w : words) {
      for (int b = 0; b < 16; ++b) bytes.push_back(static_cast<std::uint8_t>(w >> (8 * b)));
    }
    for (const GaussianScan& scan : gaussian_scans()) {
      if (!scan.supported()) continue;
      std::vector<std::int64_t> out(words.size());
      scan.run(table, bytes, out);
      for (std::size_t i = 0; i < words.size(); ++i) {
        ASSERT_EQ(out[i], gaussian_from_word(table, words[i])) << scan.name << " " << i;
      }
    }
  }
}

TEST(Random, TableIsExact) {
  // 2^127 Pr[|x| <= k] for sigma = 3.19, recomputed with extended precision.
  const std::vector<Wide> table = gaussian_table(3.19);
  long double sum = 1, total = 1;
  for (int k = 1; k <= 60; ++k) total += 2 * std::exp(-0.5L * k * k / (3.19L * 3.19L));
  for (std::size_t k = 0; k < 20; ++k) {
    if (k > 0) sum += 2 * std::exp(-0.5L * k * k / (3.19L * 3.19L));
    EXPECT_NEAR(static_cast<double>(std::ldexp(static_cast<long double>(table[k]), -127)),
                static_cast<double>(sum / total), 1e-16);
  }
  EXPECT_TRUE(std::is_sorted(table.begin(), table.end()));
  // The tail that is cut off: exp(-k^2 / 2 sigma^2) at the table's end is around 2^-127.
  const double end = static_cast<double>(table.size());
  EXPECT_LT(-end * end / (2 * 3.19 * 3.19) / std::log(2.0), -124);
  EXPECT_EQ(gaussian_from_word(table, 0), 0);
  EXPECT_EQ(gaussian_from_word(table, ~Wide{0}), -static_cast<std::int64_t>(table.size()));
  EXPECT_EQ(gaussian_from_word(table, table[0] - 1), 0);
  EXPECT_EQ(gaussian_from_word(table, table[0]), 1);
}

TEST(Random, GaussianPlansHitSigma) {
  for (double sigma : {0.5, 3.19, 22.6, 22.63, 100.0, 12345.0, 1e9, 1e15, kMaxSigma}) {
    const Convolution plan = plan_convolution(sigma);
    double reached = plan.base_sigma;
    for (const std::int64_t c : plan.factors) {
      EXPECT_LE(c, reached / (std::sqrt(2.0) * 1.8)) << sigma;
      reached *= std::sqrt(1.0 + static_cast<double>(c) * static_cast<double>(c));
    }
    EXPECT_NEAR(reached / sigma, 1.0, 1e-12);
    EXPECT_LE(plan.base_sigma, kMaxTableSigma);
  }
  EXPECT_THROW(plan_convolution(0.1), ParameterError);
  EXPECT_THROW(plan_convolution(2 * kMaxSigma), ParameterError);
  EXPECT_THROW(plan_convolution(std::nan("")), ParameterError);
}

}  // namespace
}  // namespace latticino::rlwe
