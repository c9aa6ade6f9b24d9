#include <gtest/gtest.h>

#include <cstdlib>

#include "conformance/conformance.h"
#include "math/errors.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using conformance::Factory;
using conformance::Options;
using conformance::Report;

const Factory kReference = [] { return make_cpu_backend({false, 0}); };
const Factory kDevice = [] { return make_cpu_backend({true, 0}); };

void expect_passed(const Report& report) { EXPECT_TRUE(report.passed()) << report.str(); }

class CpuConformance : public testing::TestWithParam<const char*> {};

TEST_P(CpuConformance, EveryLevel) {
  expect_passed(conformance::run(preset(GetParam()), kReference, kDevice));
}

INSTANTIATE_TEST_SUITE_P(
    SmallPresets, CpuConformance,
    testing::Values("test-n10-leveled-insecure", "test-n10-sr-insecure", "test-n10-dr-insecure",
                    "test-n10-boot-insecure", "test-n10-bands-insecure",
                    "test-n10-d35-boot-insecure", "test-n10-bitpacker-insecure",
                    "test-n10-d35-w30-boot-insecure", "test-n10-d34-w28-boot-insecure",
                    "test-n10-dr-boot-insecure", "test-n10-d36-w28-free-insecure",
                    "test-n10-d35-w28-free-boot-insecure", "test-n10-d48-w30-precise-insecure"));

TEST(CpuConformanceRings, EveryPatternOnExtremePrimes) {
  // The largest primes together with the smallest, at the smallest degree.
  test::Words primes = test::ntt_primes(10, 3);
  primes.push_back(12289);
  primes.push_back(test::ntt_primes(10, 1, 1u << 20)[0]);
  Options options;
  options.thorough = true;
  options.replays = 2;
  expect_passed(conformance::run(10, primes, kReference, kDevice, options));
}

TEST(CpuConformanceRings, RunsTheCasesThatOptionsName) {
  Options options;
  options.adversarial = options.exact = false;
  options.record = "BlindRotate";
  const auto rows = [&](const char* without) {
    options.without = without;
    const Report report =
        conformance::run(10, test::ntt_primes(10, 2), kReference, kDevice, options);
    expect_passed(report);
    std::size_t fourier = 0;
    for (const conformance::Row& row : report.rows) {
      EXPECT_EQ(row.record, "BlindRotate");
      fourier += row.name.find("FP64") != std::string::npos;
    }
    return std::pair(report.rows.size(), fourier);
  };
  const auto all = rows(""), exact = rows("FP64");
  EXPECT_GT(all.second, 0u);
  EXPECT_EQ(exact.second, 0u);
  EXPECT_EQ(exact.first + all.second, all.first);
}

TEST(CpuConformanceRings, LargerDegrees) {
  for (const int log_n : {11, 12, 13, 14}) {
    expect_passed(conformance::run(log_n, test::ntt_primes(log_n, 2), kReference, kDevice));
  }
  Options options;
  options.replays = 0;
  for (const int log_n : {15, 16, 17}) {
    expect_passed(
        conformance::run(log_n, test::ntt_primes(log_n, 1), kReference, kDevice, options));
  }
}

// Larger sets on random inputs, run once: levels of the other small set, both ends of sets of two
// degrees and prime systems, and the top of the default set, without the comparison with big
// integers.
TEST(CpuConformanceLarge, SampledLevels) {
  Options options;
  options.adversarial = false;
  options.replays = 0;
  options.levels = 3;
  expect_passed(conformance::run(preset("test-n12-boot-insecure"), kReference, kDevice, options));
  options.levels = 2;
  for (const char* name : {"n13-d40-leveled-v1", "n14-d35-w28-leveled-v1"}) {
    expect_passed(conformance::run(preset(name), kReference, kDevice, options));
  }
  options.levels = 1;
  options.exact = false;
  expect_passed(conformance::run(preset("n16-d40-boot-v1"), kReference, kDevice, options));
}

// The same and more: every level of the other small set, and both ends of sets of each degree and
// prime system.
TEST(CpuConformanceSystems, EverySystem) {
  if (std::getenv("LATTICINO_LARGE_SETS") == nullptr) {
    GTEST_SKIP() << "./latticino test --more conformance runs it (minutes)";
  }
  Options options;
  options.adversarial = false;
  options.replays = 0;
  expect_passed(conformance::run(preset("test-n12-boot-insecure"), kReference, kDevice, options));
  options.levels = 2;
  for (const char* name : {"n13-d40-leveled-v1", "n14-d35-w28-leveled-v1", "n15-d40-leveled-v1",
                           "n16-d40-boot-v1", "n16-d35-w28-boot-v1", "n16-d48-dr-boot-v1"}) {
    expect_passed(conformance::run(preset(name), kReference, kDevice, options));
  }
}

// Tests the suite itself: it must notice a backend with one wrong word.
class Faulty : public Backend {
 public:
  DeviceInfo info() const override { return inner_->info(); }
  void* allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(void* p, std::size_t bytes) noexcept override { inner_->release(p, bytes); }
  void clear(void* p, std::size_t bytes) override { inner_->clear(p, bytes); }
  void fill(void* p, std::size_t bytes, std::uint8_t v) override { inner_->fill(p, bytes, v); }
  MemoryUse memory() const override { return inner_->memory(); }
  void reset_memory_peak() override { inner_->reset_memory_peak(); }
  void trim() noexcept override { inner_->trim(); }
  void clear_unused() override { inner_->clear_unused(); }
  void copy_in(void* d, const void* h, std::size_t bytes) override { inner_->copy_in(d, h, bytes); }
  void copy_out(void* h, const void* d, std::size_t bytes) override {
    inner_->copy_out(h, d, bytes);
  }
  void upload(const PolyView& to, const std::uint32_t* host) override { inner_->upload(to, host); }
  void download(std::uint32_t* host, const PolyView& from) override {
    inner_->download(host, from);
  }
  void run(const Operation& op) override {
    inner_->run(op);
    if (const auto* automorphism = std::get_if<Automorphism>(&op)) {
      automorphism->items[0].out.data[automorphism->items[0].out.ring->n()] ^= 1;
    }
    if (const auto* copy = std::get_if<Copy>(&op)) {
      const PolyView& out = copy->items[0].out;
      // One past the end.
      out.data[(1 + out.limbs()) * static_cast<std::size_t>(out.ring->n())] = 0;
    }
  }
  void synchronize() override { inner_->synchronize(); }
  void begin_record() override { inner_->begin_record(); }
  std::unique_ptr<Replay> end_record() override { return inner_->end_record(); }
  void abandon_record() noexcept override { inner_->abandon_record(); }

 private:
  std::unique_ptr<Backend> inner_ = make_cpu_backend({false, 1});
};

TEST(ConformanceSuite, CatchesWrongWordsAndWritesOutside) {
  Options options;
  options.replays = 0;
  const Report report = conformance::run(
      10, test::ntt_primes(10, 2), kReference, [] { return std::make_unique<Faulty>(); }, options);
  EXPECT_FALSE(report.passed());
  for (const conformance::Row& row : report.rows) {
    const bool wrong = row.record == "Automorphism" || row.record == "Copy";
    EXPECT_EQ(row.passed(), !wrong || row.mode == "exact") << row.str();
    if (row.record == "Automorphism" && row.mode == "immediate") {
      EXPECT_EQ(row.mismatches, 1u);
    }
  }
}

}  // namespace
}  // namespace latticino
