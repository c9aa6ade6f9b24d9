// What compute-sanitizer runs (./latticino test --sanitize): every kernel that ships, at N = 2^16
// and at every other degree, with few limbs, so that its slowdown of some hundred times can be
// borne. That none is left out is checked against the kernels that this program contains.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <tuple>

#include "backend/cuda/device/view.h"
#include "backend/cuda/ntt/forms.h"
#include "backend/cuda/rotate/forms.h"
#include "conformance/conformance.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using conformance::Options;
using conformance::Report;
using test::range;
using test::Words;

constexpr int kSmallestDegree = 10, kLargestDegree = 17, kLargestTfheDegree = 13;
// Forms of a blind rotation that one shape can have: exact ones gathered, spread over 1, 2, 4 and
// 8 blocks, and by steps.
constexpr int kRotations = 6;
// Limit of variants of a kernel here; with one more, the test would report that a kernel was left
// out.
constexpr int kVariants = 12;

// Two primes per level, two auxiliaries: up to five digits.
std::shared_ptr<const Params> few_limbs(int log_n) {
  ParamsLiteral x;
  x.name = "sanitize-insecure";
  x.security = ParamsLiteral::Security::Insecure;
  x.log_n = log_n;
  x.mains = test::ntt_primes(log_n, 10, 1u << 30);
  x.aux = test::ntt_primes(log_n, 2);
  x.levels = {{2, 0}, {4, 0}, {6, 0}, {8, 0}, {10, 0}};
  x.alpha = 2;
  x.log_scale = 60;
  return Params::check(std::move(x));
}

// Level 0 is the free terminals t5, t3, t1 and a main prime: every second prime of the ring, in
// four runs, where most sets have three at most.
std::shared_ptr<const Params> free_terminals(int log_n) {
  const Words primes = test::ntt_primes(log_n, 8, 1u << 30);
  ParamsLiteral x;
  x.name = "sanitize-free-insecure";
  x.security = ParamsLiteral::Security::Insecure;
  x.log_n = log_n;
  x.terminals.assign(primes.begin(), primes.begin() + 6);
  x.mains.assign(primes.begin() + 6, primes.end());
  x.aux = test::ntt_primes(log_n, 2);
  x.levels = {{1, 3, 0, 0b101010, 0}, {1, 5, 0, 0b101111, 0}, {2, 6, 0, 0, 0}};
  x.alpha = 2;
  x.log_scale = 60;
  return Params::check(std::move(x));
}

Options once() {
  Options options;
  options.adversarial = false;
  options.exact = false;
  options.replays = 0;
  return options;
}

// Mangled names of the kernels in this program: nvcc makes a function __device_stub_NAME for each,
// and the length of its name stands before it in the symbol table.
std::set<std::string> kernels_of_this_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const std::string stub = "__device_stub_";
  std::set<std::string> names;
  for (std::size_t at = bytes.find(stub); at != std::string::npos; at = bytes.find(stub, at + 1)) {
    std::size_t digits = at;
    while (digits > 0 && '0' <= bytes[digits - 1] && bytes[digits - 1] <= '9') --digits;
    const std::string length = bytes.substr(digits, std::min<std::size_t>(at - digits, 6));
    if (length.empty()) continue;
    names.insert(bytes.substr(at + stub.size(), std::stoul(length) - stub.size()));
  }
  return names;
}

TEST(Sanitize, ParametersOfFewLimbsExist) {
  EXPECT_EQ(few_limbs(16)->dnum(), 5);
  for (int log_n = kSmallestDegree; log_n <= kLargestDegree; ++log_n) {
    EXPECT_GT(free_terminals(log_n)->basis(0).runs(), cuda::kViewSegments) << log_n;
  }
  EXPECT_EQ(kernels_of_this_program().empty(), !cuda_built());
}

