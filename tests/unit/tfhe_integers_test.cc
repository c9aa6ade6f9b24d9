// Integers against the processor's: u8 over many pairs at a small set, other widths at random.
#include "tfhe/integers.h"

#include <gtest/gtest.h>

#include <functional>

#include "math/errors.h"
#include "support/tfhe_support.h"

namespace latticino::tfhe {
namespace {

using Values = std::vector<std::uint64_t>;

struct IntegerWorld : testing::Test {
  test::TfheWorld w{"test-tfhe-2-2-insecure"};
  Integers e{std::make_shared<const Evaluator>(w.context, w.keys)};

  Integer encrypt(const Values& v, int bits) {
    return encrypt_integers(w.context, w.secret, v, bits, w.random);
  }
  Values decrypt(const Integer& x) { return decrypt_integers(w.secret, x); }
  // Random values with the edges in front.
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
      decrypt(e.lookup(encrypt(x, 4), f)), x, y, 4, [&](auto a, auto) { return f(a); }, "f");
  for (std::uint64_t i = 0; i < 16; ++i) x[i] = i / 4, y[i] = i % 4;
  const auto g = [](std::uint64_t a, std::uint64_t b) { return a * b + 1; };
  expect_each(decrypt(e.lookup(encrypt(x, 2), encrypt(y, 2), 2, g)), x, y, 4, g, "g");
}

TEST_F(IntegerWorld, WrongUse) {
  const Integer x = encrypt({1}, 8), y = encrypt({1}, 6);
  EXPECT_THROW(e.add(x, y), ShapeError);
  EXPECT_THROW(e.add(x, {}), ShapeError);
  EXPECT_THROW(encrypt({256}, 8), ValueError);
  EXPECT_THROW(encrypt({1}, 7), ValueError);
  EXPECT_THROW(e.shift_left(x, -1), ValueError);
  EXPECT_THROW(e.select(x.blocks[0], x, x), ValueError);
  EXPECT_THROW(e.lookup(x, [](auto v) { return v; }), UnsupportedError);
  Integer raw = x;
  raw.blocks[0].largest = 15;
  EXPECT_THROW(e.add(raw, x), LevelError);
  test::TfheWorld gates("test-tfhe-gates-insecure");
  EXPECT_THROW(Integers(std::make_shared<const Evaluator>(gates.context, gates.keys)),
               ParameterError);
}

}  // namespace
}  // namespace latticino::tfhe
