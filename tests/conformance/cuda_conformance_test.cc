#include <gtest/gtest.h>

#include <deque>

#include "conformance/conformance.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using conformance::Options;
using conformance::Report;

constexpr int kManyDigits = 40;

// A key switch of many digits, one prime each.
std::shared_ptr<const Params> many_digits(int log_n) {
  ParamsLiteral x;
  x.name = "many-digits-insecure";
  x.security = ParamsLiteral::Security::Insecure;
  x.log_n = log_n;
  x.mains = test::ntt_primes(log_n, kManyDigits, 1u << 30);
  x.aux = test::ntt_primes(log_n, 1);
  x.levels = {{kManyDigits, 0}};
  x.alpha = 1;
  x.log_scale = 60;
  return Params::check(std::move(x));
}

TEST(ManyDigits, AreDigitsOfOnePrime) {
  for (const int log_n : {10, 12}) {
    EXPECT_EQ(many_digits(log_n)->digit_groups(0).size(), std::size_t{kManyDigits});
  }
}

class CudaConformance : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_built()) GTEST_SKIP() << "built without CUDA: cpu against cuda was not compared";
    if (cuda_device_count() == 0)
      GTEST_SKIP() << "no CUDA device: cpu against cuda was not compared";
  }
  void expect_passed(const Report& report) { EXPECT_TRUE(report.passed()) << report.str(); }

  conformance::Factory oracle_ = [] { return make_cpu_backend({true, 0}); };
  conformance::Factory device_ = [] { return make_cuda_backend(); };
};

TEST_F(CudaConformance, EveryLevelOfSmallPresets) {
  for (const std::string& name : preset_names()) {
    if (name.find("-insecure") == std::string::npos) continue;
    expect_passed(conformance::run(preset(name), oracle_, device_));
  }
}

TEST_F(CudaConformance, EveryDegreeAndPattern) {
  Options options;
  options.thorough = true;
  for (int log_n = 10; log_n <= 17; ++log_n) {
    options.exact = log_n < 14;
    expect_passed(conformance::run(log_n, test::ntt_primes(log_n, 3), oracle_, device_, options));
  }
}

TEST_F(CudaConformance, SampledLevelsOfABootstrappingSet) {
  Options options;
  options.levels = 3;
  expect_passed(conformance::run(preset("n16-d40-boot-v1"), oracle_, device_, options));
  options.levels = 8;  // 20 and 24 among them, which are in bands
  expect_passed(conformance::run(preset("n16-d40-boot-v2"), oracle_, device_, options));
}

// More digits than a launch takes: the limit is 32, and 19 at N = 2^12 if a block has 48 KB.
TEST_F(CudaConformance, KeySwitchesOfManyDigits) {
  Options options;
  options.record = "KeyInner";
  expect_passed(conformance::run(many_digits(10), oracle_, device_, options));
  const auto small = [] { return make_cuda_backend({.shared_limit = 48 << 10}); };
  expect_passed(conformance::run(many_digits(12), oracle_, small, options));
}

// A launch is shaped by the item with most sources; those with fewer, whose view lacks the first
// prime of the ring, must read none that they do not have.
TEST_F(CudaConformance, ConversionsOfSeveralSizesShareALaunch) {
  constexpr int kLogN = 16, kTargets = 13;
  for (const int most : {2, 3, 4, 7, 12}) {
    const test::Words primes = test::ntt_primes(kLogN, most + kTargets, 1u << 30);
    std::vector<test::Words> results;
    for (const auto& make : {oracle_, device_}) {
      Queue queue(make());
      const Ring ring(kLogN, primes);
      std::mt19937_64 random(4);
      std::deque<BaseConversion> tables;
      std::vector<Poly> in, out;
      Convert convert;
      for (int first = most - 1; first >= 0; --first) {
        const Basis from = test::range(first, most);
        const auto& table =
            tables.emplace_back(ring, from, test::range(most, most + kTargets - first));
        in.push_back(
            test::upload(queue, ring, from, Domain::Half, test::random_words(ring, from, random)));
        out.push_back(queue.allocate(ring, table.to(), Domain::Half));
        convert.items.push_back({&table, in.back().view, out.back().view});
      }
      queue.submit(std::move(convert));
      test::Words& result = results.emplace_back();
      for (const Poly& p : out) {
        const test::Words words = test::download(queue, p.view);
        result.insert(result.end(), words.begin(), words.end());
      }
    }
    EXPECT_TRUE(results[0] == results[1]) << most << " sources at most";
  }
}

// A kernel's limit of shared memory is shared by the process: a backend with a smaller tile must
// not lower it for another backend.
TEST_F(CudaConformance, BackendsShareTheLimitsOfKernels) {
  constexpr int kLogN = 16, kSources = 12, kMax = 36;
  const test::Words primes = test::ntt_primes(kLogN, kSources + kMax);
  std::mt19937_64 random(3);
  const test::Words words =
      test::random_words(Ring(kLogN, primes), test::range(0, kSources), random);
  for (int variant = 0; variant < 4; ++variant) {
    std::vector<std::unique_ptr<Queue>> queues;
    std::vector<std::unique_ptr<Ring>> rings;
    for (int i = 0; i < 2; ++i) {
      auto tuning = std::make_shared<Tuning>();
      tuning->force(variant);
      queues.push_back(std::make_unique<Queue>(make_cuda_backend({.tuning = tuning})));
      rings.push_back(std::make_unique<Ring>(kLogN, primes));
    }
    const auto convert = [&](int i, int targets) {
      const BaseConversion table(*rings[i], test::range(0, kSources),
                                 test::range(kSources, kSources + targets));
      const Poly x = test::upload(*queues[i], *rings[i], table.from(), Domain::Half, words);
      const Poly y = queues[i]->allocate(*rings[i], table.to(), Domain::Half);
      queues[i]->submit(Convert{{{&table, x.view, y.view}}});
      return test::download(*queues[i], y.view);
    };
    const test::Words before = convert(0, kMax);
    convert(1, kMax / 2);
    EXPECT_TRUE(convert(0, kMax) == before) << "variant " << variant;
  }
}

}  // namespace
}  // namespace latticino