class CudaSanitize : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: no kernel was run";
  }

  // `variant`: that of each kernel that has several; -1: the kernel's own choice.
  std::unique_ptr<Backend> device(int variant, const Features& features = {},
                                  std::size_t shared_limit = 0) const {
    auto tuning = std::make_shared<Tuning>();
    tuning->force(variant);
    return make_cuda_backend({.tuning = tuning,
                              .features = left_out(features),
                              .launched = launched_,
                              .shared_limit = shared_limit});
  }
  // None if nothing is left out: scratch is cleared only then.
  static std::shared_ptr<const Features> left_out(const Features& features) {
    if (features == Features()) return nullptr;
    return std::make_shared<const Features>(features);
  }
  static std::unique_ptr<Backend> oracle() {
    return make_cpu_backend({.simd = true, .threads = 0});
  }

  void expect_records(int log_n, int variant, int levels = 0) {
    const auto on_device = [&] { return device(variant); };
    Options options = once();
    options.levels = levels;
    const Report report = conformance::run(few_limbs(log_n), oracle, on_device, options);
    EXPECT_TRUE(report.passed()) << report.str();
  }

  // Decoding of polynomials with more segments than other kernels take.
  void expect_projections(int log_n) {
    const std::shared_ptr<const Params> params = free_terminals(log_n);
    Options options = once();
    options.record = "Project";
    options.parts = params->top_level() + 1;  // level 0 only
    const Report report = conformance::run(
        params, oracle, [&] { return device(-1); }, options);
    EXPECT_TRUE(report.passed()) << report.str();
    const auto wide = [](const std::string& kernel) {
      return kernel.find("project_") != std::string::npos &&
             kernel.find("ViewOfILi" + std::to_string(Basis::kMaxRuns)) != std::string::npos;
    };
    // More than 2^11 slots have columns as well.
    EXPECT_GE(std::ranges::count_if(*launched_, wide), log_n > 12 ? 3 : 2) << log_n;
  }

  // The records of TFHE in small rings: in one block, step by step and spread over blocks.
  void expect_tfhe(int log_n, int variant) {
    const Words primes = test::ntt_primes(log_n, 2, variant < 0 ? 1u << 31 : 1u << 30);
    Options options = once();
    if (variant >= 0) options.record = "BlindRotate";  // transforms have their own tests
    const Report report = conformance::run(
        log_n, primes, oracle, [&] { return device(variant); }, options);
    EXPECT_TRUE(report.passed()) << report.str();
  }

  // Transforms in one form, and in rotations by steps, which have arrays of them.
  void expect_transforms(int log_n, int form, const Features& features = {}) {
    const auto on_device = [&] {
      auto tuning = std::make_shared<Tuning>();
      tuning->force(TunedKernel::Transform, form);
      tuning->force(TunedKernel::BlindRotate, cuda::kStepForm);
      return make_cuda_backend(
          {.tuning = tuning, .features = left_out(features), .launched = launched_});
    };
    for (const char* record : {"Transform", "BlindRotate"}) {
      if (record == std::string("BlindRotate") && log_n > kLargestTfheDegree) continue;
      Options options = once();
      options.record = record;
      options.without = "FP64";  // this degree has no such transforms
      const Report report =
          conformance::run(log_n, test::ntt_primes(log_n, 2, 1u << 30), oracle, on_device, options);
      EXPECT_TRUE(report.passed()) << report.str();
    }
  }

  // Conversions of each size that has a kernel of its own, at the fewest limbs that choose it.
  // Twelve targets: two batches of a tile, or three parts, so that no tile has more than kVariants.
  void expect_conversions(int log_n, int variant, const Features& features = {},
                          std::size_t shared_limit = 0) {
    constexpr int kTargets = 12, kMax = 17;
    Queue queue[2] = {Queue(oracle()), Queue(device(variant, features, shared_limit))};
    const Words primes = test::ntt_primes(log_n, kMax + kTargets, 1u << 30);
    const Ring ring[2] = {Ring(log_n, primes), Ring(log_n, primes)};
    std::mt19937_64 random(1);
    for (const int sources : {1, 2, 3, 4, 5, 9, 13, kMax}) {
      const Basis from = range(0, sources), to = range(kMax, kMax + kTargets);
      const Words in = test::random_words(ring[0], from, random);
      Words out[2];
      for (int s = 0; s < 2; ++s) {
        const BaseConversion table(ring[s], from, to);
        const Poly x = test::upload(queue[s], ring[s], from, Domain::Half, in);
        const Poly y = queue[s].allocate(ring[s], to, Domain::Half);
        queue[s].submit(Convert{{{&table, x.view, y.view}}});
        out[s] = test::download(queue[s], y.view);
      }
      EXPECT_TRUE(out[0] == out[1]) << sources << " sources, variant " << variant;
    }
  }

  // Sums of products with one, two or more outputs of one to three parts, whole factors and others.
  void expect_dots(int log_n) {
    Queue queue[2] = {Queue(oracle()), Queue(device(-1))};
    const Words primes = test::ntt_primes(log_n, 2);
    const Ring ring[2] = {Ring(log_n, primes), Ring(log_n, primes)};
    const Ring small[2] = {Ring(log_n - 2, primes), Ring(log_n - 2, primes)};
    const Basis basis = range(0, 2);
    std::mt19937_64 random(2);
    for (int parts = 1; parts <= 3; ++parts) {
      for (const int outputs : {1, 2, 4}) {
        const Words in = test::random_words(ring[0], basis, random);
        const Words repeating = test::random_words(small[0], basis, random);
        Words out[2];
        for (int s = 0; s < 2; ++s) {
          const Poly x = test::upload(queue[s], ring[s], basis, Domain::Eval, in);
          const Poly f = test::upload(queue[s], small[s], basis, Domain::Eval, repeating);
          std::vector<Poly> memory;
          Dot dot;
          dot.parts = parts;
          dot.inputs.push_back({x.view, x.view, x.view});
          dot.inputs.push_back(dot.inputs[0]);
          for (int o = 0; o < outputs; ++o) {
            Dot::Output& output = dot.outputs.emplace_back();
            output.terms = {{0, x.view}, {1, x.view}, {0, f.view}};
            for (int p = 0; p < parts; ++p) {
              memory.push_back(queue[s].allocate(ring[s], basis, Domain::Eval));
              output.out[p] = memory.back().view;
            }
          }
          queue[s].submit(std::move(dot));
          for (const Poly& p : memory) {
            const Words words = test::download(queue[s], p.view);
            out[s].insert(out[s].end(), words.begin(), words.end());
          }
        }
        EXPECT_TRUE(out[0] == out[1]) << parts << " parts, " << outputs << " outputs";
      }
    }
  }

  void expect_degree(int log_n) {
    expect_records(log_n, -1);
    expect_conversions(log_n, -1);
    expect_projections(log_n);
    if (log_n - 2 >= kSmallestDegree) expect_dots(log_n);
  }
  void expect_variant(int variant) {
    // The first two variants run at every level, because key_inner has two for each number of
    // digits.
    expect_records(16, variant, variant < 2 ? 0 : 2);
    expect_conversions(16, variant);
  }

  // Two limbs up and down, as they are and turned into the order of the device.
  void expect_transfers(int log_n) {
    Queue queue(device(-1));
    const Ring ring(log_n, test::ntt_primes(log_n, 2));
    std::mt19937_64 random(3);
    for (const Domain domain : {Domain::Coeff, Domain::Half, Domain::Eval}) {
      const Words in = test::random_words(ring, range(0, 2), random);
      const Poly x = test::upload(queue, ring, range(0, 2), domain, in);
      EXPECT_TRUE(test::download(queue, x.view) == in) << name(domain);
    }
    const auto turns = [](const std::string& kernel) {
      return kernel.find("reorder") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::count_if(*launched_, turns), 2) << "up and down";
  }

  std::shared_ptr<std::set<std::string>> launched_ = std::make_shared<std::set<std::string>>();
};

