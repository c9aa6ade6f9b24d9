// Integers against the processor's: u8 over many pairs at a small set, other widths at random.
#include "tfhe/integers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "math/errors.h"
#include "support/tfhe_support.h"

namespace latticino::tfhe {
namespace {

using Values = std::vector<std::uint64_t>;

struct IntegerWorld : testing::Test {
  test::TfheWorld w{"test-tfhe-2-2-tiny-insecure"};
  Integers e{std::make_shared<const Evaluator>(w.context, w.keys)};

  Integer encrypt(const Values& v, int bits) {
    return encrypt_integers(w.context, w.secret, v, bits, w.random);
  }
  Values decrypt(const Integer& x) { return decrypt_integers(w.secret, x); }
  // Random values, with the edge cases first.
  Values values(int count, int bits) {
    const std::uint64_t most = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    Values v = {0, most, 1, most, most / 2};
    while (static_cast<int>(v.size()) < count) v.push_back(w.random.next64() & most);
    return v;
  }
  void expect_each(const Values& got, const Values& x, const Values& y, int bits,
                   const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& f,
                   const char* what) {
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i], f(x[i], y[i]) & mask) << what << " " << x[i] << " " << y[i];
    }
  }
};

TEST_F(IntegerWorld, ArithmeticOfEightBits) {
  Values x = values(12, 8), y = values(12, 8);
  std::swap(y[0], y[1]);
  const Integer cx = encrypt(x, 8), cy = encrypt(y, 8);
  EXPECT_EQ(decrypt(cx), x);
  expect_each(decrypt(e.add(cx, cy)), x, y, 8, std::plus<>(), "+");
  expect_each(decrypt(e.sub(cx, cy)), x, y, 8, std::minus<>(), "-");
  expect_each(decrypt(e.multiply(cx, cy)), x, y, 8, std::multiplies<>(), "*");
  expect_each(
      decrypt(e.min(cx, cy)), x, y, 8, [](auto a, auto b) { return std::min(a, b); }, "min");
  expect_each(
      decrypt(e.max(cx, cy)), x, y, 8, [](auto a, auto b) { return std::max(a, b); }, "max");
  expect_each(decrypt(e.bitwise(cx, cy, [](auto a, auto b) { return a ^ b; })), x, y, 8,
              std::bit_xor<>(), "^");
  for (const int s : {0, 1, 2, 5, 9}) {
    expect_each(
        decrypt(e.shift_left(cx, s)), x, y, 8, [s](auto a, auto) { return a << s; }, "<<");
    expect_each(
        decrypt(e.shift_right(cx, s)), x, y, 8, [s](auto a, auto) { return a >> s; }, ">>");
  }
}

TEST_F(IntegerWorld, Comparisons) {
  Values x = values(10, 6), y = values(10, 6);
  x[9] = y[9];
  const Integer cx = encrypt(x, 6), cy = encrypt(y, 6);
  const std::function<bool(std::uint64_t, std::uint64_t)> truth[] = {
      std::less<>(),         std::less_equal<>(),    std::equal_to<>(),
      std::not_equal_to<>(), std::greater_equal<>(), std::greater<>()};
  for (int c = 0; c < 6; ++c) {
    const std::vector<std::uint32_t> got = w.decrypt(e.compare(static_cast<Comparison>(c), cx, cy));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i], truth[c](x[i], y[i])) << c;
  }
}

TEST_F(IntegerWorld, WidthsAndChains) {
  for (const int bits : {4, 16, 64}) {
    const Values x = values(5, bits), y = {5, 3, 1, 2, 15};
    const Integer cx = encrypt(x, bits), cy = e.clear(y, bits);
    const Integer sum = e.add(cx, cy);
    expect_each(decrypt(sum), x, y, bits, std::plus<>(), "+");
    expect_each(
        decrypt(e.sub(sum, cx)), x, y, bits, [](auto, auto b) { return b; }, "+ -");
  }
}

