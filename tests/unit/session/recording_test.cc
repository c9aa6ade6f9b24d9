// Recorded programs of arrays.
#include "latticino/recording.h"

#include <atomic>
#include <thread>

#include "unit/session/public_world.h"

namespace latticino {
namespace {

constexpr const char* kLeveled = "test-n10-leveled-insecure";

Array product(const Array& x, const Array& y) { return x * y + numbers(300, 3); }

TEST(Recording, ReplaysOnOtherArguments) {
  PublicWorld world(kLeveled);
  const Input like({300});
  world.context.use(world.client.server_keys(plan(world.context, product, like, like)));
  const auto encrypted = [&](unsigned seed) { return world.client.encrypt(numbers(300, seed)); };
  const auto recorded = record(product, encrypted(1), encrypted(2));
  EXPECT_GT(recorded.arena_bytes(), 0u);
  for (unsigned seed = 5; seed < 8; ++seed) {
    const Array x = encrypted(seed), y = encrypted(seed + 10);
    const Array fast = recorded(x, y), slow = product(x, y);
    EXPECT_EQ(world.client.decrypt(fast), world.client.decrypt(slow));  // the same bits
    EXPECT_EQ(fast.level(), slow.level());
    EXPECT_NEAR(fast.bits().mean, slow.bits().mean, 0.2);
  }
}

TEST(Recording, GivesPairsAndVectors) {
  PublicWorld world(kLeveled);
  const Array x = world.client.encrypt(numbers(8));
  const auto pair = record([](const Array& a) { return std::pair(a + a, a - 1); }, x);
  const auto [twice, less] = pair(x);
  EXPECT_NEAR(world.client.decrypt_real(twice)[0], 2 * numbers(8)[0], 1e-6);
  EXPECT_NEAR(world.client.decrypt_real(less)[3], numbers(8)[3] - 1, 1e-6);
  const auto list = record([](const Array& a) { return std::vector<Array>{a, -a, a + 1}; }, x);
  EXPECT_EQ(list(x).size(), 3u);
}

// Before, a recording of a program that `plan` takes did not compile.
TEST(Recording, GivesArraysAndTuples) {
  PublicWorld world(kLeveled);
  const Array x = world.client.encrypt(numbers(8));
  const auto first = [&](const Array& a) { return world.client.decrypt_real(a)[0]; };
  const auto three = record([](const Array& a) { return std::array<Array, 3>{a, -a, a + 1}; }, x);
  const std::array<Array, 3> found = three(x);
  EXPECT_NEAR(first(found[1]), -numbers(8)[0], 1e-6);
  EXPECT_NEAR(first(found[2]), numbers(8)[0] + 1, 1e-6);
  const auto nested = record(
      [](const Array& a) {
        return std::tuple(std::pair(a + 1, a + 2), a + 3, std::array<Array, 2>{a + 4, a + 5});
      },
      x);
  const auto [pair, middle, last] = nested(x);
  EXPECT_NEAR(first(pair.first), numbers(8)[0] + 1, 1e-6);
  EXPECT_NEAR(first(pair.second), numbers(8)[0] + 2, 1e-6);
  EXPECT_NEAR(first(middle), numbers(8)[0] + 3, 1e-6);
  EXPECT_NEAR(first(last[1]), numbers(8)[0] + 5, 1e-6);
}

TEST(Recording, ServesWhatLiesBehindTheValues) {
  PublicWorld world(kLeveled);
  const auto beside = [&](double number) {  // in the 212 slots without values
    return world.client.encrypt(numbers(300)) + number - Values(std::vector<double>(300, number));
  };
  const auto twice = record([](const Array& a) { return a + a; }, beside(3));
  for (const double number : {3.0, 2.5, 0.0}) {
    EXPECT_NEAR(world.client.decrypt_real(twice(beside(number)))[7], 2 * numbers(300)[7], 1e-6);
  }
  EXPECT_THROW(twice(beside(300)), ScaleError);
}

// One thread records while others compute with constants that were not made before.
TEST(Recording, ThreadsShareAContext) {
  PublicWorld world(kLeveled);
  const Input like({300});
  world.context.use(world.client.server_keys(plan(world.context, product, like, like)));
  const Array x = world.client.encrypt(numbers(300, 1)), y = world.client.encrypt(numbers(300, 2));
  const std::vector<Complex> want = world.client.decrypt(product(x, y));
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<double> own = numbers(300, 100 + static_cast<unsigned>(t));
      for (int i = 0; i < 5; ++i) {
        const Array z = t % 2 ? product(x, y) : record(product, x, y)(x, y);
        const Array moved = z + own - Values(own);
        right += largest_error(world.client.decrypt(moved), want) < 1e-6;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 20);
}

TEST(Recording, RefusesOtherArguments) {
  PublicWorld world(kLeveled);
  const Array x = world.client.encrypt(numbers(8));
  std::vector<Array> kept;
  const auto twice = record(
      [&](const Array& a) {
        kept.push_back(a + a);
        return a + a;
      },
      x);
  EXPECT_THROW(kept.back() + x, ContextError);  // it is in the recording's memory
  EXPECT_THROW(twice(world.client.encrypt(numbers(9))), ShapeError);
  EXPECT_THROW(twice(x.to_level(1)), LevelError);
  EXPECT_THROW(twice(Client(world.context).encrypt(numbers(8))), KeyError);
  EXPECT_THROW(twice(PublicWorld(kLeveled).client.encrypt(numbers(8))), ContextError);
  EncryptOptions wide;
  wide.range = Range{-9, 9};
  EXPECT_THROW(twice(world.client.encrypt(numbers(8), wide)), ScaleError);
  EXPECT_THROW(twice(x + x), ScaleError);  // its range follows from an assumed one
  EXPECT_THROW(twice(x, x), ShapeError);
  EXPECT_THROW(record([&](const Array&) { return world.client.encrypt(numbers(8)); }, x),
               UnsupportedError);
}

// The claims of a recording are those of its arguments' ranges.
TEST(Recording, RefusesArgumentsWhoseClaimsAreWeaker) {
  PublicWorld world(kLeveled);
  const auto product = [](const Array& a) { return a * a; };
  world.context.use(world.client.server_keys(plan(world.context, product, Input({8}))));
  EncryptOptions narrow;
  narrow.range = Range{-0.1, 0.1};
  const Values small(std::vector<double>(8, 0.05));
  const Array declared = world.client.encrypt(small, narrow), assumed = world.client.encrypt(small);
  EXPECT_THROW(record(product, declared)(assumed), ScaleError);
  EXPECT_NO_THROW(record(product, assumed)(declared));
  EncryptOptions like;
  like.like = small;
  const Array calibrated = world.client.encrypt(small, like);
  EXPECT_NO_THROW(record(product, assumed)(calibrated));
  EXPECT_NO_THROW(record(product, calibrated)(calibrated));
  for (const Array& weaker : {declared, assumed}) {
    EXPECT_THROW(record(product, calibrated)(weaker), ScaleError);
  }
}

}  // namespace
}  // namespace latticino
