// Known answers of the constants that bootstrapping stores: the same bits on every machine.
#include <gtest/gtest.h>

#include <cstring>

#include "ckks/bootstrap/dft_factors.h"
#include "ckks/bootstrap/sine.h"

namespace latticino::ckks::bootstrap {
namespace {

class Fingerprint {  // FNV-1a over the little-endian bytes of doubles
 public:
  void add(double x) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    for (int b = 0; b < 8; ++b) value_ = (value_ ^ (bits >> (8 * b) & 0xff)) * 1099511628211u;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037u;
};

std::uint64_t fingerprint(const SinePolynomial& p) {
  Fingerprint f;
  for (const auto* list : {&p.coefficients, &p.subtract, &p.arcsine}) {
    for (double x : *list) f.add(x);
  }
  return f.value();
}

std::uint64_t fingerprint(const std::vector<DftFactor>& factors) {
  Fingerprint f;
  for (const DftFactor& factor : factors) {
    for (const auto& [index, diagonal] : factor.diagonals) {
      f.add(index);
      for (const Complex& x : diagonal) {
        f.add(x.real());
        f.add(x.imag());
      }
    }
  }
  return f.value();
}

TEST(BootstrapConstants, Sine) {
  EXPECT_EQ(fingerprint(sine_least_squares(16, 3, 30, false, 32, 5)), 14404189773197154958u);
  EXPECT_EQ(fingerprint(sine_closed_form(16, 3, 40, true)), 7092973163146966207u);
}

TEST(BootstrapConstants, Transforms) {
  const FftTables tables(15);
  const std::vector<double> four{0.5, 0.25, 0.125, 1.7}, three{0.5, 0.25, 3.1};
  EXPECT_EQ(fingerprint(cts_factors(tables, 12, four, Halves::Apart)), 12667972696186997640u);
  EXPECT_EQ(fingerprint(stc_factors(tables, 12, three, Halves::Together)), 1868961937851822979u);
}

}  // namespace
}  // namespace latticino::ckks::bootstrap