TEST_F(IntegerWorld, Tables) {
  Values x, y;
  for (std::uint64_t i = 0; i < 16; ++i) x.push_back(i), y.push_back(0);
  const auto f = [](std::uint64_t v) { return v * v + 3; };
  expect_each(
      decrypt(e.lookup(encrypt(x, 4), 2, f)), x, y, 4, [&](auto a, auto) { return f(a); }, "f");
  for (std::uint64_t i = 0; i < 16; ++i) x[i] = i / 4, y[i] = i % 4;
  const auto g = [](std::uint64_t a, std::uint64_t b) { return a * b + 1; };
  expect_each(decrypt(e.lookup(encrypt(x, 2), encrypt(y, 2), 2, g)), x, y, 4, g, "g");
}

// Every number of messages and of result blocks, and pairs of blocks that may hold less.
TEST_F(IntegerWorld, SeveralTablesAtOnce) {
  const auto below = [&](std::uint64_t largest, const Values& v) {
    Integer x = encrypt(v, 2);
    x.blocks[0].largest = static_cast<std::uint32_t>(largest);
    return x;
  };
  const auto f = [](std::uint64_t v) { return v * 171 + 5; };
  const auto g = [](std::uint64_t v) { return ~v; };
  const auto pair = [](std::uint64_t a, std::uint64_t b) { return 77 * a + 31 * b; };
  for (std::uint64_t most = 0; most <= 3; ++most) {
    Values x, y;
    for (std::uint64_t i = 0; i <= most; ++i) x.push_back(i), y.push_back(most - i);
    for (const int blocks : {1, 2, 3, 4, 5, 9}) {
      const Integers::Function functions[] = {{blocks, f}, {1, g}};
      const std::vector<Integer> got = e.lookup(below(most, x), functions);
      ASSERT_EQ(got.size(), 2u);
      expect_each(
          decrypt(got[0]), x, x, 2 * blocks, [&](auto a, auto) { return f(a); }, "f");
      expect_each(
          decrypt(got[1]), x, x, 2, [&](auto a, auto) { return g(a); }, "g");
    }
    for (std::uint64_t other = 0; other <= 3; ++other) {
      for (std::uint64_t& v : y) v %= other + 1;
      expect_each(decrypt(e.lookup(below(most, x), below(other, y), 4, pair)), x, y, 8, pair,
                  "pair");
    }
  }
  EXPECT_THROW(e.lookup(encrypt(Values{1}, 2), std::span<const Integers::Function>{}), ShapeError);
}

TEST_F(IntegerWorld, FullMessages) {
  Values x;
  for (std::uint64_t i = 0; i < 16; ++i) x.push_back(i);
  const Ciphertext sum = e.evaluator().add_clear(e.full(encrypt(x, 4)), 5);
  const auto f = [](std::uint64_t v) { return v * v; };
  const Integers::Function functions[] = {{4, f}, {1, f, Encoding::Full}, {1, f}};
  const std::vector<Integer> got = e.lookup_full(sum, functions);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[1].blocks[0].encoding, Encoding::Full);
  const std::vector<Integer> padded = e.lookup(encrypt(Values{0, 1, 2, 3}, 2), functions);
  const int bits[] = {8, 4, 2};
  for (int t = 0; t < 3; ++t) {
    const std::uint64_t modulus = std::uint64_t{1} << bits[t];
    for (std::uint64_t i = 0; i < 16; ++i) {
      EXPECT_EQ(decrypt(got[t])[i], f((i + 5) % 16) % modulus) << t;
      if (i < 4) EXPECT_EQ(decrypt(padded[t])[i], f(i) % modulus) << t;
    }
  }
  EXPECT_THROW(e.full(encrypt({1}, 6)), UnsupportedError);
  const Integers::Function wide[] = {{2, f, Encoding::Full}};
  EXPECT_THROW(e.lookup_full(sum, wide), ValueError);
  EXPECT_THROW(e.lookup_full(encrypt({1}, 2).blocks[0], functions), ParameterError);
  EXPECT_THROW(e.add(got[1], got[1]), LevelError) << "one block, of another encoding";
}

