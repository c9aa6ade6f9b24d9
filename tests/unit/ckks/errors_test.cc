// Wrong use of the evaluator: errors are typed and name the operation, and operands stay the same.
#include <limits>

#include "ckks/linear/linear_transform.h"
#include "ckks/polynomial/polynomial.h"
#include "math/errors.h"
#include "support/ckks_world.h"

namespace latticino::ckks {
namespace {

class CkksErrors : public ::testing::Test {
 protected:
  World& world() { return World::of("test-n10-leveled-insecure"); }
  World::Values u = world().values(512);
  Evaluator e{world().context(), nullptr};
  int top = world().params().default_level();
  Ciphertext x = world().encrypt(u, top);

  // Runs f, which must throw E with an operation's name; x must decrypt as before.
  template <class E, class F>
  void expect(const char* operation, F f) {
    try {
      f();
      FAIL() << operation << " threw nothing";
    } catch (const E& error) {
      EXPECT_EQ(error.operation(), operation);
      EXPECT_NE(std::string(error.what()).find("needs"), std::string::npos);
    }
    EXPECT_GT(bits_of(world().decrypt(x), u), 28);
  }
};

TEST_F(CkksErrors, OtherContext) {
  World other("test-n10-leveled-insecure");
  const Ciphertext y = other.encrypt(u, top);
  expect<ContextError>("ckks.add", [&] { e.add(x, y); });
  expect<ContextError>("ckks.multiply", [&] { e.multiply(y, x); });
  expect<ContextError>("ckks.rotate", [&] { e.rotate(y, 1); });
  const Plaintext p = encode(other.context(), u, top, y.scale);
  expect<ContextError>("ckks.add", [&] { e.add(x, p); });
}

TEST_F(CkksErrors, OtherKey) {
  Ciphertext y = x;
  y.key.bytes[0] ^= 1;
  expect<KeyError>("ckks.add", [&] { e.add(x, y); });
  expect<KeyError>("ckks.multiply", [&] { e.multiply(x, y); });
  const auto keys = world().make_keys({{{rlwe::KeyKind::Relinearize, 1}, top}});
  const Evaluator server(world().context(), keys);
  expect<KeyError>("ckks.square", [&] { server.square(y); });
  expect<KeyError>("ckks.relinearize_rescale",
                   [&] { server.relinearize_rescale(server.tensor(y, y)); });
}

TEST_F(CkksErrors, MissingKeys) {
  expect<KeyError>("ckks.square", [&] { e.square(x); });
  const auto keys = world().make_keys({{{rlwe::KeyKind::Relinearize, 1}, 1}});
  const Evaluator server(world().context(), keys);
  expect<KeyError>("ckks.rotate", [&] { server.rotate(x, 1); });
  expect<KeyError>("ckks.square", [&] { server.square(x); });  // reduced to level 1
}

TEST_F(CkksErrors, TooFewLevels) {
  const Ciphertext low = world().encrypt(u, 0);
  expect<LevelError>("ckks.multiply", [&] { e.multiply(x, low); });
  expect<LevelError>("ckks.square", [&] { e.square(low); });
  expect<LevelError>("ckks.rescale", [&] { e.rescale(low); });
  expect<LevelError>("ckks.multiply_scalar", [&] { e.multiply_scalar(low, 0.5); });
  expect<LevelError>("ckks.to_level", [&] { e.to_level(low, 1); });
  expect<LevelError>("ckks.to_level", [&] { e.to_level(low, -1); });
  expect<LevelError>("ckks.drop_to", [&] { e.drop_to(low, 1); });
  expect<LevelError>("ckks.evaluate", [&] {
    evaluate(e, {PolynomialBasis::Monomial, {0, 0, 1}}, low);
  });
}

TEST_F(CkksErrors, LimbsThatAreNotThere) {
  const Params& params = world().params();
  int refused = 0;
  for (int from = 1; from <= top; ++from) {
    for (int to = 0; to < from; ++to) {
      const Ciphertext y = world().encrypt(u, from);
      if (params.basis(from).contains(params.basis(to))) {
        EXPECT_EQ(e.drop_to(y, to).level, to);
        EXPECT_EQ(e.drop_to(y, to).scale, y.scale);
      } else {
        ++refused;
        expect<LevelError>("ckks.drop_to", [&] { e.drop_to(y, to); });
      }
    }
  }
  EXPECT_GT(refused, 0);  // rational rescaling: some primes enter on the way down
}

TEST_F(CkksErrors, Scales) {
  const Ciphertext y = world().encrypt(u, top, x.scale * 1.001);
  expect<ScaleError>("ckks.add", [&] { e.add(x, y); });
  const Plaintext p = encode(world().context(), u, top, x.scale / 2);
  expect<ScaleError>("ckks.add", [&] { e.add(x, p); });
  const Plaintext large = encode(world().context(), u, 1, std::exp2(60));
  expect<ScaleError>("ckks.multiply", [&] { e.multiply(world().encrypt(u, 1), large); });
  expect<ScaleError>("ckks.to_level_scale", [&] { e.to_level_scale(x, top - 1, 3.0); });
  expect<ScaleError>("ckks.to_level_scale", [&] { e.to_level_scale(x, top, x.scale / 2); });
  expect<ScaleError>("ckks.multiply_scalar",
                     [&] { e.multiply_scalar_no_rescale(world().encrypt(u, 0), 1.0, 1e9); });
}

// A coefficient that reaches half the modulus would be decrypted as another number.
TEST_F(CkksErrors, ConstantsThatWrapAround) {
  const Params& params = world().params();
  for (const int level : {0, 1, top}) {
    const Ciphertext y = world().encrypt(u, level);
    const double most = std::exp2(params.log_q(level) - 1) / params.scale(level);
    EXPECT_NO_THROW(e.add_scalar(y, 0.99 * most));
    expect<ScaleError>("ckks.add_scalar", [&] { e.add_scalar(y, {0, -1.01 * most}); });
    if (level == 0) continue;
    expect<ScaleError>("ckks.multiply_scalar", [&] { e.multiply_scalar(y, 1.01 * most); });
    expect<ScaleError>("ckks.product_sum", [&] {
      evaluate(e, {PolynomialBasis::Monomial, {0, 1.01 * most}}, y);
    });
  }
}

TEST_F(CkksErrors, SlotsAndParts) {
  const Ciphertext few = world().encrypt(world().values(8), top);
  expect<ShapeError>("ckks.add", [&] { e.add(x, few); });
  const Plaintext p = encode(world().context(), world().values(8), top, x.scale);
  expect<ShapeError>("ckks.multiply", [&] { e.multiply(x, p); });
  expect<ShapeError>("ckks.relinearize", [&] { e.relinearize(x); });
  const Ciphertext three = e.tensor(x, x);
  expect<ShapeError>("ckks.rotate", [&] { e.rotate(three, 1); });
  expect<ShapeError>("ckks.tensor", [&] { e.tensor(three, x); });
  expect<ShapeError>("ckks.multiply", [&] { e.multiply(x, three); });
  expect<ShapeError>("ckks.inner_sum", [&] { e.inner_sum(x, 1, 3); });
  expect<ShapeError>("ckks.inner_sum", [&] { e.inner_sum_by_fours(std::span(&x, 1), 1, 3); });
}

TEST_F(CkksErrors, NumbersThatAreNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  expect<ValueError>("ckks.add_scalar", [&] { e.add_scalar(x, nan); });
  expect<ValueError>("ckks.multiply_scalar", [&] { e.multiply_scalar(x, {0, infinity}); });
  expect<ScaleError>("ckks.add_scalar", [&] { e.add_scalar(x, 1e307); });
}

TEST_F(CkksErrors, PlaintextsOfOtherLevels) {
  const Plaintext p = encode(world().context(), u, top, x.scale);
  const Params& params = world().params();
  for (int level = 0; level < top; ++level) {
    const Ciphertext y = world().encrypt(u, level, x.scale);
    if (params.basis(top).contains(params.basis(level))) {
      EXPECT_GT(bits_of(world().decrypt(e.sub(y, p)), World::Values(512)), 26);
    } else {
      expect<LevelError>("ckks.add", [&] { e.add(y, p); });
    }
  }
}

}  // namespace
}  // namespace latticino::ckks
