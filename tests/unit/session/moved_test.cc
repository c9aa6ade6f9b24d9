// Objects of the public headers after std::move, and options that look like a shape.
#include <gtest/gtest.h>

#include "latticino/latticino.h"
#include "unit/session/public_world.h"

namespace latticino {
namespace {

template <class Encrypting>
concept TakesNumbersForOptions = requires(const Encrypting& x, const Values& v) {
  x.encrypt(v, {10, 3});
};
template <class Encrypting>
concept TakesOneNumberForOptions = requires(const Encrypting& x, const Values& v) {
  x.encrypt(v, {10});
};
template <class Encrypting>
concept TakesNamedOptions = requires(const Encrypting& x, const Values& v) {
  x.encrypt(v, {.level = 2, .scale = 0x1p38});
  x.encrypt(v, {.range = Range{0, 1}});
  x.encrypt(v, {});
};

static_assert(!TakesNumbersForOptions<Client> && !TakesNumbersForOptions<Context>);
static_assert(!TakesOneNumberForOptions<Client> && !TakesOneNumberForOptions<Context>);
static_assert(TakesNamedOptions<Client> && TakesNamedOptions<Context>);

constexpr const char* kLeveled = "test-n10-leveled-insecure";

TEST(Moved, ArraysStayUsable) {
  PublicWorld world(kLeveled);
  const std::vector<double> numbers = {0.5, -0.25, 0.125};
  Array x = world.client.encrypt(numbers);
  const Array y = std::move(x);
  for (const Array& z : {x, y}) {  // NOLINT: moved from
    EXPECT_NEAR(world.client.decrypt_real(z + z)[1], -0.5, 1e-6);
    EXPECT_NEAR(world.client.decrypt_real(z * 3 - z)[2], 0.25, 1e-6);
    EXPECT_NEAR(world.client.decrypt_real(-z)[0], -0.5, 1e-6);
    EXPECT_EQ(z.size(), 3u);
    EXPECT_EQ(z.key_id(), world.client.key_id());
    EXPECT_EQ(z.context(), world.context);
    EXPECT_FALSE(to_bytes(z).empty());
  }
  Array assigned = y + 1;
  assigned = std::move(x);               // NOLINT
  EXPECT_EQ((x + assigned).size(), 3u);  // NOLINT
}

TEST(Moved, ContextsClientsKeysPlansAndProgramsStayUsable) {
  PublicWorld world(kLeveled);
  const auto square = [](const Array& a) { return a * a; };
  Context context = world.context;
  Client client = world.client;
  Plan needs = plan(context, square, Input({3}));
  ServerKeys keys = client.server_keys(needs);
  const Plan other_plan = std::move(needs);
  const ServerKeys other_keys = std::move(keys);
  const Context other_context = std::move(context);
  const Client other_client = std::move(client);
  EXPECT_EQ(needs.key_bytes(), other_plan.key_bytes());  // NOLINT: moved from, as all below
  EXPECT_EQ(keys.id(), other_keys.id());                 // NOLINT
  EXPECT_EQ(context.use(keys).device(), "cpu");          // NOLINT
  EXPECT_FALSE((needs | other_plan).keys().empty());     // NOLINT
  const Array x = client.encrypt({0.5, 0.25});           // NOLINT
  EXPECT_EQ(client.key_id(), other_client.key_id());     // NOLINT
  auto program = record(square, client.encrypt({0.5, 0.25}));
  const auto other_program = std::move(program);
  EXPECT_NEAR(client.decrypt_real(program(x))[1], 0.0625, 1e-6);  // NOLINT
  EXPECT_EQ(program.arena_bytes(), other_program.arena_bytes());  // NOLINT
  ParameterSet set = ParameterSet::preset(kLeveled);
  const ParameterSet other_set = std::move(set);
  EXPECT_EQ(set.hash(), other_set.hash());  // NOLINT
  Values values(std::vector<double>{1, 2, 3, 4}, {2, 2});
  const Values other_values = std::move(values);
  EXPECT_EQ(values.shape(), other_values.shape());                       // NOLINT
  EXPECT_EQ(client.encrypt(values, {.range = Range{1, 4}}).size(), 4u);  // NOLINT
}

TEST(Moved, ObjectsOfTfheStayUsable) {
  TfheContextOptions options;
  options.device = "cpu";
  options.on_warning = [](const Warning&) {};
  TfheContext context("test-tfhe-2-2-tiny-insecure", options);
  TfheClient client(context);
  TfheServerKeys keys = client.server_keys(true);
  const TfheServerKeys other_keys = std::move(keys);
  const TfheContext other_context = std::move(context);
  const TfheClient other_client = std::move(client);
  context.use(keys);  // NOLINT: moved from, as all below
  TfheArray x = client.encrypt(std::vector<std::uint64_t>{3, 1}, kU4);  // NOLINT
  TfheArray y = std::move(x);
  EXPECT_EQ(client.decrypt(x + y), (std::vector<std::uint64_t>{6, 2}));  // NOLINT
  EXPECT_EQ(client.decrypt(~x), client.decrypt(~y));                     // NOLINT
  EXPECT_EQ(x.size(), 2u);                                               // NOLINT
  auto program = record([](const TfheArray& a) { return a + 1; }, x);
  const auto other_program = std::move(program);
  EXPECT_EQ(client.decrypt(program(y)), (std::vector<std::uint64_t>{4, 2}));  // NOLINT
  EXPECT_EQ(other_context, context);                                          // NOLINT
  TfheOperand clear(std::vector<std::uint64_t>{1, 2});
  const TfheOperand other_clear = std::move(clear);
  EXPECT_THROW(x + clear, Error);  // NOLINT: no values are left
  EXPECT_EQ(client.decrypt(x + other_clear), (std::vector<std::uint64_t>{4, 3}));
}

TEST(Encryption, RefusesScalesBelowTheErrorOfAnEncryption) {
  PublicWorld world(kLeveled);
  const Values v = std::vector<double>(10, 0.5);
  for (const double scale : {1.0, 3.0, 8.0}) {
    EXPECT_THROW(world.client.encrypt(v, {.scale = scale}), ScaleError) << scale;
  }
  const Array coarse = world.client.encrypt(v, {.scale = 0x1p12});
  EXPECT_NEAR(world.client.decrypt_real(coarse)[3], 0.5, 0.05);
}

}  // namespace
}  // namespace latticino
