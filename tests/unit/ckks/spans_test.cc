// Functions of several ciphertexts give the same words as functions of single ones, whatever shares
// a launch.
#include <gtest/gtest.h>

#include "ckks/evaluator/batches.h"
#include "ckks/evaluator/evaluator.h"
#include "ckks/evaluator/scalar_inputs.h"
#include "math/errors.h"
#include "support/ckks_world.h"
#include "support/preset_names.h"

namespace latticino::ckks {
namespace {

using Span = std::span<const Ciphertext>;

class CkksSpans : public ::testing::TestWithParam<const char*> {
 protected:
  World& world() { return World::of(GetParam()); }

  // More than share a launch, with a change of level among them.
  World::Batch ciphertexts(unsigned seed) {
    const int top = world().params().default_level();
    World::Batch out;
    for (std::size_t i = 0; i < kMaxBatch + 3; ++i) {
      const auto values = world().values(world().params().max_slots(), seed + i);
      out.push_back(world().encrypt(values, i < 4 ? top : top - 1));
    }
    return out;
  }

  void expect_equal(const World::Batch& got, const World::Batch& expected, const char* what) {
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].str(), expected[i].str()) << what << " " << i;
      EXPECT_EQ(got[i].scale, expected[i].scale) << what << " " << i;
      ASSERT_EQ(got[i].parts.size(), expected[i].parts.size());
      for (std::size_t h = 0; h < got[i].parts.size(); ++h) {
        EXPECT_EQ(world().download(got[i].parts[h]), world().download(expected[i].parts[h]))
            << what << " " << i << " part " << h;
      }
    }
  }

  // x^2 + 2 x y as `dot` defines it: lowest level first, then products, one key switch.
  Ciphertext dot_of_products(const Evaluator& e, const Ciphertext& x, const Ciphertext& y) {
    const int level = world().params().default_level() - 1;
    const Ciphertext a = x.level > level ? e.to_level(x, level) : x;
    const Ciphertext b = y.level > level ? e.to_level(y, level) : y;
    return e.relinearize_rescale(e.add(e.add(e.tensor(a, a), e.tensor(b, a)), e.tensor(a, b)));
  }

  template <class One>
  static World::Batch one_by_one(const World::Batch& x, const One& one) {
    World::Batch out;
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(one(i));
    return out;
  }
};

// Numbers that a recorded program gets in every run: results are the same as with constants.
TEST_P(CkksSpans, NumbersOfARun) {
  const World::Batch x = ciphertexts(7);
  const Evaluator e(world().context(), nullptr);
  const auto numbers = std::make_shared<ScalarInputs>(world().context());
  const Complex bound(2, 2);
  World::Batch product, sum;
  Queue& queue = world().context()->queue();
  // Numbers that are written before a run must not be overwritten by fills of their blocks.
  queue.poison(true);
  auto program = queue.record([&] {
    numbers->set(0, {1, 1}, bound);
    numbers->set(1, 0.5, bound);
    product = e.multiply_scalar(x, {*numbers, 0});
    sum = e.add_scalar(e.multiply_scalar(x, {*numbers, 1}), {*numbers, 0});
  });
  queue.poison(false);
  for (const Complex c : {Complex(0.3, -0.7), Complex(0), Complex(-2, 2), Complex(1e-300, 0),
                          Complex(-1), Complex(0, 1.25)}) {
    const std::vector<Complex> values = {c, std::conj(c)};
    numbers->write(numbers->residues(values));
    program.run();
    expect_equal(product, e.multiply_scalar(x, c), "multiply_scalar");
    expect_equal(sum, e.add_scalar(e.multiply_scalar(x, std::conj(c)), c), "add_scalar");
  }
  const auto refuse = [&](std::vector<Complex> values) { return numbers->residues(values); };
  EXPECT_THROW(refuse({1.0}), ShapeError);
  EXPECT_THROW(refuse({1.0, 2.1}), ValueError);
  EXPECT_THROW(refuse({1.0, Complex(0, std::nan(""))}), ValueError);
  numbers->set(2, 1, Complex(1e300, 0));
  EXPECT_THROW(e.add_scalar(x, {*numbers, 2}), ScaleError) << "a range beyond the modulus";
  EXPECT_THROW(numbers->set(0, 1, bound), UnsupportedError) << "another value when called again";
}

// The second call of a recorded function may only use numbers that the first one has used.
TEST_P(CkksSpans, NumbersOfARunAreTheSameAtEveryCall) {
  const World::Batch x = ciphertexts(8);
  const Evaluator e(world().context(), nullptr);
  ScalarInputs numbers(world().context());
  numbers.set(0, 1, Complex(2, 0));
  int calls = 0;
  EXPECT_THROW(world().context()->queue().record([&] {
    if (++calls == 2) e.add_scalar(x, {numbers, 0});
  }),
               UnsupportedError);
}

