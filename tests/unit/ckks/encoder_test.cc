#include "ckks/encoding/encoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "math/errors.h"
#include "math/fft_tables.h"

namespace latticino::ckks {
namespace {

std::vector<Complex> random_slots(int n, unsigned seed) {
  std::mt19937_64 gen(seed);
  std::uniform_real_distribution<double> u(-1, 1);
  std::vector<Complex> z(n);
  for (Complex& x : z) x = {u(gen), u(gen)};
  return z;
}

// Slot j by definition: the polynomial at zeta^(5^j), zeta = exp(i pi / N).
Complex evaluate_slot(const std::vector<std::int64_t>& c, int j, double scale) {
  const int n = static_cast<int>(c.size());
  std::int64_t power = 1;
  for (int i = 0; i < j; ++i) power = power * 5 % (2 * n);
  std::complex<long double> sum = 0;
  for (int k = 0; k < n; ++k) {
    const long double angle = std::acos(-1.0L) * (power * k % (2 * n)) / n;
    sum += std::complex<long double>(std::cos(angle), std::sin(angle)) *
           static_cast<long double>(c[k]);
  }
  return {static_cast<double>(sum.real() / scale), static_cast<double>(sum.imag() / scale)};
}

TEST(UnitRoots, AreRoundedToNearest) {
  for (int log_order : {3, 4, 9, 14}) {
    const std::vector<Root> roots = unit_roots(log_order);
    const std::size_t order = roots.size();
    for (std::size_t k = 0; k < order; ++k) {
      const long double angle = 2 * std::acos(-1.0L) * k / order;
      // The reference's own rounding may decide a tie the other way, which adds half a unit.
      EXPECT_NEAR(roots[k].re, static_cast<double>(std::cos(angle)), 1.2e-16) << k;
      EXPECT_NEAR(roots[k].im, static_cast<double>(std::sin(angle)), 1.2e-16) << k;
      EXPECT_EQ(roots[k].re, roots[(order - k) % order].re);
      EXPECT_EQ(roots[k].re, roots[(k + order / 4) % order].im);
    }
  }
}

TEST(Encoder, EmbedsByDefinition) {
  const Encoder encoder(7);
  const double scale = std::exp2(40);
  for (int slots = 1; slots <= 64; slots *= 2) {
    const std::vector<Complex> z = random_slots(slots, 17 + slots);
    const std::vector<std::int64_t> c = encoder.embed(z, scale);
    for (int j = 0; j < 64; ++j) {
      EXPECT_LT(std::abs(evaluate_slot(c, j, scale) - z[j % slots]), 1e-9) << slots << " " << j;
    }
  }
}

TEST(Encoder, FewSlotsGiveSparsePolynomials) {
  const Encoder encoder(7);
  const std::vector<std::int64_t> c = encoder.embed(random_slots(4, 1), 1e9);
  for (std::size_t k = 0; k < c.size(); ++k) {
    if (k % 16 != 0) {
      EXPECT_EQ(c[k], 0);
    }
  }
}

TEST(Encoder, ProjectInvertsEmbed) {
  for (int log_n : {4, 10, 16}) {
    const Encoder encoder(log_n);
    const double scale = std::exp2(45);
    for (int slots : {1, 8, 1 << (log_n - 1)}) {
      const std::vector<Complex> z = random_slots(slots, log_n);
      std::vector<double> c;
      for (std::int64_t x : encoder.embed(z, scale)) c.push_back(static_cast<double>(x) / scale);
      const std::vector<Complex> back = encoder.project(c, slots);
      double error = 0;
      for (int j = 0; j < slots; ++j) error = std::max(error, std::abs(back[j] - z[j]));
      // Rounding to integers: at most sqrt(slots) * 2^-45 a slot, up to a small factor.
      EXPECT_LT(error, 8 * std::sqrt(slots) / scale);
    }
  }
}

TEST(Encoder, TransformsInvertEachOther) {
  const Encoder encoder(11);
  const std::vector<Complex> z = random_slots(1024, 5);
  std::vector<Complex> w = z;
  encoder.inverse(w);
  encoder.forward(w);
  for (int j = 0; j < 1024; ++j) EXPECT_LT(std::abs(w[j] - z[j]), 1e-13);
}

TEST(Encoder, RejectsWrongInput) {
  const Encoder encoder(6);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Complex> ones(8, 1.0);
  EXPECT_THROW(encoder.embed(std::vector<Complex>(3, 1.0), 1e9), ShapeError);
  EXPECT_THROW(encoder.embed(std::vector<Complex>(64, 1.0), 1e9), ShapeError);
  EXPECT_THROW(encoder.embed(std::vector<Complex>(), 1e9), ShapeError);
  EXPECT_THROW(encoder.embed(std::vector<Complex>(2, nan), 1e9), ValueError);
  EXPECT_THROW(encoder.embed(std::vector<Complex>(2, {0, infinity}), 1e9), ValueError);
  EXPECT_THROW(encoder.embed(ones, 0), ScaleError);
  EXPECT_THROW(encoder.embed(ones, nan), ScaleError);
  EXPECT_THROW(encoder.embed(ones, std::exp2(62)), ScaleError);
  EXPECT_NO_THROW(encoder.embed(ones, std::exp2(61.9)));
  EXPECT_THROW(encoder.embed(ones, std::exp2(40), std::exp2(40)), ScaleError);
  EXPECT_THROW(encoder.project(std::vector<double>(63), 8), ShapeError);
  EXPECT_THROW(encoder.project(std::vector<double>(64), 5), ShapeError);
}

TEST(Encoder, DecodesWithinTheStatedBound) {
  const Encoder encoder(12);
  for (int slots = 1; slots <= 2048; slots *= 2) {
    const std::vector<Complex> z = random_slots(slots, 91 + slots);
    for (const double scale : {std::exp2(12), std::exp2(30), 3e9, std::exp2(45), std::exp2(58)}) {
      const std::vector<std::int64_t> c = encoder.embed(z, scale);
      std::vector<double> reals(c.size());
      for (std::size_t i = 0; i < c.size(); ++i) reals[i] = static_cast<double>(c[i]) / scale;
      const std::vector<Complex> back = encoder.project(reals, slots);
      double error = 0;
      for (int j = 0; j < slots; ++j) error = std::max(error, std::abs(back[j] - z[j]));
      const double bound = encoding_error_bound(slots, scale, std::sqrt(2.0));
      EXPECT_LE(error, bound) << slots << " slots, scale " << scale;
      // Roundings are independent: the bound is loose by sqrt(n) and a small factor, no more.
      if (scale < 0x1p40)
        EXPECT_GE(error, bound / (100 * std::sqrt(slots))) << slots << " slots, scale " << scale;
    }
  }
}

}  // namespace
}  // namespace latticino::ckks
