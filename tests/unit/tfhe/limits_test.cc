// What the failure bounds of the default sets allow, in dry runs.
#include <gtest/gtest.h>

#include <cmath>

#include "math/errors.h"
#include "support/tfhe_support.h"
#include "tfhe/evaluator.h"

namespace latticino::tfhe {
namespace {

using test::every_message;
using Messages = std::vector<std::uint32_t>;

// A MUX returns a sum of two ciphertexts, and gates accept two of these.
void expect_chains(const char* set, BlindRotateArithmetic arithmetic, double too_much) {
  const auto context = Context::create_dry(tfhe_preset(set), arithmetic);
  const Evaluator e(context, allocate_server_keys(*context, {}));
  Ciphertext x = e.clear(Messages{1, 0, 1}, Encoding::Boolean), y = x;
  x.norm2 = y.norm2 = 1;
  y.buffer = nullptr;  // another one
  x = e.mux(x, y, x);
  y = e.mux(y, x, y);
  EXPECT_EQ(x.norm2, 2);
  EXPECT_EQ(e.gate(Gate::And, x, y).norm2, 1);
  EXPECT_EQ(e.mux(x, y, x).norm2, 2);
  x.norm2 = too_much;
  EXPECT_THROW(e.gate(Gate::And, x, y), LevelError);
  x.norm2 = 5;
  EXPECT_EQ(e.gate(Gate::And, x, x).norm2, 1) << "no sum of two";
}

TEST(TfheDefaultGates, NoiseOfChains) {
  for (const auto arithmetic : {BlindRotateArithmetic::Exact, BlindRotateArithmetic::Fft64}) {
    expect_chains("tfhe-gates-v1", arithmetic, 5);
    expect_chains("tfhe-gates-v2", arithmetic, 1e4);
  }
}

// Full messages are accepted, fresh ones and sums up to the norm that the set is made for.
TEST(TfheDefaultIntegers, WhatTheFailureBoundLetsThrough) {
  const auto context = Context::create_dry(tfhe_preset("tfhe-2-2-v1"));
  const Evaluator e(context, allocate_server_keys(*context, {}));
  const auto f = [](std::uint32_t v) { return v; };
  Ciphertext x = e.clear(Messages(2, 3), Encoding::Full);
  for (const double norm2 : {1.0, 25.0}) {
    x.norm2 = norm2;
    EXPECT_EQ(e.apply_full(x, make_table(context, f)).encoding, Encoding::Padded) << norm2;
    EXPECT_EQ(e.apply_full(x, make_table(context, f, Encoding::Full)).encoding, Encoding::Full);
  }
  EXPECT_EQ(context->queue().report().operations_by_name.at("BlindRotate"), 8u);
  x.norm2 = 400;
  EXPECT_THROW(e.apply_full(x, make_table(context, f)), LevelError);
}

// The failure probability of a dry run is the sum over its bootstrappings, each with its own noise.
// Here a norm is larger than the set's, so the sum is more than the set states for each of eight.
TEST(TfheDefaultIntegers, FailureOfAProgram) {
  const auto params = tfhe_preset("tfhe-2-2-v1");
  const auto context = Context::create_dry(params);
  const Evaluator e(context, allocate_server_keys(*context, {}));
  const Table id = make_table(context, [](auto v) { return v; });
  EXPECT_EQ(context->log_failure(), -HUGE_VAL);
  Ciphertext x = e.clear(Messages(4, 3), Encoding::Padded);
  const double distance = std::exp2(-6);
  double sum = 0;
  for (const double norm2 : {1.0, 34.0, 25.0}) {
    x.norm2 = norm2;
    e.apply(x, id);
    sum += 4 * std::exp2(log_failure(params->decision_variance(std::sqrt(norm2)), distance));
    EXPECT_NEAR(context->log_failure(), std::log2(sum), 1e-9);
  }
  EXPECT_GT(context->log_failure(), params->log_failure() + std::log2(8));
}

// Several tables over one rotation are accepted if as much of the message's room is free, up to the
// norm of any other table.
TEST(TfheDefaultIntegers, SeveralTablesWhereMessagesLeaveRoom) {
  for (const char* name :
       {"tfhe-2-2-v1", "tfhe-2-2-p64-v1", "tfhe-2-2-group3-v1", "tfhe-2-2-group3-fft64-v1"}) {
    for (const auto arithmetic : {BlindRotateArithmetic::Exact, BlindRotateArithmetic::Fft64}) {
      const auto params = tfhe_preset(name);
      const bool fft = arithmetic == BlindRotateArithmetic::Fft64;
      if (fft && !params->fourier_refusal().empty()) continue;
      const auto context = Context::create_dry(params, arithmetic);
      const Evaluator e(context, allocate_server_keys(*context, {}));
      for (int t = 0; t <= 3; ++t) {
        SCOPED_TRACE(std::string(name) + ", " + std::to_string(1 << t));
        const std::vector<Messages> values(std::size_t{1} << t, every_message(16u >> t)),
            fewer(std::size_t{2} << t, every_message(16u >> t));
        Ciphertext x = e.clear(Messages{(16u >> t) - 1}, Encoding::Padded);
        x.norm2 = 25;
        const Table table = make_table(context, values, Encoding::Padded);
        EXPECT_EQ(e.apply_many(x, table).size(), values.size());
        x.norm2 = 1;
        EXPECT_THROW(e.apply_many(x, make_table(context, fewer, Encoding::Padded)), LevelError);
      }
    }
  }
}

}  // namespace
}  // namespace latticino::tfhe
