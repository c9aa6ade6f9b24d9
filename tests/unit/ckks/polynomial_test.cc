#include "ckks/polynomial/polynomial.h"

#include "ckks/polynomial/plan.h"
#include "math/errors.h"
#include "support/ckks_world.h"

namespace latticino::ckks {
namespace {

// Inputs have 30 bits of precision; p' amplifies their noise by up to degree^2 / (1 + degree) here.
constexpr double kBits = 27;

World& world() { return World::of("test-n10-leveled-insecure"); }

Complex clear_value(const Polynomial& p, Complex x) {
  const Complex y = (2.0 * x - p.lower - p.upper) / (p.upper - p.lower);
  Complex before = 1, now = y, sum = 0, power = 1;
  for (std::size_t i = 0; i < p.coefficients.size(); ++i) {
    if (p.basis == PolynomialBasis::Monomial) {
      sum += p.coefficients[i] * power;
      power *= y;
    } else {
      sum += p.coefficients[i] * before;
      const Complex next = 2.0 * y * now - before;
      before = now;
      now = next;
    }
  }
  return sum;
}

// Decreasing coefficients, so that values stay near 1.
Polynomial random_polynomial(PolynomialBasis basis, int degree, int step, int first) {
  Polynomial p{basis, std::vector<Complex>(degree + 1)};
  const World::Values v = world().real_values(degree + 1, 7);
  for (int i = first; i <= degree; i += step) p.coefficients[i] = v[i] / double(1 + i);
  p.coefficients[degree] = 0.5;
  return p;
}

World::Values inputs(double lower = -1, double upper = 1) {
  return mapped(world().real_values(512),
                [&](Complex z) { return 0.5 * (lower + upper) + 0.5 * (upper - lower) * z; });
}

// Largest |p'| at the inputs.
double steepest(const Polynomial& p, const World::Values& u) {
  constexpr double kStep = 1e-6;
  double most = 0;
  for (const Complex z : u) {
    most = std::max(most, std::abs(clear_value(p, z + kStep) - clear_value(p, z - kStep)));
  }
  return most / (2 * kStep);
}

// The input's error is multiplied by the derivative. Every product adds a rounding error.
void expect_evaluation(const Polynomial& p, const World::Values& u, int level, double scale = 0) {
  const Ciphertext y =
      world().run([&](const Evaluator& e, const Ciphertext& x) { return evaluate(e, p, x, scale); },
                  world().encrypt(u, level));
  EXPECT_EQ(y.level, level - p.levels());
  EXPECT_EQ(y.scale, scale > 0 ? scale : world().params().scale(y.level));
  EXPECT_GT(bits_of(world().decrypt(y), mapped(u, [&](Complex z) { return clear_value(p, z); })),
            kBits - std::log2(2.0 + p.degree() + steepest(p, u)))
      << "degree " << p.degree() << " at level " << level;
}

TEST(CkksPolynomial, EveryDegree) {
  for (const auto basis : {PolynomialBasis::Monomial, PolynomialBasis::Chebyshev}) {
    for (int degree = 0; degree <= 19; ++degree) {
      const Polynomial p = random_polynomial(basis, degree, 1, 0);
      expect_evaluation(p, inputs(), world().params().top_level());
    }
    for (const int degree : {31, 32, 40, 63}) {
      expect_evaluation(random_polynomial(basis, degree, 1, 0), inputs(),
                        world().params().top_level());
    }
  }
}

TEST(CkksPolynomial, EvenAndOdd) {
  for (const auto basis : {PolynomialBasis::Monomial, PolynomialBasis::Chebyshev}) {
    for (const int degree : {7, 15, 27, 31}) {
      expect_evaluation(random_polynomial(basis, degree, 2, 1), inputs(), 6);
      expect_evaluation(random_polynomial(basis, degree - 1, 2, 0), inputs(), 6);
    }
  }
}

TEST(CkksPolynomial, EveryLevelAndScale) {
  const Polynomial p = random_polynomial(PolynomialBasis::Chebyshev, 7, 1, 0);
  for (int level = 3; level <= world().params().top_level(); ++level) {
    expect_evaluation(p, inputs(), level);
    expect_evaluation(p, inputs(), level, 1.3 * world().params().scale(0));
  }
}

TEST(CkksPolynomial, ComplexCoefficients) {
  Polynomial p = random_polynomial(PolynomialBasis::Monomial, 5, 1, 0);
  p.coefficients[0] = {0.1, -0.7};
  p.coefficients[3] = {0, 0.6};
  p.coefficients[4] = {-0.2, 0.3};
  expect_evaluation(p, mapped(world().values(512), [](Complex z) { return 0.7 * z; }), 4);
}

TEST(CkksPolynomial, Intervals) {
  Polynomial p = random_polynomial(PolynomialBasis::Chebyshev, 7, 1, 0);
  for (const auto& [lower, upper, levels] :
       {std::tuple{-8.0, 8.0, 4}, {0.0, 3.0, 4}, {-0.25, 0.25, 3}, {1.0, 3.0, 3}, {-0.5, 0.5, 3}}) {
    p.lower = lower;
    p.upper = upper;
    EXPECT_EQ(p.levels(), levels);
    expect_evaluation(p, inputs(lower, upper), 5);
  }
  p.upper = p.lower;
  EXPECT_THROW(p.levels(), ValueError);
}

TEST(CkksPolynomial, BatchesAreTheSameBits) {
  const Polynomial p = random_polynomial(PolynomialBasis::Chebyshev, 15, 2, 1);
  const World::Values u = inputs(), v = mapped(u, [](Complex z) { return z * z; });
  const World::Batch y = world().run(
      [&](const Evaluator& e, const World::Batch& x) {
        World::Batch out = evaluate(e, p, x);
        for (const Ciphertext& c : x) out.push_back(evaluate(e, p, c));
        return out;
      },
      {world().encrypt(u, 5), world().encrypt(v, 5)});
  for (int i = 0; i < 2; ++i) {
    for (int h = 0; h < 2; ++h) {
      EXPECT_EQ(world().download(y[i].parts[h]), world().download(y[i + 2].parts[h]));
    }
  }
  EXPECT_GT(bits_of(world().decrypt(y[1]), mapped(v, [&](Complex z) { return clear_value(p, z); })),
            kBits - 4);
}

TEST(CkksPolynomial, FewProducts) {
  const auto count = [](int degree, int step, int first) {
    return product_count(random_polynomial(PolynomialBasis::Chebyshev, degree, step, first));
  };
  // Depth-optimal counts: the odd ones as in Lee et al. 2022; the last is the EvalMod cosine.
  EXPECT_EQ(count(15, 2, 1), 8);
  EXPECT_EQ(count(27, 2, 1), 10);
  EXPECT_EQ(count(30, 2, 0), 9);
  EXPECT_EQ(count(3, 1, 0), 2);
  EXPECT_EQ(count(1, 1, 0), 0);
}

TEST(CkksPolynomial, DepthIsOptimal) {
  for (int degree = 1; degree < 70; ++degree) {
    const Polynomial p = random_polynomial(PolynomialBasis::Chebyshev, degree, 1, 0);
    EXPECT_EQ(p.depth(), static_cast<int>(std::ceil(std::log2(degree + 1))));
  }
}

// From level 15 of this set on, eight levels have one scale.
TEST(CkksPolynomial, LargeDegrees) {
  World& boot = World::of("test-n10-boot-insecure");
  const World::Values u = boot.real_values(512);
  for (const int degree : {127, 255}) {
    Polynomial p{PolynomialBasis::Chebyshev, std::vector<Complex>(degree + 1)};
    for (int i = 0; i <= degree; ++i) p.coefficients[i] = 1.0 / (1 + i * i);
    const Ciphertext y =
        boot.run([&](const Evaluator& e, const Ciphertext& x) { return evaluate(e, p, x); },
                 boot.encrypt(u, 15));
    EXPECT_EQ(y.level, 15 - p.depth());
    EXPECT_GT(bits_of(boot.decrypt(y), mapped(u, [&](Complex z) { return clear_value(p, z); })),
              24);
  }
}

// A square at a level whose prime is larger than its scale has a smaller scale, the square of that
// a far smaller one.
TEST(CkksPolynomial, RefusesScalesThatVanish) {
  World& boot = World::of("test-n10-boot-insecure");
  const Ciphertext x = boot.encrypt(boot.real_values(512), 19);
  Polynomial p{PolynomialBasis::Chebyshev, std::vector<Complex>(32)};
  p.coefficients[31] = 1;
  const auto evaluated = [&] {
    return boot.run([&](const Evaluator& e, const Ciphertext& c) { return evaluate(e, p, c); }, x);
  };
  EXPECT_THROW(evaluated(), ScaleError);
}

TEST(CkksPolynomial, RefusesWhatItCannotDo) {
  const Polynomial p = random_polynomial(PolynomialBasis::Chebyshev, 7, 1, 0);
  const Ciphertext x = world().encrypt(inputs(), 2);
  EXPECT_THROW(evaluate(Evaluator(world().context(), nullptr), p, x), LevelError);
  const Ciphertext y = world().encrypt(inputs(), 4);
  EXPECT_THROW(evaluate(Evaluator(world().context(), nullptr), p, y), KeyError);
  Polynomial bad = p;
  bad.coefficients[2] = std::nan("");
  EXPECT_THROW(bad.degree(), ValueError);
}

}  // namespace
}  // namespace latticino::ckks