TEST_F(IntegerWorld, ShiftsByEncryptedAmounts) {
  const Values x = values(24, 8);
  for (const int bits : {2, 4, 8}) {  // of the amount
    Values s;
    const std::uint64_t most = (1u << bits) - 1;
    for (std::size_t i = 0; i < x.size(); ++i) s.push_back(bits == 8 && i > 16 ? 7 * i : i & most);
    const Integer cx = encrypt(x, 8), cs = encrypt(s, bits);
    const auto left = [](auto a, auto b) { return b < 8 ? a << b : 0; };
    const auto right = [](auto a, auto b) { return b < 8 ? a >> b : 0; };
    expect_each(decrypt(e.shift_left(cx, cs)), x, s, 8, left, "<<");
    expect_each(decrypt(e.shift_right(cx, cs)), x, s, 8, right, ">>");
  }
  const Values wide = values(5, 64), s = {63, 64, 200, 1, 6};
  const auto right = [](auto a, auto b) { return b < 64 ? a >> b : 0; };
  expect_each(decrypt(e.shift_right(encrypt(wide, 64), encrypt(s, 8))), wide, s, 64, right, ">>");
}

TEST_F(IntegerWorld, Sums) {
  for (const int count : {1, 2, 3, 13}) {
    std::vector<Integer> terms;
    Values want(5, 0), none(5, 0);
    for (int t = 0; t < count; ++t) {
      const Values x = values(5, 8);
      for (std::size_t i = 0; i < want.size(); ++i) want[i] = (want[i] + x[i]) % 256;
      terms.push_back(encrypt(x, 8));
    }
    expect_each(
        decrypt(e.sum(terms)), want, none, 8, [](auto a, auto) { return a; }, "sum");
  }
}

TEST_F(IntegerWorld, ClearFactorsLeaveProductsOut) {
  const Values x = values(6, 8), y(6, 3);
  const auto rotations = [&](const Values& factor) {
    const auto queue = Context::create_dry(w.params);
    const Integers f(std::make_shared<const Evaluator>(queue, allocate_server_keys(*queue, {})));
    f.multiply(f.clear(Values(6, 255), 8), f.clear(factor, 8));
    return queue->queue().report().bytes_by_name.at("BlindRotate");
  };
  expect_each(decrypt(e.multiply(encrypt(x, 8), e.clear(y, 8))), x, y, 8, std::multiplies<>(), "*");
  expect_each(decrypt(e.multiply(encrypt(x, 8), e.clear(Values{0}, 8))), x, Values(6, 0), 8,
              std::multiplies<>(), "*");
  EXPECT_LT(rotations({3}), rotations({255}));
  // One operand for all, of which every block but the lowest needs no product.
  const Values several = {1, 0, 3};
  expect_each(decrypt(e.multiply(encrypt({3}, 8), e.clear(several, 8))), Values(3, 3), several, 8,
              std::multiplies<>(), "*");
}

TEST_F(IntegerWorld, SingleBits) {
  const auto bits = [&](const Values& v) {
    Integer x = encrypt(v, 2);
    x.blocks[0].largest = 1;
    return x;
  };
  const Values c = {0, 0, 0, 0, 1, 1, 1, 1}, x = {0, 0, 1, 1, 0, 0, 1, 1},
               y = {0, 1, 0, 1, 0, 1, 0, 1};
  const Integer cc = bits(c), cx = bits(x), cy = bits(y);
  const Integer one = e.select(cc.blocks[0], cx, cy), same = e.select(cc.blocks[0], cc, cy);
  EXPECT_EQ(one.blocks[0].norm2, 1) << "a single table";
  EXPECT_EQ(one.blocks[0].largest, 1u);
  EXPECT_EQ(same.blocks[0].largest, 1u);
  for (std::size_t i = 0; i < c.size(); ++i) {
    EXPECT_EQ(decrypt(one)[i], c[i] ? x[i] : y[i]);
    EXPECT_EQ(decrypt(same)[i], c[i] ? c[i] : y[i]);
  }
}

