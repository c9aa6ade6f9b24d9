// The correlation of the results of a linear map, compared with the largest singular values of
// matrices for which these are known, and with sums of results of random operands.
#include "session/claims/correlation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "session/claims/known.h"
#include "session/claims/matrix_facts.h"

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

constexpr std::size_t kSize = 256;

template <class F>
Numbers matrix(std::size_t rows, std::size_t columns, F entry) {
  Numbers out(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) out[i * columns + j] = entry(i, j);
  }
  return out;
}

std::mt19937_64 random_numbers(7);

double uniform(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random_numbers);
}

TEST(Correlation, OfMatricesWhoseSingularValuesAreKnown) {
  const auto of = [](const Numbers& m, std::size_t rows = kSize) {
    return correlation_of_matrix(m, rows);
  };
  const auto same = [](std::size_t, std::size_t) { return 1.0; };
  EXPECT_EQ(of(matrix(kSize, kSize, [](auto i, auto j) { return i == j ? 1.0 : 0; })), 1);
  EXPECT_EQ(of(matrix(kSize, kSize, [](auto i, auto j) { return i == kSize - 1 - j ? 2.0 : 0; })),
            1);
  EXPECT_EQ(of(matrix(kSize, 1, same)), 1);
  EXPECT_NEAR(of(matrix(kSize, 64, same)), 64, 1e-9);
  // Sums of the first values: the largest singular value of n of them is near 2 n / pi.
  EXPECT_NEAR(of(matrix(kSize, kSize, [](auto i, auto j) { return i <= j ? 1.0 : 0; })),
              8 / std::pow(std::numbers::pi, 2) * kSize, 0.05 * kSize);
  // Weights between 0 and 1 have the mean square 1/3, and their mean has the square 1/4.
  EXPECT_NEAR(of(matrix(kSize, kSize, [](auto, auto) { return uniform(0, 1); })), 0.75 * kSize, 8);
  // Their sum of results is 0, but results of equal signs are equal.
  EXPECT_NEAR(of(matrix(kSize, kSize, [](auto, auto j) { return j % 2 == 0 ? 1.0 : -1.0; })), kSize,
              1e-6);
  EXPECT_LT(of(matrix(kSize, kSize, [](auto, auto) { return uniform(-1, 1); })), 1.3);
  EXPECT_EQ(of(Numbers(kSize * 4, 0.0)), 1);
}

TEST(Correlation, OfEntriesIsThatOfTheMatrix) {
  const Numbers dense = matrix(64, 32, [](auto, auto) { return uniform(0, 1); });
  std::vector<std::int64_t> results, operands;
  for (std::int64_t i = 0; i < 64; ++i) {
    for (std::int64_t j = 0; j < 32; ++j) {
      results.push_back(2 * j);  // other addresses have no result
      operands.push_back(i);
    }
  }
  EXPECT_NEAR(correlation_of_entries(results, operands, dense), correlation_of_matrix(dense, 64),
              1e-9);
  EXPECT_EQ(correlation_of_entries({}, {}, {}), 1);
}

// Claims of a sum of results, and of a product of results with another matrix, compared with errors
// that are drawn.
TEST(Correlation, ClaimsOfSumsOfResultsHold) {
  constexpr double kError = 1e-6;
  const Numbers first = matrix(kSize, kSize, [](auto, auto) { return uniform(0, 1); });
  const auto times = [&](NumbersView x) {
    Numbers out(kSize);
    for (std::size_t i = 0; i < kSize; ++i) {
      for (std::size_t j = 0; j < kSize; ++j) out[j] += x[i] * first[i * kSize + j];
    }
    return out;
  };
  double l1 = 0, l2 = 0;
  for (std::size_t j = 0; j < kSize; ++j) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      sum += std::abs(first[i * kSize + j]);
      squares += std::norm(first[i * kSize + j]);
    }
    l1 = std::max(l1, sum), l2 = std::max(l2, std::sqrt(squares));
  }
  const double correlation = correlation_of_matrix(first, kSize);
  const Range range{Claim::Declared, {-1, 1}, {}, 1, 1, false};
  const auto mapped = [&](const Known& x) {
    return x.mapped(times, l1, l2, true, 0, 0, {}, correlation);
  };
  const Known once = mapped(Known::fresh(range, kError)), twice = mapped(once);
  const Known sum = once.summed(1, kSize, 0, false);

  // Errors of the values are independent, so the squares of what each of them brings add up.
  double of_once = 0, of_twice = 0, of_sum = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    Numbers errors(kSize);
    errors[i] = kError;
    const Numbers y = times(errors), z = times(y);
    Complex total = 0;
    for (std::size_t j = 0; j < kSize; ++j) {
      of_once += std::norm(y[j]) / kSize;
      of_twice += std::norm(z[j]) / kSize;
      total += y[j];
    }
    of_sum += std::norm(total);
  }
  const auto over = [&](const Known& claim, double squares) {
    return std::log2(claim.error() / std::sqrt(squares));
  };
  EXPECT_NEAR(over(once, of_once), 0, 0.3);
  EXPECT_NEAR(over(twice, of_twice), 0, 0.5);
  EXPECT_NEAR(over(sum, of_sum), 0, 0.5);
  // The claim as if results had no errors in common.
  EXPECT_LT(
      over(Known::fresh(range, kError).mapped(times, l1, l2, true, 0, 0).summed(1, kSize, 0, false),
           of_sum),
      -3);
}

TEST(Correlation, FactsOfAMatrixAreKept) {
  const auto weights = [](auto, auto) { return uniform(-1, 1); };
  const Numbers m = matrix(kSize, kSize, weights), same = m;
  Numbers other = m;
  other.back() = std::nextafter(other.back().real(), 2);
  const auto of = [](const Numbers& x, std::size_t height = kSize, double scale = 0x1p40) {
    return matrix_facts(x, kSize, height, kSize, scale);
  };
  const auto facts = of(m);
  EXPECT_EQ(facts, of(same));
  EXPECT_NE(facts, of(other));
  EXPECT_NE(facts, of(m, 2 * kSize));
  EXPECT_NE(facts, of(m, kSize, 0x1p41));
  EXPECT_EQ(facts->correlation, correlation_of_matrix(m, kSize));
  Numbers turned = m;
  std::swap(turned.front(), turned.back());
  EXPECT_NE(facts, of(turned));
}

}  // namespace
}  // namespace latticino::session
