// Every feature left out computes the same words: on the CPU against the plain reference, on CUDA
// against the CPU.
#include "backend/features.h"

#include <gtest/gtest.h>

#include "conformance/conformance.h"
#include "math/errors.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

// The features that the first steps of `bench ablation` leave out.
constexpr char kBaseline[] =
    "tiles,matrix,lazy,twiddles,inner,last_step,sums,overlap,graphs,tuning";

// Names of features that are left out together: each alone, then the baseline, then all.
std::vector<std::string> choices() {
  std::vector<std::string> lists = Features::names();
  std::string all;
  for (const std::string& name : Features::names()) all += (all.empty() ? "" : ",") + name;
  lists.insert(lists.end(), {kBaseline, all});
  return lists;
}

void expect_equal(const std::string& preset_name, const conformance::Factory& oracle,
                  const conformance::Factory& device, int levels) {
  conformance::Options options;
  options.levels = levels;
  options.exact = false;
  const auto report = conformance::run(preset(preset_name), oracle, device, options);
  EXPECT_TRUE(report.passed()) << report.str();
}

class LeftOut : public testing::TestWithParam<std::string> {};

TEST_P(LeftOut, OnTheCpu) {
  const auto oracle = [] { return make_cpu_backend({false, 0}); };
  const auto device = [] {
    return make_lowered_backend(make_cpu_backend({true, 0}),
                                std::make_shared<Features>(Features::without(GetParam())));
  };
  expect_equal("test-n10-boot-insecure", oracle, device, 4);
  conformance::Options options;
  options.exact = false;
  const auto report = conformance::run(10, test::ntt_primes(10, 3), oracle, device, options);
  EXPECT_TRUE(report.passed()) << report.str();
}

TEST_P(LeftOut, OnCuda) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const auto oracle = [] { return make_cpu_backend({true, 0}); };
  const auto device = [] {
    return make_cuda_backend(
        {.features = std::make_shared<const Features>(Features::without(GetParam()))});
  };
  expect_equal("test-n12-boot-insecure", oracle, device, 4);
  expect_equal("n16-d40-boot-v1", oracle, device, 2);
}

INSTANTIATE_TEST_SUITE_P(Features, LeftOut, testing::ValuesIn(choices()), [](const auto& info) {
  if (info.param.find(',') == std::string::npos) return info.param;
  return std::string(info.param == kBaseline ? "baseline" : "all");
});

// One backend, as `bench ablation` uses it: what is left out changes between its records.
TEST(Features, SharedOnesChangeBetweenRecords) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const auto features = std::make_shared<Features>();
  Queue queue(make_cuda_backend({.features = features}));
  const Ring ring(16, test::ntt_primes(16, 29, 1u << 30));
  std::mt19937_64 random(1);
  for (const int sources : {3, 12, 17}) {
    const Basis from = test::range(0, sources), to = test::range(17, 29);
    const BaseConversion table(ring, from, to);
    const Poly x =
        test::upload(queue, ring, from, Domain::Half, test::random_words(ring, from, random));
    const Poly y = queue.allocate(ring, to, Domain::Half);
    test::Words want;
    for (const char* left_out : {"", "matrix", "tiles", "overlap", "matrix,overlap"}) {
      *features = Features::without(left_out);
      queue.submit(Convert{{{&table, x.view, y.view}}});
      const test::Words have = test::download(queue, y.view);
      if (want.empty()) want = have;
      EXPECT_TRUE(have == want) << sources << " sources without " << left_out;
    }
  }
}

TEST(Features, UnknownNamesAreErrors) {
  EXPECT_EQ(Features::without(""), Features{});
  EXPECT_FALSE(Features::without("tiles,graphs").graphs);
  EXPECT_TRUE(Features::without("tiles,graphs").sums);
  EXPECT_FALSE(Features::without("matrix,overlap").matrix);
  EXPECT_FALSE(Features::without("matrix,overlap").overlap);
  EXPECT_THROW(Features::without("tiles,magic"), UnsupportedError);
}

}  // namespace
}  // namespace latticino
