// Predicted times against the records of bench/records: within a factor 2.
#include "runtime/rates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ckks/bootstrap/bootstrap.h"
#include "rlwe/evaluation_keys.h"

namespace latticino {
namespace {

// What `program` counts on a ciphertext of n16-d40-boot-v1 at `level`.
template <class Program>
DryReport counted(const std::shared_ptr<const ckks::Context>& context, int level, Program program) {
  const DryReport before = context->queue().report();
  const auto keys = std::make_shared<rlwe::KeyRecorder>(context->constants());
  const Params& params = context->params();
  ckks::Ciphertext x{context, {}, level, params.scale(0), params.max_slots(), keys->id()};
  for (int h = 0; h < 2; ++h) {
    x.parts.push_back(
        context->queue().allocate(context->ring(), params.basis(level), Domain::Eval));
  }
  program(ckks::Evaluator(context, keys), x);
  DryReport report = context->queue().report();
  for (const auto& [name, count] : before.operations_by_name) {
    report.operations_by_name[name] -= count;
    report.bytes_by_name[name] -= before.bytes_by_name.at(name);
  }
  return report;
}

void expect_near(const DryReport& report, double cpu, double cuda) {
  EXPECT_LT(std::abs(std::log2(predicted_seconds(report, cpu_rates()) / cpu)), 1);
  EXPECT_LT(std::abs(std::log2(predicted_seconds(report, cuda_rates()) / cuda)), 1);
}

TEST(Rates, PredictWhatWasMeasured) {
  const auto context = ckks::Context::create_dry(preset("n16-d40-boot-v1"));
  const int top = context->params().top_level();
  const auto rotate = [](const ckks::Evaluator& e, const ckks::Ciphertext& x) { e.rotate(x, 1); };
  expect_near(counted(context, top, rotate), 93.3e-3, 212e-6);
  int level = top;
  while (context->params().limbs(level) > 7) --level;
  expect_near(counted(context, level, rotate), 10.3e-3, 58e-6);
  const ckks::Bootstrapper bootstrapper(context);
  const DryReport boot = counted(
      context, 0, [&](const ckks::Evaluator& e, const auto& x) { bootstrapper.bootstrap(e, x); });
  expect_near(boot, 5.05, 11.5e-3);
  EXPECT_NEAR(predicted_seconds(boot, cpu_rates(), 2) / 2.53, 1, 0.5);
}

TEST(Rates, RefuseNothingThatRecordsCanBe) {
  for (const RateTable* table : {&cpu_rates(), &cuda_rates()}) {
    for (const char* name : {"Transform", "Convert", "KeyInner", "SubtractScale", "Linear",
                             "Tensor", "Dot", "Automorphism", "ModRaise", "FromIntegers", "Embed",
                             "Project", "ExpandUniform", "Copy"}) {
      EXPECT_GT(table->records.at(name).bytes_per_second, 0) << name;
    }
  }
}

}  // namespace
}  // namespace latticino
