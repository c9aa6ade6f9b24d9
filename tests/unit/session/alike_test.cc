// Equal diagonals of a matrix are rounded alike. Computed growths are compared with errors that are
// drawn for each diagonal.
#include "session/claims/alike.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "session/claims/common_error.h"
#include "session/claims/computation.h"

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

Numbers drawn(std::size_t size) {
  Numbers out(size);
  for (Complex& z : out) z = Random::of_this_thread().normal();
  return out;
}

struct Matrix {
  std::size_t rows, columns;
  Numbers entries;
};

template <class F>
Matrix matrix(std::size_t rows, std::size_t columns, F entry) {
  Matrix out{rows, columns, Numbers(rows * columns)};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) out.entries[r * columns + c] = entry(r, c);
  }
  return out;
}

// The root mean square error of the results, in units of that of one weight, if each weight vector
// that differs from the others has one error.
double simulated(const Matrix& w, std::size_t height, std::size_t width, NumbersView values) {
  constexpr int runs = 64;
  const std::size_t slots = std::max(height, width), count = std::min(height, width);
  double squares = 0;
  for (int run = 0; run < runs; ++run) {
    for (std::size_t t = 0; t * width < w.columns; ++t) {
      std::vector<std::pair<Numbers, Numbers>> errors;  // weights of a diagonal, and their error
      Numbers sums(slots);
      for (std::size_t i = 0; i * height < w.rows; ++i) {
        for (std::size_t d = 0; d < count; ++d) {
          Numbers diagonal(slots);
          for (std::size_t s = 0; s < slots; ++s) {
            const std::size_t r = i * height + (s + d) % height, c = t * width + s % width;
            if (r < w.rows && c < w.columns) diagonal[s] = w.entries[r * w.columns + c];
          }
          if (std::ranges::all_of(diagonal, [](Complex z) { return z == Complex(0); })) continue;
          auto at = std::ranges::find(errors, diagonal, &std::pair<Numbers, Numbers>::first);
          if (at == errors.end()) {
            std::size_t period = slots;  // a message of few coefficients has an error with as few
            while (period > 1 &&
                   std::equal(diagonal.begin() + period / 2, diagonal.end(), diagonal.begin())) {
              period /= 2;
            }
            Numbers error(slots);
            const Numbers own = drawn(period);
            for (std::size_t s = 0; s < slots; ++s) {
              error[s] = own[s % period] * std::sqrt(0.5 * period / slots);
            }
            errors.emplace_back(diagonal, error);
            at = errors.end() - 1;
          }
          for (std::size_t s = 0; s < slots; ++s) {
            const std::size_t r = i * height + (s + d) % height;
            if (r < w.rows) sums[s] += at->second[s] * values[r];
          }
        }
      }
      for (std::size_t c = 0; c < std::min(width, w.columns - t * width); ++c) {
        Complex sum = 0;
        for (std::size_t at = c; at < slots; at += width) sum += sums[at];
        squares += std::norm(sum);
      }
    }
  }
  return std::sqrt(squares / static_cast<double>(runs) / static_cast<double>(w.columns));
}

struct Case {
  const char* name;
  Matrix w;
  std::size_t height, width;
  double diagonals;  // diagonals that each result uses, without those of zeros
  double of_ones;    // growth
};

std::vector<Case> cases() {
  const Numbers a = drawn(256), b = drawn(256);
  const auto equal = [&](std::size_t, std::size_t c) { return a[c]; };
  const auto in_turn = [&](std::size_t r, std::size_t c) { return r % 2 == 1 ? a[c] : b[c]; };
  const auto band = [&](std::size_t r, std::size_t c) {
    return (r + 64 - c % 64) % 64 < 16 ? a[c] : Complex(0);
  };
  const Numbers all = drawn(64 * 64);
  const auto few = [&](std::size_t r, std::size_t c) {
    return (r + 64 - c) % 64 < 16 ? all[r * 64 + c] : Complex(0);
  };
  return {{"square", matrix(64, 64, equal), 64, 64, 64, 8},
          {"wide", matrix(16, 64, equal), 16, 64, 16, 4},
          {"tall", matrix(64, 16, equal), 64, 16, 64, 4},
          {"of several sources", matrix(192, 64, equal), 64, 64, 192, std::sqrt(192)},
          {"of several targets", matrix(64, 128, equal), 64, 64, 64, 8},
          {"of rows in turn", matrix(64, 64, in_turn), 64, 64, 64, std::sqrt(32)},
          {"of one band", matrix(64, 64, band), 64, 64, 16, 2},
          {"of few diagonals", matrix(64, 64, few), 64, 64, 16, 0.5}};
}

