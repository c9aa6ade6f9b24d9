// Every form of a transform (backend/cuda/ntt/forms.h) against the CPU: records of all
// shapes, more polynomials than a launch has items, and the arrays of rotations by steps.
#include "backend/cuda/ntt/forms.h"

#include "backend/cuda/rotate/forms.h"
#include "conformance/conformance.h"
#include "cuda_twins.h"

namespace latticino {
namespace {

constexpr int kLargestTfheDegree = 13;

// Runs each form in turn. If a shape cannot take a form, the kernel's own choice runs.
class CudaTransforms : public CudaTwins {
 protected:
  template <class Body>
  static void each_form(const Body& body) {
    for (int form = cuda::kTwoLaunches; form <= cuda::kKeptRows; ++form) {
      SCOPED_TRACE("form " + std::to_string(form));
      auto tuning = std::make_shared<Tuning>();
      tuning->force(TunedKernel::Transform, form);
      body(tuning);
    }
  }
  static void expect_record(const std::string& record, const Words& primes,
                            const std::shared_ptr<Tuning>& tuning) {
    conformance::Options options;
    options.record = record;
    options.without = "FP64";  // this degree has no such transforms
    options.exact = false;
    options.thorough = true;
    const auto report = conformance::run(
        GetParam(), primes,
        [] {
          return make_cpu_backend({true, 0});
        },
        [&] { return make_cuda_backend({.tuning = tuning}); }, options);
    EXPECT_TRUE(report.passed()) << report.str();
  }
};

TEST_P(CudaTransforms, EveryFormOfEveryRecord) {
  each_form([](const auto& tuning) {
    expect_record("Transform", test::ntt_primes(GetParam(), 3), tuning);
  });
}

TEST_P(CudaTransforms, MoreItemsThanALaunchTakes) {
  const int items = GetParam() < 14 ? 70 : 5;
  const Basis basis = range(0, 1).with(range(5, 6)).with(range(12, 13));
  each_form([&](const auto& tuning) {
    open(GetParam(), 14, tuning);
    std::vector<Twin> in, out;
    for (int i = 0; i < items; ++i) {
      const bool forward = i % 3 != 0;
      const Domain from = forward ? Domain::Coeff : Domain::Eval;
      in.push_back(i < 2 ? largest(basis, from) : random(basis, from));
      out.push_back(poisoned(basis, forward ? Domain::Eval : Domain::Coeff));
    }
    submit([&](int s) {
      Transform t;
      for (int i = 0; i < items; ++i) t.items.push_back({in[i].poly[s].view, out[i].poly[s].view});
      return t;
    });
    for (int i = 0; i < items; ++i) expect_equal(out[i], "item " + std::to_string(i));
  });
}

TEST_P(CudaTransforms, RotationsByStepsTransformArrays) {
  if (GetParam() > kLargestTfheDegree) GTEST_SKIP() << "no degree of TFHE";
  each_form([](const auto& tuning) {
    tuning->force(TunedKernel::BlindRotate, cuda::kStepForm);
    expect_record("BlindRotate", test::ntt_primes(GetParam(), 2, 1u << 30), tuning);
  });
}

INSTANTIATE_TEST_SUITE_P(Degrees, CudaTransforms, ::testing::Range(10, 18),
                         [](const auto& p) { return "N" + std::to_string(p.param); });

}  // namespace
}  // namespace latticino