TEST_F(IntegerWorld, LookupsCanBeRecorded) {
  Queue& queue = w.context->queue();
  const Integer x = encrypt({0, 1, 2, 3}, 2);
  Integer y;
  std::future<void> other;
  int runs = 0;
  Program program = queue.record([&] {
    if (++runs ==
        // Another thread's new table waits for the recording, and the recording must not wait for
        // it.
        2) {
      other = std::async(std::launch::async,
                         [&] { e.compare(Comparison::GreaterEqual, x, encrypt({1}, 2)); });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    y = e.lookup(x, 2, [](auto v) { return v * v + 1; });
  });
  program.run();
  EXPECT_EQ(decrypt(y), (Values{1, 2, 5, 10}));
  other.get();
}

TEST(IntegerTables, CallersTablesAreKeptWhileTheyAreFew) {
  const auto context = Context::create_dry(tfhe_preset("tfhe-2-2-v1"));
  const Integers e(std::make_shared<const Evaluator>(context, allocate_server_keys(*context, {})));
  const Integer x = e.clear(Values{0, 15}, 4);
  const std::uint64_t before = context->queue().live_bytes();
  const auto lookup = [&](std::uint64_t function) {
    e.lookup(x, 1, [=](std::uint64_t v) { return function >> (2 * v) & 3; });
    return context->queue().live_bytes() - before;
  };
  const std::uint64_t one = lookup(1);
  EXPECT_EQ(one, sizeof(std::uint32_t) * context->params().n() * context->basis().size());
  EXPECT_EQ(lookup(1), one);
  EXPECT_EQ(lookup(2), 2 * one);
  std::uint64_t most = 0;
  for (std::uint64_t f = 3; f < 3000; ++f) most = std::max(most, lookup(f));
  EXPECT_EQ(most, 1024 * one);
}

// Blind rotations for one element at the default set. Result blocks share a rotation where there
// are few messages.
TEST(IntegerTables, ShareRotations) {
  const auto rotations = [](const auto& program) {
    const auto context = Context::create_dry(tfhe_preset("tfhe-2-2-v1"));
    const Integers e(
        std::make_shared<const Evaluator>(context, allocate_server_keys(*context, {})));
    program(e);
    return context->queue().report().effort_by_name.at("BlindRotate").items;
  };
  const auto of = [](const Integers& e, std::uint64_t largest, int bits) {
    return e.clear(Values{largest}, bits);
  };
  const auto one = [](std::uint64_t v) { return v; };
  const auto two = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  EXPECT_EQ(rotations([&](auto& e) { e.lookup(of(e, 3, 2), 4, one); }), 1u);
  EXPECT_EQ(rotations([&](auto& e) { e.lookup(of(e, 3, 2), 5, one); }), 2u);
  EXPECT_EQ(rotations([&](auto& e) { e.lookup(of(e, 1, 2), 8, one); }), 1u);
  EXPECT_EQ(rotations([&](auto& e) { e.lookup(of(e, 15, 4), 4, one); }), 4u);
  EXPECT_EQ(rotations([&](auto& e) { e.lookup(of(e, 1, 2), of(e, 1, 2), 4, two); }), 1u);
  EXPECT_EQ(rotations([&](auto& e) { e.lookup(of(e, 1, 2), of(e, 3, 2), 4, two); }), 2u);
  EXPECT_EQ(rotations([&](auto& e) { e.lookup(of(e, 3, 2), of(e, 1, 2), 4, two); }), 2u);
  EXPECT_EQ(rotations([&](auto& e) { e.lookup(of(e, 3, 2), of(e, 3, 2), 4, two); }), 4u);
  const Integers::Function several[] = {{1, one}, {2, one}, {1, one}};
  EXPECT_EQ(rotations([&](auto& e) { e.lookup(of(e, 3, 2), several); }), 1u);
  EXPECT_EQ(rotations([&](auto& e) { e.add(of(e, 255, 8), of(e, 255, 8)); }), 4u + 3u + 3u);
}

// With the default set, every operation accepts the result of every other, noise included. This is
// checked without data.
TEST(IntegerChains, EveryResultGoesOn) {
  const auto context = Context::create_dry(tfhe_preset("tfhe-2-2-v1"));
  const Integers e(std::make_shared<const Evaluator>(context, allocate_server_keys(*context, {})));
  const auto fresh = [&](int bits) {
    Integer x = e.clear(Values{0, 1, 2}, bits);
    for (Ciphertext& block : x.blocks) block.norm2 = 1, block.largest = 3;
    return x;
  };
  const auto less = [&](const Integer& x, const Integer& y) {
    return e.compare(Comparison::Less, x, y);
  };
  const auto exclusive = [](auto a, auto b) { return a ^ b; };
  using Operation = std::function<Integer(const Integer&, const Integer&)>;
  const std::vector<Operation> operations = {
      [&](auto& x, auto& y) { return e.add(x, y); },
      [&](auto& x, auto& y) { return e.sub(x, y); },
      [&](auto& x, auto& y) { return e.multiply(x, y); },
      [&](auto& x, auto& y) { return e.min(x, y); },
      [&](auto& x, auto& y) { return e.select(less(x, y), y, x); },
      [&](auto& x, auto& y) { return e.bitwise(x, y, exclusive); },
      [&](auto& x, auto& y) { return e.shift_left(x, y); },
      [&](auto& x, auto&) { return e.shift_right(x, 3); },
      [&](auto& x, auto& y) {
        return e.sum(std::vector<Integer>{x, y, x, y});
      },
  };
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Integer x = operations[i](fresh(8), fresh(8));
    for (std::size_t j = 0; j < operations.size(); ++j) {
      SCOPED_TRACE(std::to_string(i) + " then " + std::to_string(j));
      const Integer y = operations[j](x, x);
      for (const Ciphertext& block : operations[j](y, fresh(8)).blocks) {
        EXPECT_LT(block.largest, 4u);
      }
    }
    e.lookup({{x.blocks[0], x.blocks[1]}}, 2, [](auto v) { return v; });
  }
}