TEST(SessionAlike, ErrorsOfEqualDiagonalsAddUp) {
  for (const Case& c : cases()) {
    const Alike alike = Alike::of_matrix(c.w.entries, c.w.rows, c.height, c.width);
    const Numbers ones(c.w.rows, 1);
    Numbers turned = drawn(c.w.rows);
    for (Complex& z : turned) z /= std::abs(z);
    ASSERT_FALSE(alike.differ()) << c.name;
    const double alone = std::sqrt(static_cast<double>(c.w.rows));
    const double independent = std::sqrt(c.diagonals) / alone;
    EXPECT_NEAR(alike.growth(ones), c.of_ones, 1e-9) << c.name;
    EXPECT_EQ(alike.growth(ones), alike.largest_growth()) << c.name;
    EXPECT_NEAR(simulated(c.w, c.height, c.width, ones) / alone / c.of_ones, 1, 0.15) << c.name;
    const double random = simulated(c.w, c.height, c.width, turned) / alone;
    EXPECT_GT(alike.growth(turned), 0.85 * random) << c.name;
    EXPECT_LT(alike.growth(turned), 1.5 * std::max(independent, random)) << c.name;
  }
}

TEST(SessionAlike, OtherDiagonalsDiffer) {
  const Numbers a = drawn(128);
  const auto halves = [&](std::size_t r, std::size_t c) { return a[r / 32 * 64 + c]; };
  const Matrix w = matrix(64, 64, halves);
  const Alike alike = Alike::of_matrix(w.entries, w.rows, w.rows, w.columns);
  EXPECT_TRUE(alike.differ());
  EXPECT_EQ(alike.growth(Numbers(w.rows, 1)), 1);
  EXPECT_EQ(alike.largest_growth(), 1);
}

// Weights that are all equal have one coefficient. If it is encoded exactly, nothing is lost.
TEST(SessionAlike, DiagonalsThatRepeatHaveSmallErrors) {
  const auto of = [](double weight, double scale) {
    const auto equal = [&](std::size_t, std::size_t) { return weight; };
    const Matrix w = matrix(64, 64, equal);
    return Alike::of_matrix(w.entries, 64, 64, 64, scale).growth(Numbers(64, 1));
  };
  const double of_all = std::sqrt(64 / 6.0);  // the error of 64 slots at scale 1
  EXPECT_NEAR(of(1.0 / 64, 0), 1, 1e-9);      // 8 for equal diagonals, 1/8 for one coefficient
  EXPECT_EQ(of(1.0 / 64, 0x1p20), 0);
  EXPECT_NEAR(of(1.0 / 64, 0x1p20 + 16), 8 * 0.25 / of_all, 1e-6);  // 16384.25
  const Matrix one = matrix(16, 16, [](auto r, auto c) { return r == c ? 2.0 : 0.0; });
  const Alike alike = Alike::of_matrix(one.entries, 16, 16, 16);  // one of 16 diagonals is not zero
  EXPECT_NEAR(alike.growth(Numbers(16, 3)), 0.25 / 4, 1e-9);
  EXPECT_NEAR(alike.largest_growth(), 0.25 / 4, 1e-9);
}

// Diagonals with the opposite sign are rounded alike as well.
TEST(SessionAlike, SignsAreThoseOfErrors) {
  const Numbers a = drawn(64);
  const Matrix w = matrix(64, 64, [&](std::size_t r, std::size_t c) {
    return (r + 64 - c) % 64 % 2 == 1 ? -a[c] : a[c];
  });
  const Alike alike = Alike::of_matrix(w.entries, 64, 64, 64);
  Numbers signs(64, 1);
  for (std::size_t i = 1; i < 64; i += 2) signs[i] = -1;
  EXPECT_EQ(alike.growth(Numbers(64, 1)), 1);
  EXPECT_NEAR(alike.growth(signs), 8, 1e-9);
  EXPECT_NEAR(alike.largest_growth(), 8, 1e-9);
}

// Each of 64 diagonals has one 1, so all means are 1/64.
TEST(SessionAlike, RoundingErrorsOfMeansAddUp) {
  const Numbers means(64, 1.0 / 64);
  const double scale = 0x1p20 + 16;  // 16384.25 for each mean
  const std::complex<double> error = common_error(means, scale);
  EXPECT_NEAR(error.real() * scale, -0.25 * std::sqrt(64 * 64 - 64), 1e-6);
  EXPECT_EQ(error.imag(), 0);
  EXPECT_EQ(common_error(means, 0x1p20), 0.0);
  // Means that differ are rounded in both directions.
  Numbers differ(64);
  for (std::size_t i = 0; i < 64; ++i) differ[i] = i % 2 == 0 ? 1.0 / 64 : -1.0 / 64;
  EXPECT_EQ(common_error(differ, scale), 0.0);
}

// Values that cancel may not cancel in other data.
TEST(SessionAlike, CancellingValuesCountAsIndependent) {
  const Matrix w = matrix(64, 64, [](std::size_t, std::size_t c) { return double(c + 1); });
  Numbers signs(64, 1);
  for (std::size_t i = 1; i < 64; i += 2) signs[i] = -1;
  EXPECT_EQ(Alike::of_matrix(w.entries, 64, 64, 64).growth(signs), 1);
  EXPECT_EQ(Alike::of_matrix(w.entries, 64, 64, 64).growth(Numbers(64)), 1);
}

}  // namespace
}  // namespace latticino::session