// For memcheck. The tests below are its parts, which can run side by side, and for racecheck, which
// would ask for more memory than a host has.
TEST_F(CudaSanitize, EveryKernelThatShips) {
  for (int log_n = kSmallestDegree; log_n <= kLargestDegree; ++log_n) expect_degree(log_n);
  for (int variant = 0; variant < kVariants; ++variant) expect_variant(variant);
  for (const char* list : {"matrix", "matrix,lazy"}) {
    expect_conversions(12, -1, Features::without(list));
    expect_conversions(16, -1, Features::without(list));
  }
  for (const int log_n : {16, 17}) {  // as on sm_86, sm_89 and sm_120
    expect_conversions(log_n, -1, {}, 99 << 10);
  }
  for (int log_n = kSmallestDegree; log_n <= kLargestDegree; ++log_n) {
    for (int form = 0; form <= cuda::kKeptRows; ++form) expect_transforms(log_n, form);
    expect_transforms(log_n, 0, Features::without("twiddles"));
  }
  for (int log_n = kSmallestDegree; log_n <= kLargestTfheDegree; ++log_n) {
    for (int rotation = -1; rotation < kRotations; ++rotation) expect_tfhe(log_n, rotation);
  }
  for (const std::string& kernel : kernels_of_this_program()) {
    EXPECT_TRUE(launched_->contains(kernel)) << kernel << " ships and was not run";
  }
}

