// TFHE through the public headers: operators, tables, plans, sessions.
#include "latticino/tfhe.h"

#include <gtest/gtest.h>

#include <climits>

#include "latticino/errors.h"

namespace latticino {
namespace {

using Numbers = std::vector<std::uint64_t>;

struct TfheWorld {
  explicit TfheWorld(const std::string& preset = "test-tfhe-2-2-tiny-insecure")
      : context(preset, options()), client(context) {
    context.use(client.server_keys(true));
  }
  static TfheContextOptions options() {
    TfheContextOptions out;
    out.device = "cpu";
    out.on_warning = [](const Warning&) {};
    return out;
  }
  static TfheWorld& of() {
    static TfheWorld world;
    return world;
  }
  TfheContext context;
  TfheClient client;
};

const Numbers kA = {17, 65, 250, 0}, kB = {200, 65, 9, 1};

// Before, clear values could not be on the left, and integers of most types were ambiguous.
TEST(TfheFront, TakesClearIntegersOfAllTypesOnBothSides) {
  TfheWorld& w = TfheWorld::of();
  const TfheArray a = w.client.encrypt({1, 2, 3}, kU4);
  const auto got = [&](const TfheArray& x) { return w.client.decrypt(x); };
  EXPECT_EQ(got(5 - a), (Numbers{4, 3, 2}));
  EXPECT_EQ(got(1 << a), (Numbers{2, 4, 8}));
  EXPECT_EQ(got(std::uint8_t{8} >> a), (Numbers{4, 2, 1}));
  EXPECT_EQ(got(2u + a), got(a + 2L));
  EXPECT_EQ(got(3LL * a), (Numbers{3, 6, 9}));
  EXPECT_EQ(got(6ull & a), (Numbers{0, 2, 2}));
  EXPECT_EQ(got(8 | a), (Numbers{9, 10, 11}));
  EXPECT_EQ(got(true ^ a), (Numbers{0, 3, 2}));
  EXPECT_EQ(got(2 < a), (Numbers{0, 0, 1}));
  EXPECT_EQ(got(2 <= a), (Numbers{0, 1, 1}));
  EXPECT_EQ(got(2 > a), (Numbers{1, 0, 0}));
  EXPECT_EQ(got(2 >= a), (Numbers{1, 1, 0}));
  EXPECT_EQ(got(std::size_t{2} == a), (Numbers{0, 1, 0}));
  EXPECT_EQ(got(2 != a), (Numbers{1, 0, 1}));
  EXPECT_EQ(got(Numbers{3, 2, 1} - a), (Numbers{2, 0, 14}));
  EXPECT_EQ(got(a == Numbers{1, 5, 3}), (Numbers{1, 0, 1}));
  EXPECT_EQ(got(a != a), (Numbers{0, 0, 0}));
  EXPECT_THROW(a + -5L, ValueError);
  EXPECT_THROW(99 - a, ValueError);
  EXPECT_THROW(a + UINT64_MAX, ValueError);
  const TfheArray large = w.client.encrypt({UINT64_MAX}, kU64);
  EXPECT_EQ(got(large == UINT64_MAX), (Numbers{1}));
  EXPECT_EQ(got(w.context.encrypt({7, 8}, kU8)), (Numbers{7, 8}));
  static_assert(!std::is_constructible_v<TfheOperand, double>);
}

// The factor of an integer modulo 2^p overflowed an int.
TEST(TfheFront, MultipliesModularIntegersByAnyInteger) {
  TfheWorld& w = TfheWorld::of();
  const TfheArray m = w.client.encrypt({3, 15}, kM4);
  const auto product = [&](auto factor) { return w.client.decrypt(m * factor); };
  EXPECT_EQ(product(INT_MAX), (Numbers{13, 1}));
  EXPECT_EQ(product(INT_MIN), (Numbers{0, 0}));
  EXPECT_EQ(product(INT64_MAX), (Numbers{13, 1}));
  EXPECT_EQ(product(UINT64_MAX), (Numbers{13, 1}));
  EXPECT_EQ(product(std::size_t{5}), (Numbers{15, 11}));
  EXPECT_EQ(w.client.decrypt(5 - m), (Numbers{2, 6}));
  EXPECT_THROW(m * Numbers({3, 4}), UnsupportedError);
}

TEST(TfheFront, RefusesEmptyFunctions) {
  const TfheArray x = TfheWorld::of().client.encrypt({1, 2}, TfheType{2});
  const std::function<std::uint64_t(std::uint64_t)> one;
  const std::function<std::uint64_t(std::uint64_t, std::uint64_t)> two;
  EXPECT_THROW(x.apply(one, kU4), ValueError);
  EXPECT_THROW(x.apply(two, x, kU4), ValueError);
}

TEST(TfheFront, ComputesIntegers) {
  TfheWorld& w = TfheWorld::of();
  const TfheArray a = w.client.encrypt(kA, kU8), b = w.client.encrypt(kB, kU8);
  const auto check = [&](const TfheArray& have, auto want, std::uint64_t most = 255) {
    const Numbers got = w.client.decrypt(have);
    ASSERT_EQ(got.size(), kA.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], want(kA[i], kB[i]) & most) << i;
  };
  using U = std::uint64_t;
  check(a + b, [](U x, U y) { return x + y; });
  check(a - b, [](U x, U y) { return x - y; });
  check(a * b, [](U x, U y) { return x * y; });
  check(a & b, [](U x, U y) { return x & y; });
  check(a | 3, [](U x, U) { return x | 3; });
  check(a ^ b, [](U x, U y) { return x ^ y; });
  check(~a, [](U x, U) { return ~x; });
  check(a << 3, [](U x, U) { return x << 3; });
  check(a >> 2, [](U x, U) { return x >> 2; });
  check(a < b, [](U x, U y) { return U{x < y}; });
  check(a <= b, [](U x, U y) { return U{x <= y}; });
  check(a > b, [](U x, U y) { return U{x > y}; });
  check(a >= b, [](U x, U y) { return U{x >= y}; });
  check(a == b, [](U x, U y) { return U{x == y}; });
  check(a != 65, [](U x, U) { return U{x != 65}; });
  check(where(a > b, a, b), [](U x, U y) { return x > y ? x : y; });
  check(minimum(a, b), [](U x, U y) { return std::min(x, y); });
  check(
      a.as(kU16) + b.as(kU16), [](U x, U y) { return x + y; }, 65535);
  EXPECT_EQ(w.client.decrypt(a.sum()), Numbers{(17 + 65 + 250) & 255});
  EXPECT_EQ(w.client.decrypt(a.max()), Numbers{250});
  EXPECT_EQ(w.client.decrypt(a.min()), Numbers{0});
  EXPECT_EQ(w.client.decrypt((a > 60).sum()), Numbers{2});
  EXPECT_EQ(w.client.decrypt((a > 60).any()), Numbers{1});
  EXPECT_EQ(w.client.decrypt((a > 60).all()), Numbers{0});
  EXPECT_EQ(w.client.decrypt(a[2]), Numbers{250});
}

TEST(TfheFront, LooksUpTables) {
  TfheWorld& w = TfheWorld::of();
  const TfheArray x = w.client.encrypt({0, 5, 9, 15}, kU4);
  EXPECT_EQ(w.client.decrypt(x.apply([](auto v) { return v * v; }, kU8)),
            (Numbers{0, 25, 81, 225}));
  const TfheArray y = w.client.encrypt({1, 2, 3, 0}, {2}), z = w.client.encrypt({3, 3, 1, 0}, {2});
  EXPECT_EQ(w.client.decrypt(y.apply([](auto a, auto b) { return a * b; }, z, kU4)),
            (Numbers{3, 6, 3, 0}));
  EXPECT_THROW(x.apply([](auto) { return 99; }, kU4), ValueError);
  EXPECT_THROW(w.client.encrypt(kA, kU8).apply([](auto v) { return v; }, kU8), UnsupportedError);
  const TfheArray m = w.client.encrypt({3, 9, 15}, kM4);
  EXPECT_EQ(w.client.decrypt(m + m), (Numbers{6, 2, 14}));
  EXPECT_EQ(w.client.decrypt(m * -1), (Numbers{13, 7, 1}));
  EXPECT_THROW(m < m, ParameterError);
}

TEST(TfheFront, ComputesBooleansOfAGateSet) {
  TfheWorld w("test-tfhe-gates-insecure");
  const TfheArray a = w.client.encrypt({0, 0, 1, 1}, kBool),
                  b = w.client.encrypt({0, 1, 0, 1}, kBool);
  EXPECT_EQ(w.client.decrypt(a & b), (Numbers{0, 0, 0, 1}));
  EXPECT_EQ(w.client.decrypt(a ^ b), (Numbers{0, 1, 1, 0}));
  EXPECT_EQ(w.client.decrypt(a <= b), (Numbers{1, 1, 0, 1}));
  EXPECT_EQ(w.client.decrypt(~a | b), (Numbers{1, 1, 0, 1}));
  EXPECT_EQ(w.client.decrypt(a.apply([](auto x, auto y) { return x & (1 - y); }, b, kBool)),
            (Numbers{0, 0, 1, 0}));
  EXPECT_EQ(w.client.decrypt(where(a, b, ~b)), (Numbers{1, 0, 0, 1}));
  EXPECT_THROW(w.client.encrypt({1}, kU8), ParameterError);
}

TEST(TfheFront, PlansWhatAProgramNeeds) {
  TfheWorld& w = TfheWorld::of();
  const auto program = [](const TfheArray& a, const TfheArray& b) { return where(a > b, a, b); };
  const TfhePlan p = plan(w.context, program, TfheInput{100, kU8}, TfheInput{100, kU8});
  EXPECT_GE(p.bootstrappings, 800u);
  EXPECT_GT(p.seconds, 0);
  EXPECT_GT(p.peak_bytes, p.input_bytes);
  EXPECT_LT(p.log_failure, 0);
  const TfheArray fresh = w.client.encrypt(Numbers(100, 7), kU8);
  EXPECT_EQ(plan(w.context, program, fresh, fresh).bootstrappings, p.bootstrappings);
  EXPECT_THROW(plan(w.context, program, TfheInput{0, kU8}, TfheInput{1, kU8}), ShapeError);
}

TEST(TfheFront, ReplaysARecordedProgram) {
  TfheWorld& w = TfheWorld::of();
  const auto program = [](const TfheArray& a, const TfheArray& b) {
    return where(a > b, a, b) + 1;
  };
  const auto encrypted = [&](const Numbers& x) { return w.client.encrypt(x, kU8); };
  const TfheRecording recorded = record(program, encrypted(kA), encrypted(kB));
  EXPECT_EQ(w.client.decrypt(recorded(encrypted(kB), encrypted(kA))), (Numbers{201, 66, 251, 2}));
  EXPECT_EQ(w.client.decrypt(recorded(encrypted({1, 2, 3, 4}), encrypted({4, 3, 2, 1}))),
            (Numbers{5, 4, 4, 5}));
  EXPECT_GT(recorded.arena_bytes(), 0u);
  EXPECT_THROW(recorded(encrypted({1, 2}), encrypted({1, 2})), ShapeError);
  EXPECT_THROW(recorded(encrypted(kA)), ShapeError);
  const TfheArray same = encrypted(kA);
  EXPECT_THROW(recorded(same, same), ParameterError);
}

TEST(TfheFront, RefusesWhatDoesNotFit) {
  TfheWorld& w = TfheWorld::of();
  const TfheArray a = w.client.encrypt(kA, kU8);
  EXPECT_THROW(w.client.encrypt({256}, kU8), ValueError);
  EXPECT_THROW(w.client.encrypt(Numbers{}, kU8), ShapeError);
  EXPECT_THROW(w.client.encrypt({1}, {7}), ParameterError);
  EXPECT_THROW(a + 256, ValueError);
  EXPECT_THROW(a + -1, ValueError);
  EXPECT_THROW((a + Numbers{1, 2}), ShapeError);
  EXPECT_THROW(a[4], ShapeError);
  EXPECT_THROW(where(a, a, a), ParameterError);
  EXPECT_THROW(a.as(kBool) + 1, ParameterError);
  const TfheClient second(w.context);
  EXPECT_THROW(second.decrypt(a), KeyError);
  EXPECT_THROW(TfheContext("tfhe-none", TfheWorld::options()), ParameterError);
  TfheContextOptions options = TfheWorld::options();
  options.arithmetic = "fast";
  EXPECT_THROW(TfheContext("test-tfhe-2-2-tiny-insecure", options), ParameterError);
}

TEST(TfheFront, SumsTakeNoKeys) {
  const TfheContext context("test-tfhe-2-2-tiny-insecure", TfheWorld::options());
  const TfheClient client(context), other(context);
  const TfheArray x = client.encrypt({9, 3}, {-4});
  EXPECT_EQ(client.decrypt(x + x + 1), (Numbers{3, 7}));
  EXPECT_THROW(x == x, KeyError);
  context.use(other.server_keys());  // plain numbers are not taken as if they were under this key
  EXPECT_EQ(client.decrypt(x - 1), (Numbers{8, 2}));
  EXPECT_THROW(x == x, KeyError);
}

TEST(TfheFront, BelongsToASessionOfOneClient) {
  TfheWorld& w = TfheWorld::of();
  const TfheClient second(w.context);
  const TfheContext one = w.context.bind(w.client.server_keys(true)),
                    two = w.context.bind(second.server_keys());
  const TfheArray a = one.adopt(w.client.encrypt({5}, kU4)),
                  b = two.adopt(second.encrypt({6}, kU4));
  EXPECT_EQ(w.client.decrypt(a + 1), Numbers{6});
  EXPECT_EQ(second.decrypt(b + 1), Numbers{7});
  EXPECT_THROW(a + b, ContextError);
  EXPECT_THROW(one.adopt(second.encrypt({6}, kU4)), KeyError);
  const Numbers three = {3};
  EXPECT_EQ(w.client.decrypt(one.encrypt(three, kU4) + a), Numbers{8});
  EXPECT_THROW(two.encrypt(three, kU4), KeyError);
}

}  // namespace
}  // namespace latticino
