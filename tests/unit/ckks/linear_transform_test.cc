#include "ckks/linear/linear_transform.h"

#include <set>

#include "ckks/linear/baby_giant.h"
#include "ckks/linear/matrix.h"
#include "math/errors.h"
#include "support/ckks_world.h"

namespace latticino::ckks {
namespace {

constexpr double kBits = 24;

World& world() { return World::of("test-n10-leveled-insecure"); }

Diagonals random_diagonals(const std::vector<int>& indices, int slots, unsigned seed) {
  Diagonals out;
  for (const int d : indices) out[d] = world().values(slots, ++seed);
  return out;
}

World::Values product(const Diagonals& diagonals, const World::Values& x) {
  World::Values y(x.size());
  for (const auto& [d, v] : diagonals) {
    const World::Values r = rotated(x, d);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] += v[i] * r[i];
  }
  return y;
}

// The transform of world().values(slots) at `level`, run with only the keys that it asks for.
Ciphertext transformed(const Diagonals& diagonals, int slots,
                       const LinearTransform::Options& options) {
  const Ciphertext x = world().encrypt(world().values(slots), options.level);
  return world().run(
      [&](const Evaluator& e, const Ciphertext& c) {
        return LinearTransform(e.context(), diagonals, slots, options).apply(e, c);
      },
      x);
}

void expect_product(const Diagonals& diagonals, int slots, LinearTransform::Options options) {
  const World::Values expected =
      rotated(product(diagonals, world().values(slots)), options.pre_rotation);
  const Ciphertext y = transformed(diagonals, slots, options);
  EXPECT_EQ(y.level, options.level - 1);
  EXPECT_EQ(y.scale, world().params().scale(options.level - 1));
  EXPECT_GT(bits_of(world().decrypt(y), expected), kBits);
}

TEST(CkksLinearTransform, AnyDiagonalsAtAnyLevel) {
  for (int level = 1; level <= world().params().default_level(); ++level) {
    expect_product(random_diagonals({0, 1, 2, 5, 77, 300, 511, -3}, 512, 10), 512, {level});
  }
}

// Diagonals are encoded modulo the auxiliary primes of the level's band, too.
TEST(CkksLinearTransform, AnyDiagonalsAtLevelsOfBands) {
  World& w = World::of("test-n10-bands-insecure");
  const Diagonals diagonals = random_diagonals({0, 1, 2, 5, 77, 300, 511, -3}, 512, 10);
  for (int level = 1; level <= w.params().default_level(); ++level) {
    for (const bool merged : {false, true}) {
      const Ciphertext y = w.run(
          [&](const Evaluator& e, const Ciphertext& c) {
            return LinearTransform(e.context(), diagonals, 512, {.level = level, .merged = merged})
                .apply(e, c);
          },
          w.encrypt(w.values(512), level));
      EXPECT_EQ(y.scale, w.params().scale(level - 1));
      EXPECT_GT(bits_of(w.decrypt(y), product(diagonals, w.values(512))), kBits) << level;
    }
  }
}

TEST(CkksLinearTransform, OneDiagonal) {
  for (const int d : {0, 1, 64, -1}) expect_product(random_diagonals({d}, 512, 3), 512, {2});
  expect_product(Diagonals{{4, World::Values(512)}}, 512, {2});  // the zero matrix
}

TEST(CkksLinearTransform, DenseOnFewSlots) {
  std::vector<int> all(16);
  for (int d = 0; d < 16; ++d) all[d] = d;
  expect_product(random_diagonals(all, 16, 5), 16, {3});
}

TEST(CkksLinearTransform, BabySteps) {
  std::vector<int> band;
  for (int d = -7; d <= 7; ++d) band.push_back(4 * d);
  const Diagonals diagonals = random_diagonals(band, 512, 20);
  for (const int steps : {0, 1, 2, 4, 16, 128}) {
    expect_product(diagonals, 512, {.level = 3, .baby_steps = steps});
  }
}

TEST(CkksLinearTransform, PreRotationMakesIndicesNonNegative) {
  std::vector<int> band;
  for (int d = -7; d <= 7; ++d) band.push_back(4 * d);
  const Diagonals diagonals = random_diagonals(band, 512, 20);
  LinearTransform::Options options{.level = 3, .baby_steps = 4, .pre_rotation = 28};
  expect_product(diagonals, 512, options);
  const std::set<int> allowed{4, 8, 12, 16, 32, 48};
  for (const int r : LinearTransform(world().context(), diagonals, 512, options).rotations()) {
    EXPECT_TRUE(allowed.contains(r)) << r;
  }
  // The next transform undoes the rotation.
  const Diagonals second = random_diagonals({-2, 0, 2}, 512, 40);
  const World::Values u = world().values(512);
  const Ciphertext y = world().run(
      [&](const Evaluator& e, const Ciphertext& c) {
        const LinearTransform a(e.context(), diagonals, 512, options);
        const LinearTransform b(e.context(), for_rotated_input(second, 28, 512), 512, {2});
        return b.apply(e, a.apply(e, c));
      },
      world().encrypt(u, 3));
  EXPECT_GT(bits_of(world().decrypt(y), product(second, product(diagonals, u))), kBits - 3);
}

TEST(CkksLinearTransform, MinimalKeys) {
  std::vector<int> band;
  for (int d = 0; d <= 14; ++d) band.push_back(4 * d);
  const Diagonals diagonals = random_diagonals(band, 512, 20);
  const LinearTransform::Options options{.level = 3, .baby_steps = 4, .hoisted = false};
  expect_product(diagonals, 512, options);
  EXPECT_EQ(LinearTransform(world().context(), diagonals, 512, options).rotations(),
            (std::vector<int>{4, 16}));
  expect_product(random_diagonals({0, 3, 5, 9}, 512, 2), 512, {.level = 2, .hoisted = false});
  // Hoisted and iterated agree to the rounding of both.
  const World::Values a = world().decrypt(transformed(diagonals, 512, options));
  const World::Values b =
      world().decrypt(transformed(diagonals, 512, {.level = 3, .baby_steps = 4}));
  EXPECT_GT(bits_of(a, b), kBits);
}

TEST(CkksLinearTransform, BatchesAreTheSameBits) {
  const Diagonals diagonals = random_diagonals({0, 1, 2, 3, 16, 17, 35}, 512, 10);
  const World::Batch x{world().encrypt(world().values(512, 1), 4),
                       world().encrypt(world().values(512, 2), 3)};
  const World::Batch y = world().run(
      [&](const Evaluator& e, const World::Batch& in) {
        const LinearTransform t(e.context(), diagonals, 512, {3});
        World::Batch out = t.apply(e, in);
        for (const Ciphertext& c : in) out.push_back(t.apply(e, c));
        return out;
      },
      x);
  for (int i = 0; i < 2; ++i) {
    EXPECT_GT(bits_of(world().decrypt(y[i]), product(diagonals, world().values(512, i + 1))),
              kBits);
    for (int h = 0; h < 2; ++h) {
      EXPECT_EQ(world().download(y[i].parts[h]), world().download(y[i + 2].parts[h]));
    }
  }
}

TEST(CkksLinearTransform, PlaintextScaleIsKept) {
  const Diagonals diagonals = random_diagonals({0, 1, 9}, 512, 10);
  const double scale = world().params().rescale_factor(3) / 4;
  const Ciphertext y = transformed(diagonals, 512, {.level = 3, .plaintext_scale = scale});
  EXPECT_DOUBLE_EQ(y.scale, world().params().scale(3) / 4);
  EXPECT_GT(bits_of(world().decrypt(y), product(diagonals, world().values(512))), kBits - 2);
}

TEST(CkksLinearTransform, RaisedLevelsKeepTheScale) {
  World& w = World::of("test-n10-boot-insecure");
  const int level = w.params().top_level();
  const Diagonals diagonals = random_diagonals({0, 1, 2, 3, 4, 5, 6, 7, 8}, 512, 10);
  const double scale = std::exp2(45);
  const Ciphertext y = w.run(
      [&](const Evaluator& e, const Ciphertext& c) {
        return LinearTransform(e.context(), diagonals, 512, {level}).apply(e, c);
      },
      w.encrypt(w.values(512), level, scale));
  EXPECT_EQ(y.scale, scale);
  EXPECT_GT(bits_of(w.decrypt(y), product(diagonals, w.values(512))), kBits);
}

TEST(CkksLinearTransform, RefusesWrongShapes) {
  const auto& c = world().context();
  EXPECT_THROW(LinearTransform(c, random_diagonals({0}, 256, 1), 512, {2}), ShapeError);
  EXPECT_THROW(LinearTransform(c, random_diagonals({0}, 3, 1), 3, {2}), ShapeError);
  EXPECT_THROW(LinearTransform(c, random_diagonals({0}, 512, 1), 512, {0}), LevelError);
  EXPECT_THROW(LinearTransform(c, random_diagonals({0}, 512, 1), 512, {99}), LevelError);
  EXPECT_THROW(
      LinearTransform(c, random_diagonals({0}, 512, 1), 512, {.level = 2, .baby_steps = 3}),
      UnsupportedError);
  const LinearTransform t(c, random_diagonals({0}, 512, 1), 512, {2});
  const Evaluator e(c, nullptr);
  EXPECT_THROW(t.apply(e, world().encrypt(world().values(512), 1)), LevelError);
  EXPECT_THROW(t.apply(e, world().encrypt(world().values(8), 2)), ShapeError);
  const LinearTransform rotating(c, random_diagonals({1}, 512, 1), 512, {2});
  EXPECT_THROW(rotating.apply(e, world().encrypt(world().values(512), 2)), KeyError);
}

TEST(BabyGiant, CoversEveryRotationOnce) {
  std::vector<int> rotations;
  for (int d = 0; d < 63; ++d) rotations.push_back(8 * d);
  const BabyGiant s = split_rotations(rotations, 512, 0, StepCost::Hoisted);
  EXPECT_EQ(s.stride, 8);
  EXPECT_EQ(s.steps, 16) << "15 babies, 3 giants";
  for (const int r : rotations) {
    EXPECT_EQ(s.baby_of(r) + s.giant_of(r), r);
    EXPECT_TRUE(std::binary_search(s.babies.begin(), s.babies.end(), s.baby_of(r)));
    EXPECT_TRUE(std::binary_search(s.giants.begin(), s.giants.end(), s.giant_of(r)));
  }
}

// x @ W with x a packed row vector.
World::Values row_times(const World::Values& x, const World::Values& w, int rows, int columns) {
  World::Values y(columns);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) y[j] += x[i] * w[i * columns + j];
  }
  return y;
}