class CudaSanitizeDegree : public CudaSanitize, public testing::WithParamInterface<int> {};

TEST_P(CudaSanitizeDegree, Records) { expect_degree(GetParam()); }

class CudaSanitizeVariant : public CudaSanitize, public testing::WithParamInterface<int> {};

TEST_P(CudaSanitizeVariant, Records) { expect_variant(GetParam()); }

// One polynomial, and none of the records: racecheck keeps histories of these kernels that grow
// with every transfer, to over 50 GB in the tests of the degrees.
class CudaSanitizeTransfers : public CudaSanitize, public testing::WithParamInterface<int> {};

TEST_P(CudaSanitizeTransfers, UpAndDown) { expect_transfers(GetParam()); }

// Degree and variant.
class CudaSanitizeTfhe : public CudaSanitize,
                         public testing::WithParamInterface<std::tuple<int, int>> {};

TEST_P(CudaSanitizeTfhe, Records) {
  const auto [log_n, variant] = GetParam();
  expect_tfhe(log_n, variant);
}

// Degree and form.
class CudaSanitizeForms : public CudaSanitize,
                          public testing::WithParamInterface<std::tuple<int, int>> {};

TEST_P(CudaSanitizeForms, Transforms) {
  const auto [log_n, form] = GetParam();
  expect_transforms(log_n, form);
}

INSTANTIATE_TEST_SUITE_P(Degrees, CudaSanitizeForms,
                         testing::Combine(testing::Range(kSmallestDegree, kLargestDegree + 1),
                                          testing::Range(0, cuda::kKeptRows + 1)),
                         [](const auto& p) {
                           return "N" + std::to_string(std::get<0>(p.param)) + "Form" +
                                  std::to_string(std::get<1>(p.param));
                         });

INSTANTIATE_TEST_SUITE_P(Degrees, CudaSanitizeTfhe,
                         testing::Combine(testing::Range(kSmallestDegree, kLargestTfheDegree + 1),
                                          testing::Range(-1, kRotations)),
                         [](const auto& p) {
                           const int variant = std::get<1>(p.param);
                           const std::string name = "N" + std::to_string(std::get<0>(p.param));
                           return variant < 0 ? name : name + "Variant" + std::to_string(variant);
                         });

INSTANTIATE_TEST_SUITE_P(Degrees, CudaSanitizeTransfers, testing::Values(16, 17),
                         [](const auto& p) { return "N" + std::to_string(p.param); });

INSTANTIATE_TEST_SUITE_P(Degrees, CudaSanitizeDegree,
                         testing::Range(kSmallestDegree, kLargestDegree + 1),
                         [](const auto& p) { return "N" + std::to_string(p.param); });

INSTANTIATE_TEST_SUITE_P(Kernels, CudaSanitizeVariant, testing::Range(0, kVariants));

}  // namespace
}  // namespace latticino
