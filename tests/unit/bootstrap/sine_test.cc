#include "ckks/bootstrap/sine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ckks/bootstrap/eval_mod.h"
#include "math/errors.h"

namespace latticino::ckks::bootstrap {
namespace {

// log2 of the largest error of the composition around integers of magnitude i.
double log_error(const SinePolynomial& p, int i, double eps, bool identity = false) {
  const long double pi = std::acos(-1.0L);
  double worst = 1e-300;
  for (int sign : {-1, 1}) {
    for (double e : {-eps, -eps / 2, 0.0, eps / 2, eps}) {
      const double x = sign * i + e;
      const double want =
          identity ? e
                   : static_cast<double>(std::sin(2 * pi * static_cast<long double>(e)) / (2 * pi));
      worst = std::max(worst, std::abs(p.evaluate(x) - want));
    }
  }
  return std::log2(worst);
}

TEST(OverflowDensity, MatchesIrwinHall) {
  // log2 f_32(I), from the exact alternating sums.
  const double expected[][2] = {{0, -2.1},   {4, -6.3},   {6, -11.7},  {8, -19.9},
                                {10, -31.5}, {12, -48.2}, {14, -75.4}, {16, -149.7}};
  for (const auto& [i, log_density] : expected) {
    EXPECT_NEAR(std::log2(overflow_density(32, i)), log_density, 0.06) << i;
    EXPECT_DOUBLE_EQ(overflow_density(32, i), overflow_density(32, -i));
  }
  EXPECT_EQ(overflow_density(32, 17), 0);
  double sum = 0;
  for (int i = -16; i <= 16; ++i) sum += overflow_density(32, i);
  EXPECT_NEAR(sum, 1, 1e-12);  // B-splines at the integers add up to 1
}

TEST(Sine, LeastSquaresMatchesAnIndependentSolution) {
  // Computed elsewhere with 60 decimal digits, for K = 16, r = 3, degree 30, weight 32, ratio 2^5.
  const double expected[] = {
      0.12517825331584478839,    0.28944890783472078563,    0.36273522624986063659,
      0.30111544478885671837,    -0.10550044484378129802,   -0.43588220556543763369,
      0.37483133753615781786,    -0.14820740210508666326,   0.03665637580322249311,
      -0.0063872008759215911786, 0.0008373127421943892961,  -0.000086271946769734160068,
      7.1455530592459659041e-6,  -5.1265974419968622666e-7, 2.4062970081455336576e-8,
      -2.291428373228067028e-9};
  const SinePolynomial p = sine_least_squares(16, 3, 30, false, 32, 5);
  ASSERT_EQ(p.coefficients.size(), 31u);
  for (int k = 0; k < 16; ++k) {
    EXPECT_NEAR(p.coefficients[2 * k], expected[k], 1e-15) << k;
    if (k > 0) {
      EXPECT_EQ(p.coefficients[2 * k - 1], 0);
    }
  }
}

TEST(Sine, LeastSquaresProfile) {
  const SinePolynomial p = sine_least_squares(16, 3, 30, false, 32, 5);
  EXPECT_EQ(p.depth(), 8);
  const double profile[][2] = {{0, -46},    {2, -47},  {4, -44},  {6, -44},
                               {8, -38},    {10, -34}, {11, -29}, {12, -22.5},
                               {13, -20.5}, {14, -19}, {15, -18}, {16, -16.5}};
  for (const auto& [i, bound] : profile) {
    EXPECT_LT(log_error(p, static_cast<int>(i), 0x1p-5), bound) << i;
  }
}

TEST(Sine, ClosedFormIsUniform) {
  // Degrees that reach 2^-40 everywhere below K.
  const int sets[][3] = {{8, 3, 24}, {16, 2, 52}, {16, 3, 34}, {25, 2, 70}, {32, 4, 36}};
  for (const auto& [k, r, degree] : sets) {
    const SinePolynomial p = sine_closed_form(k, r, degree, false);
    for (int i = 0; i < k; ++i) EXPECT_LT(log_error(p, i, 0x1p-6), -39) << k << " " << i;
  }
}

TEST(Sine, ClosedFormLeadsWithBesselFunctions) {
  const SinePolynomial p = sine_closed_form(16, 3, 40, false);
  const double a = 4 * std::acos(-1.0), amp = std::pow(2 * std::acos(-1.0), -0.125);
  EXPECT_NEAR(p.coefficients[0], amp * std::cyl_bessel_j(0, a), 1e-14);
  for (int k = 2; k <= 40; k += 2) {
    const double sign = k % 4 == 0 ? 2 : -2;
    EXPECT_NEAR(p.coefficients[k], sign * amp * std::cyl_bessel_j(k, a), 1e-14) << k;
  }
}

TEST(Sine, ArcsineRemovesTheCubicTerm) {
  const SinePolynomial plain = sine_closed_form(16, 3, 40, false);
  const SinePolynomial corrected = sine_closed_form(16, 3, 40, true);
  EXPECT_EQ(corrected.depth(), plain.depth() + 3);
  for (int i : {0, 5, 14}) {
    EXPECT_NEAR(log_error(plain, i, 0x1p-5, true), std::log2(6.58) - 15, 0.2);
    EXPECT_LT(log_error(corrected, i, 0x1p-5, true), -28);
  }
}

TEST(Sine, ParameterSetsChooseTheBetterForm) {
  BootstrapLiteral literal;
  EXPECT_EQ(sine_polynomial(literal).coefficients,
            sine_least_squares(16, 3, 30, false, 32, 5).coefficients);
  literal.evalmod_degree = 40;
  EXPECT_EQ(sine_polynomial(literal).coefficients, sine_closed_form(16, 3, 40, false).coefficients);
  literal.evalmod_degree = 1000;
  EXPECT_THROW(sine_polynomial(literal), ParameterError);
}

// Ranges of phases under dense keys: the sine is right everywhere, and takes few levels.
TEST(Sine, ForAnyRange) {
  for (const int range : {16, 52, 103, 148}) {
    const auto p = sine_for_range(range, false, 11);
    ASSERT_TRUE(p) << range;
    EXPECT_EQ(p->range_k, range);
    EXPECT_LE(p->depth(), 11) << range;
    for (int i = 0; i < range; ++i) EXPECT_LT(log_error(*p, i, 0x1p-6), -36) << range << " " << i;
  }
  EXPECT_LE(sine_for_range(16, false, 8)->depth(), 8);
  EXPECT_FALSE(sine_for_range(103, false, 8));
  EXPECT_LT(log_error(*sine_for_range(16, true, 14), 7, 0x1p-8, true), -36);
}

}  // namespace
}  // namespace latticino::ckks::bootstrap