TEST(CkksMatrix, ProductsOfAnyShape) {
  struct Shape {
    int rows, columns;
  };
  for (const Shape s :
       {Shape{1, 1}, Shape{8, 8}, Shape{5, 12}, Shape{20, 3}, Shape{33, 1}, Shape{1, 16}}) {
    const World::Values x = world().values(s.rows, 1), w = world().values(s.rows * s.columns, 2);
    const Ciphertext y = world().run(
        [&](const Evaluator& e, const Ciphertext& c) {
          return MatrixProduct(e.context(), w, s.rows, s.columns, 512, {3}).apply(e, c);
        },
        world().encrypt(tile(x, 512), 3));
    EXPECT_GT(bits_of(world().decrypt(y), tile(row_times(x, w, s.rows, s.columns), 512)), kBits - 3)
        << s.rows << " x " << s.columns;
  }
}

TEST(CkksMatrix, ChainsOfProducts) {
  const World::Values x = world().values(10, 1), a = world().values(10 * 6, 2),
                      b = world().values(6 * 3, 3);
  const Ciphertext y = world().run(
      [&](const Evaluator& e, const Ciphertext& c) {
        const MatrixProduct first(e.context(), a, 10, 6, 512, {3});
        const MatrixProduct second(e.context(), b, 6, 3, 512, {2});
        EXPECT_EQ(first.output_period(), 8) << "six columns, as the second takes them";
        return second.apply(e, first.apply(e, c));
      },
      world().encrypt(tile(x, 512), 3));
  const World::Values expected = row_times(row_times(x, a, 10, 6), b, 6, 3);
  EXPECT_GT(bits_of(world().decrypt(y), tile(expected, 512)), kBits - 5);
}

TEST(CkksMatrix, RefusesWrongShapes) {
  const World::Values w(12);
  EXPECT_THROW(matrix_diagonals(w, 3, 5, 512), ShapeError);
  EXPECT_THROW(matrix_diagonals(World::Values(1024), 1024, 1, 512), ShapeError);
  EXPECT_THROW(tile(World::Values(600), 512), ShapeError);
  EXPECT_THROW(tile(World::Values(), 512), ShapeError);
}

}  // namespace
}  // namespace latticino::ckks
