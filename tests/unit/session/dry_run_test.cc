// Key holders and dry runs, which clients, benchmarks and tests share.
#include "session/keys/dry_run.h"

#include <gtest/gtest.h>

#include "ckks/encoding/encoder.h"
#include "math/errors.h"
#include "session/keys/ckks_key_holder.h"

namespace latticino::session {
namespace {

constexpr const char* kSet = "test-n10-leveled-insecure";

std::shared_ptr<const ckks::Context> on_cpu() {
  return ckks::Context::create(preset(kSet), std::make_unique<Queue>(make_cpu_backend({true, 1})));
}

TEST(DryRun, CountsNothingThatRanBefore) {
  const auto context = ckks::Context::create_dry(preset(kSet));
  const auto square = [&](const DryRun& run) {
    const ckks::Ciphertext x = shape_only(context, 2, context->params().scale(2), 8);
    run.evaluator().multiply(x, x);
    // Its transform has an effort beyond its bytes.
    ckks::encode(context, std::vector<ckks::Complex>(8), 2, x.scale);
  };
  const DryRun first(context);
  square(first);
  const DryReport one = first.report();
  const DryRun second(context);
  EXPECT_TRUE(second.request().empty());
  square(second);
  const DryReport again = second.report();
  EXPECT_EQ(again.bytes_moved, one.bytes_moved);
  EXPECT_EQ(again.operations, one.operations);
  EXPECT_EQ(again.operations_by_name, one.operations_by_name);
  EXPECT_EQ(again.bytes_by_name, one.bytes_by_name);
  double work = 0;
  for (const auto& [name, effort] : one.effort_by_name) {
    EXPECT_EQ(again.effort_by_name.at(name).items, effort.items) << name;
    EXPECT_EQ(again.effort_by_name.at(name).work, effort.work) << name;
    work += effort.work;
  }
  EXPECT_GT(work, 0);
  EXPECT_EQ(second.request(), first.request());
  EXPECT_GT(second.key_bytes(), 0u);
}

TEST(DryRun, NeedsAContextWithoutData) {
  const auto context = on_cpu();
  EXPECT_THROW(DryRun{context}, ContextError);
  EXPECT_THROW(shape_only(context, 1, 0x1p30, 8), ContextError);
  EXPECT_THROW(shape_of(context, {}), ContextError);
}

TEST(KeyHolder, MakesExactlyTheKeysOfADryRun) {
  CkksKeyHolder own(on_cpu(), rlwe::Random::insecure_from_seed({1}));
  const std::vector<ckks::Complex> z(8, {0.5, -0.25});
  const ckks::Ciphertext x = own.encrypt(z, 2, own.context->params().scale(2));
  const DryRun dry(ckks::Context::create_dry(preset(kSet)));
  dry.evaluator().rotate(shape_of(dry.context(), x), 1);
  const auto keys = own.keys(dry.request());
  EXPECT_EQ(keys->bytes(), dry.key_bytes());
  const ckks::Ciphertext y = ckks::Evaluator(own.context, keys).rotate(x, 1);
  for (const ckks::Complex& v : own.decrypt(y)) EXPECT_LT(std::abs(v - z[0]), 1e-4);
}

TEST(KeyHolder, RepeatsWithASeedAlone) {
  const std::vector<ckks::Complex> z(8, 1);
  const auto made = [&](rlwe::Random random) {
    CkksKeyHolder own(on_cpu(), std::move(random));
    return own.coefficients(own.encrypt(z, 0, 0x1p20));
  };
  const auto seeded = [](std::uint8_t x) { return rlwe::Random::insecure_from_seed({x}); };
  EXPECT_EQ(made(seeded(1)), made(seeded(1)));
  EXPECT_NE(made(seeded(1)), made(seeded(2)));
  EXPECT_NE(made({}), made({}));
}

TEST(KeyHolder, RefusesObjectsOfOthers) {
  const CkksKeyHolder own(on_cpu()), other(own.context);
  EXPECT_NO_THROW(own.require_own(own.secret.id(), "decrypt"));
  EXPECT_THROW(own.require_own(other.secret.id(), "decrypt"), KeyError);
}

}  // namespace
}  // namespace latticino::session
