// The arithmetic that contexts choose. A choice by number of ciphertexts changes no word.
#include "tfhe/arithmetic/rule.h"

#include <gtest/gtest.h>

#include "backend/rotation_times.h"
#include "math/errors.h"
#include "support/tfhe_support.h"

namespace latticino::tfhe {
namespace {

constexpr auto kExact = BlindRotateArithmetic::Exact, kFft64 = BlindRotateArithmetic::Fft64;
using Ranges = std::vector<ArithmeticRule::Range>;
using Messages = std::vector<std::uint32_t>;

ArithmeticRule on_an_h200(const char* set) {
  return faster_arithmetic(*tfhe_preset(set), shipped_rotation_times(90), cuda_rates());
}

TEST(ArithmeticRule, TellsTheArithmeticOfEachNumber) {
  const ArithmeticRule one = kFft64;
  EXPECT_EQ(one.of(1), kFft64);
  EXPECT_STREQ(one.name(), "fft64");
  EXPECT_EQ(one.text(), "fft64");
  EXPECT_FALSE(one.can_use(kExact));
  const ArithmeticRule both(Ranges{{1, kFft64}, {10, kExact}, {200, kFft64}});
  for (const auto& [count, arithmetic] : {std::pair{0u, kFft64},
                                          {1u, kFft64},
                                          {9u, kFft64},
                                          {10u, kExact},
                                          {199u, kExact},
                                          {200u, kFft64},
                                          {~0u, kFft64}}) {
    EXPECT_EQ(both.of(count), arithmetic) << count;
  }
  EXPECT_STREQ(both.name(), "auto");
  EXPECT_EQ(both.text(), "fft64 to 9 at once, exact to 199, fft64 from 200");
  EXPECT_TRUE(both.can_use(kExact) && both.can_use(kFft64));
  EXPECT_THROW(ArithmeticRule(Ranges{}), ParameterError);
  EXPECT_THROW(ArithmeticRule(Ranges{{2, kExact}}), ParameterError);
  EXPECT_THROW(ArithmeticRule(Ranges{{1, kExact}, {1, kFft64}}), ParameterError);
  EXPECT_THROW(ArithmeticRule(Ranges{{1, kExact}, {5, kExact}}), ParameterError);
}

// The records that the shipped table is from: bench/rotation_times.py.
TEST(ArithmeticRule, FollowsTheTimesOfAnH200) {
  for (const char* set : {"chameleon-500-legacy", "chameleon-592-legacy"}) {
    const ArithmeticRule rule = on_an_h200(set);
    for (const std::uint32_t few : {1u, 8u, 100u}) EXPECT_EQ(rule.of(few), kExact) << set << few;
    for (const std::uint32_t many : {200u, 1056u, 100'000u})
      EXPECT_EQ(rule.of(many), kFft64) << set << many;
  }
  const ArithmeticRule gates = on_an_h200("tfhe-gates-v1");
  EXPECT_EQ(gates.of(1), kExact);
  EXPECT_EQ(gates.of(132), kExact);
  EXPECT_EQ(gates.of(4096), kFft64);
  const ArithmeticRule legacy = on_an_h200("chameleon-630-legacy");
  EXPECT_EQ(legacy.of(1), kFft64);
  EXPECT_EQ(legacy.of(66), kExact);
  EXPECT_EQ(legacy.of(1056), kFft64);
}

TEST(ArithmeticRule, IsOneForAllNumbersOverTwoPrimes) {
  for (const char* set :
       {"tfhe-2-2-v1", "tfhe-2-2-v2", "tfhe-gates-v2", "tfhe-2-2-group3-fft64-v1"}) {
    EXPECT_EQ(on_an_h200(set), ArithmeticRule(kFft64)) << set;
  }
  EXPECT_EQ(on_an_h200("tfhe-2-2-group3-v1"),
            ArithmeticRule(kExact));  // its error would be too large
  const auto params = tfhe_preset("tfhe-2-2-v1");
  RotationTime slow = rotation_shape(*params);
  slow.count = 1, slow.exact_us = 100, slow.fourier_us = 300;
  EXPECT_EQ(faster_arithmetic(*params, {&slow, 1}, cuda_rates()), ArithmeticRule(kExact));
  const ArithmeticRule both(Ranges{{1, kExact}, {2, kFft64}});
  EXPECT_THROW(Context::create_dry(params, both), ParameterError);
}

TEST(ArithmeticRule, IsPredictedWhereNothingWasMeasured) {
  for (const char* set : {"tfhe-gates-v1", "tfhe-gates-v2", "chameleon-592-legacy"}) {
    const auto kept = tfhe_preset(set);
    const TfheParams& params = *kept;
    for (const char* kernels : {"avx512", "avx2"}) {
      EXPECT_EQ(faster_arithmetic(params, {}, cpu_rates(kernels)), ArithmeticRule(kFft64)) << set;
    }
    EXPECT_EQ(faster_arithmetic(params, {}, cpu_rates("reference")), ArithmeticRule(kExact)) << set;
  }
  RotationTime half = rotation_shape(*tfhe_preset("chameleon-592-legacy"));
  half.count = 1, half.fourier_us = 1;  // times of one arithmetic alone decide nothing
  EXPECT_EQ(faster_arithmetic(*tfhe_preset("chameleon-592-legacy"), {&half, 1}, cuda_rates()).of(1),
            kExact);
}

TEST(ArithmeticRule, ChangesNoWordOverOnePrime) {
  const auto params = tfhe_preset("test-tfhe-gates-insecure");
  const ArithmeticRule both(Ranges{{1, kExact}, {3, kFft64}});
  test::TfheWorld exact(params, true, 1, kExact), fft64(params, true, 1, kFft64),
      w(params, true, 1, both);
  EXPECT_TRUE(w.context->in_fourier());
  const auto words = [](test::TfheWorld& of, const Messages& m) {
    const Ciphertext x = of.encrypt(m, Encoding::Boolean), y = of.evaluator.gate(Gate::Nand, x, x);
    of.context->queue().synchronize();
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < y.size(); ++i) {
      const std::uint32_t* first = y.view.ciphertext(i);
      out.insert(out.end(), first, first + y.view.dimension + 1);
    }
    return out;
  };
  for (const Messages& m : {Messages{1, 0}, Messages{1, 0, 1, 1, 0}}) {
    const auto have = words(w, m);
    EXPECT_EQ(have, words(exact, m)) << m.size();
    EXPECT_EQ(have, words(fft64, m)) << m.size();
    EXPECT_EQ(w.keys->fourier != nullptr, m.size() >= 3);
  }
}

TEST(ArithmeticRule, IsKeptByRecordings) {
  const ArithmeticRule both(Ranges{{1, kExact}, {3, kFft64}});
  test::TfheWorld w(tfhe_preset("test-tfhe-gates-insecure"), true, 1, both);
  for (const Messages& m : {Messages{1, 0}, Messages{0, 1, 1}}) {
    const Ciphertext x = w.encrypt(m, Encoding::Boolean);
    Ciphertext y;
    Program program = w.context->queue().record([&] { y = w.evaluator.gate(Gate::Nand, x, x); });
    for (int run = 0; run < 2; ++run) {
      program.run();
      Messages want;
      for (const std::uint32_t bit : m) want.push_back(1 - bit);
      EXPECT_EQ(w.decrypt(y), want);
    }
  }
}

// The arithmetic that a plan counts is the one that runs, and a recording keeps it.
TEST(ArithmeticRule, DecidesByAllThatRotateAtOnce) {
  const ArithmeticRule both(Ranges{{1, kExact}, {3, kFft64}});
  for (const std::uint32_t count : {2u, 3u}) {
    const auto context = Context::create_dry(tfhe_preset("tfhe-gates-v1"), both);
    const Evaluator e(context, allocate_used_server_keys(*context));
    const Ciphertext x = e.clear(Messages(count, 1), Encoding::Boolean);
    e.gate(Gate::And, x, x);
    const Effort effort = context->queue().report().effort_by_name.at("BlindRotate");
    EXPECT_EQ(effort.work > 0, count == 2);
    EXPECT_EQ(effort.fourier_work > 0, count == 3);
  }
}

}  // namespace
}  // namespace latticino::tfhe
