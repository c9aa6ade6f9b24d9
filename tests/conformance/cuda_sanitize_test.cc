// What compute-sanitizer runs (./latticino test --sanitize): every record at the largest degree
// that ships and at smaller ones, with few limbs, so that its slowdown of some hundred times can be
// borne.
#include <gtest/gtest.h>

#include "conformance/conformance.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using conformance::Options;
using conformance::Report;

constexpr int kLogN = 16;

// Two primes a level, two auxiliaries: three levels and three digits.
std::shared_ptr<const Params> few_limbs() {
  ParamsLiteral x;
  x.name = "sanitize-insecure";
  x.security = ParamsLiteral::Security::Insecure;
  x.log_n = kLogN;
  x.mains = test::ntt_primes(kLogN, 6, 1u << 30);
  x.aux = test::ntt_primes(kLogN, 2);
  x.levels = {{2, 0}, {4, 0}, {6, 0}};
  x.alpha = 2;
  x.log_scale = 60;
  return Params::check(std::move(x));
}

Options once() {
  Options options;
  options.adversarial = false;
  options.exact = false;
  return options;
}

TEST(Sanitize, ParametersOfFewLimbsExist) { EXPECT_EQ(few_limbs()->dnum(), 3); }

class CudaSanitize : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: no kernel was run";
  }
  static std::unique_ptr<Backend> oracle() {
    return make_cpu_backend({.simd = true, .threads = 0});
  }
  static std::unique_ptr<Backend> device() { return make_cuda_backend(); }
};

TEST_F(CudaSanitize, RecordsOfARing) {
  const Report report = conformance::run(kLogN, test::ntt_primes(kLogN, 3), oracle, device, once());
  EXPECT_TRUE(report.passed()) << report.str();
}

// Other lengths have other kernels.
TEST_F(CudaSanitize, RecordsOfSmallerRings) {
  for (int log_n = 10; log_n < kLogN; ++log_n) {
    const Report report =
        conformance::run(log_n, test::ntt_primes(log_n, 3), oracle, device, once());
    EXPECT_TRUE(report.passed()) << report.str();
  }
}

TEST_F(CudaSanitize, RecordsOfEveryLevel) {
  const Report report = conformance::run(few_limbs(), oracle, device, once());
  EXPECT_TRUE(report.passed()) << report.str();
}

}  // namespace
}  // namespace latticino
