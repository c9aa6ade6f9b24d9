#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ckks/bootstrap/dft_factors.h"
#include "ckks/encoding/encoder.h"

namespace latticino::ckks::bootstrap {
namespace {

std::vector<Complex> random_slots(int n, unsigned seed) {
  std::mt19937_64 gen(seed);
  std::uniform_real_distribution<double> u(-1, 1);
  std::vector<Complex> z(n);
  for (Complex& x : z) x = {u(gen), u(gen)};
  return z;
}

std::vector<Complex> apply_factor(const DftFactor& f, const std::vector<Complex>& x) {
  std::vector<Complex> y(f.slots);
  for (const auto& [d, diagonal] : f.diagonals) {
    for (int i = 0; i < f.slots; ++i) {
      y[i] += diagonal[i] * x[(i + d) % static_cast<int>(x.size())];
    }
  }
  return y;
}

double distance(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  double d = 0;
  for (std::size_t i = 0; i < a.size(); ++i) d = std::max(d, std::abs(a[i] - b[i % b.size()]));
  return d;
}

const std::vector<double> kConstants[] = {{3.0}, {0.5, 3}, {0.5, 3, 4}, {0.25, 8, 3, 0.5}};

double total(const std::vector<double>& constants) {
  double t = 1;
  for (double c : constants) t *= c;
  return t;
}

using Transform = void (Encoder::*)(std::span<Complex>) const;

// The product of the factors, one after another, is the transform times all constants.
void expect_transform(decltype(cts_factors)* factors, Transform transform, unsigned seed,
                      double tolerance) {
  const FftTables tables(11);
  const Encoder encoder(12);
  for (int log_slots = 0; log_slots <= 9; ++log_slots) {
    for (const std::vector<double>& constants : kConstants) {
      const std::vector<Complex> z = random_slots(1 << log_slots, seed);
      std::vector<Complex> expected = z, x = z;
      (encoder.*transform)(expected);
      for (Complex& e : expected) e *= total(constants);
      for (const DftFactor& f : factors(tables, log_slots, constants, Halves::Together)) {
        x = apply_factor(f, x);
      }
      EXPECT_LT(distance(x, expected), tolerance) << log_slots << " in " << constants.size();
    }
  }
}

TEST(DftFactors, CoeffToSlotIsTheInverseTransform) {
  expect_transform(cts_factors, &Encoder::inverse, 3, 1e-13);
}

TEST(DftFactors, SlotToCoeffIsTheForwardTransform) {
  expect_transform(stc_factors, &Encoder::forward, 4, 1e-11);
}

TEST(DftFactors, HalvesApartSplitAndJoin) {
  const FftTables tables(11);
  const Encoder encoder(12);
  for (int log_slots = 0; log_slots <= 8; ++log_slots) {
    for (const std::vector<double>& constants : kConstants) {
      const int n = 1 << log_slots;
      const std::vector<Complex> z = random_slots(n, 5);
      std::vector<Complex> w = z, x = z;
      encoder.inverse(w);
      for (const DftFactor& f : cts_factors(tables, log_slots, constants, Halves::Apart)) {
        x = apply_factor(f, x);
      }
      ASSERT_EQ(static_cast<int>(x.size()), 2 * n);
      for (Complex& v : x) v = v.real() / total(constants);  // (v + conj v) / 2
      for (int i = 0; i < n; ++i) {
        EXPECT_NEAR(x[i].real(), w[i].real(), 1e-13);
        EXPECT_NEAR(x[i + n].real(), w[i].imag(), 1e-13);
      }
      for (const DftFactor& f : stc_factors(tables, log_slots, constants, Halves::Apart)) {
        ASSERT_EQ(f.slots, 2 * n);
        x = apply_factor(f, x);
      }
      for (int i = 0; i < n; ++i) {
        EXPECT_LT(std::abs((x[i] + x[i + n]) / total(constants) - z[i]), 1e-12);
      }
    }
  }
}

TEST(DftFactors, DiagonalsAreFewAndStartAtZero) {
  const FftTables tables(15);
  const std::vector<double> four(4, 1.0), three(3, 1.0);
  EXPECT_EQ(cts_stages(15, 4), (std::vector<int>{4, 4, 4, 3}));
  EXPECT_EQ(stc_stages(15, 3), (std::vector<int>{5, 5, 5}));
  EXPECT_EQ(stc_stages(14, 3), (std::vector<int>{4, 5, 5}));
  EXPECT_EQ(cts_stages(2, 4), (std::vector<int>{0, 0, 1, 1}));
  const auto cts = cts_factors(tables, 15, four, Halves::Together);
  const auto stc = stc_factors(tables, 15, three, Halves::Together);
  const std::size_t cts_count[] = {16, 31, 31, 15}, stc_count[] = {63, 63, 32};
  for (int j = 0; j < 4; ++j) EXPECT_EQ(cts[j].diagonals.size(), cts_count[j]);
  for (int j = 0; j < 3; ++j) EXPECT_EQ(stc[j].diagonals.size(), stc_count[j]);
  for (const auto* factors : {&cts, &stc}) {
    for (const DftFactor& f : *factors) {
      for (const auto& [d, diagonal] : f.diagonals) {
        EXPECT_EQ(d % f.stride, 0);
        EXPECT_LT(d / f.stride, 2 << f.stages);
      }
    }
  }
}

}  // namespace
}  // namespace latticino::ckks::bootstrap