TEST_P(CkksSpans, WithoutKeys) {
  // Different levels next to each other.
  const World::Batch x = ciphertexts(1), y(x.rbegin(), x.rend());
  const Evaluator e(world().context(), nullptr);
  const int level = world().params().default_level() - 1;
  std::vector<Plaintext> factors;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto values = world().values(world().params().max_slots(), 50 + i);
    factors.push_back(encode(world().context(), values, level, world().params().scale(level)));
  }
  const Complex c(0.3, -0.7);
  expect_equal(e.add(x, y), one_by_one(x, [&](auto i) { return e.add(x[i], y[i]); }), "add");
  expect_equal(e.sub(x, y), one_by_one(x, [&](auto i) { return e.sub(x[i], y[i]); }), "sub");
  expect_equal(e.add_scalar(x, c), one_by_one(x, [&](auto i) { return e.add_scalar(x[i], c); }),
               "add_scalar");
  expect_equal(e.multiply_scalar(x, c),
               one_by_one(x, [&](auto i) { return e.multiply_scalar(x[i], c); }),
               "multiply_scalar");
  expect_equal(e.multiply_integer(x, -5),
               one_by_one(x, [&](auto i) { return e.multiply_integer(x[i], -5); }),
               "multiply_integer");
  expect_equal(e.multiply_i(x, 3), one_by_one(x, [&](auto i) { return e.multiply_i(x[i], 3); }),
               "multiply_i");
  expect_equal(e.to_level(x, level - 1),
               one_by_one(x, [&](auto i) { return e.to_level(x[i], level - 1); }), "to_level");
  expect_equal(e.multiply(Span(x), factors),
               one_by_one(x, [&](auto i) { return e.multiply(x[i], factors[i]); }),
               "multiply by plaintexts");
}

TEST_P(CkksSpans, WithKeys) {
  const World::Batch x = ciphertexts(2);
  const auto programs = [&](bool together) {
    return [&, together](const Evaluator& e, const World::Batch& b) {
      const World::Batch reversed(b.rbegin(), b.rend());
      World::Batch out;
      const auto keep = [&](const World::Batch& more) {
        out.insert(out.end(), more.begin(), more.end());
      };
      if (together) {
        keep(e.rotate(b, 3)), keep(e.rotate(b, 0)), keep(e.conjugate(b));
        keep(e.multiply(Span(b), Span(reversed))), keep(e.multiply(Span(b), Span(b)));
        keep(e.inner_sum(b, 2, 4)), keep(e.inner_sum_by_fours(b, 2, 8));
        keep(e.dot(std::vector{b, reversed, b}, std::vector{b, b, reversed}));
      } else {
        keep(one_by_one(b, [&](auto i) { return e.rotate(b[i], 3); }));
        keep(b);
        keep(one_by_one(b, [&](auto i) { return e.conjugate(b[i]); }));
        keep(one_by_one(b, [&](auto i) { return e.multiply(b[i], reversed[i]); }));
        keep(one_by_one(b, [&](auto i) { return e.square(b[i]); }));
        keep(one_by_one(b, [&](auto i) { return e.inner_sum(b[i], 2, 4); }));
        keep(one_by_one(b, [&](auto i) { return e.inner_sum_by_fours(Span(&b[i], 1), 2, 8)[0]; }));
        keep(one_by_one(b, [&](auto i) { return dot_of_products(e, b[i], reversed[i]); }));
      }
      return out;
    };
  };
  rlwe::KeyRequest needed;
  world().dry_run(programs(true), x, &needed);
  const Evaluator e(world().context(), world().make_keys(needed));
  expect_equal(programs(true)(e, x), programs(false)(e, x), "with keys");
}

// The records of one rotation of each of `count` ciphertexts of 13 limbs.
DryReport rotations(std::size_t count) {
  const auto params = preset("n16-d40-boot-v1");
  const session::DryRun dry(Context::create_dry(params));
  int level = params->default_level();
  while (params->limbs(level) > 13) --level;
  World::Batch x;
  for (std::size_t i = 0; i < count; ++i) {
    x.push_back(
        session::shape_only(dry.context(), level, params->scale(level), params->max_slots()));
  }
  dry.evaluator().rotate(Span(x), 1);
  return dry.report();
}

// The batch whose time docs/lab/operations.md states.
TEST(CkksBatches, SixteenRotationsAreOne) {
  const DryReport one = rotations(1);
  EXPECT_EQ(rotations(16).operations_by_name, one.operations_by_name);
  EXPECT_EQ(one.operations_by_name.at("KeyInner"), 1u);
  EXPECT_EQ(rotations(17).operations_by_name.at("KeyInner"), 2u);
}

TEST_P(CkksSpans, RefusesSpansOfTwoLengths) {
  const World::Batch x = ciphertexts(3), shorter(x.begin(), x.end() - 1);
  const Evaluator e(world().context(), nullptr);
  EXPECT_THROW(e.add(x, shorter), ShapeError);
  EXPECT_THROW(e.multiply(Span(x), std::span<const Plaintext>{}), ShapeError);
  EXPECT_TRUE(e.add(Span{}, Span{}).empty());
  EXPECT_THROW(e.dot(std::vector<World::Batch>{x}, std::vector<World::Batch>{shorter}), ShapeError);
  EXPECT_THROW(e.dot({}, {}), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Presets, CkksSpans,
                         ::testing::Values("test-n10-leveled-insecure", "test-n10-sr-insecure",
                                           "test-n10-bitpacker-insecure",
                                           "test-n10-d34-w28-boot-insecure",
                                           "test-n10-d36-w28-free-insecure"),
                         test::preset_name);

}  // namespace
}  // namespace latticino::ckks
