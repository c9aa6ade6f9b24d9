// Comes first and alone: the public header must bring all it needs.
#include "latticino.h"

#include <gtest/gtest.h>

namespace latticino {
namespace {

TEST(PublicHeader, ReachesEveryPartOfTheInterface) {
  const auto context = ckks::Context::create_dry(preset("test-n10-leveled-insecure"));
  const ckks::Evaluator evaluator(context, nullptr);
  const auto second = tfhe::Context::create_dry(tfhe_preset("tfhe-gates-v2"));
  EXPECT_EQ(tfhe::Evaluator(second, nullptr).context(), second);
  io::MemorySink sink;
  io::save_params(sink, context->params());
  EXPECT_GT(sink.bytes().size(), 0u);
}

}  // namespace
}  // namespace latticino
