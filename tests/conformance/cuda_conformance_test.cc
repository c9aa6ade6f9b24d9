#include <gtest/gtest.h>

#include "conformance/conformance.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using conformance::Options;
using conformance::Report;

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
}

}  // namespace
}  // namespace latticino