TEST_F(IntegerWorld, WrongUse) {
  const Integer x = encrypt({1}, 8), y = encrypt({1}, 6);
  EXPECT_THROW(e.add(x, y), ShapeError);
  EXPECT_THROW(e.add(x, {}), ShapeError);
  EXPECT_THROW(encrypt({256}, 8), ValueError);
  EXPECT_THROW(encrypt({1}, 7), ValueError);
  EXPECT_THROW(e.shift_left(x, -1), ValueError);
  EXPECT_THROW(e.select(x.blocks[0], x, x), ValueError);
  EXPECT_THROW(e.lookup(x, 4, [](auto v) { return v; }), UnsupportedError);
  EXPECT_THROW(e.lookup(encrypt({1}, 2), 33, [](auto v) { return v; }), ValueError);
  EXPECT_THROW(e.sum({}), ShapeError);
  EXPECT_THROW(e.shift_left(x, Integer{}), ShapeError);
  Integer raw = x;
  raw.blocks[0].largest = 15;
  EXPECT_THROW(e.add(raw, x), LevelError);
  test::TfheWorld gates("test-tfhe-gates-insecure");
  EXPECT_THROW(Integers(std::make_shared<const Evaluator>(gates.context, gates.keys)),
               ParameterError);
}

}  // namespace
}  // namespace latticino::tfhe
