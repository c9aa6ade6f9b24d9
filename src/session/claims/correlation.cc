#include "session/claims/correlation.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

constexpr int kPowerSteps =
    2;  // steps of the power method; a factor that is some percent too small does no harm
constexpr double kAboveRandom = 2;

// The operator of std::complex looks for NaNs and takes several times as long.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

double norm_of(NumbersView x) {
  double sum = 0;
  for (const Complex& z : x) sum += std::norm(z);
  return sum;
}

// `back(v, u)`: the weights u of operands that follow from weights v of results. `forth(u, v)`: the
// adjoint. Both add to zeros. `squares`: the sum of the squares of all weights.
template <class Back, class Forth>
double correlation(std::size_t results, std::size_t operands, double results_in_use,
                   double operands_in_use, double squares, const Back& back, const Forth& forth) {
  if (!(squares > 0) || results_in_use <= 1) return 1;
  const auto quotient = [&](Numbers& v) {  // this is also the next v of the power method
    Numbers u(operands);
    back(v, u);
    const double gain = norm_of(u) / norm_of(v) * results_in_use / squares;
    std::ranges::fill(v, 0);
    forth(u, v);
    return gain;
  };
  Numbers ones(results, 1), signs(results);
  std::uint64_t state = 1;
  for (Complex& z : signs) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    z = state >> 63 ? 1 : -1;
  }
  const double plain = quotient(ones) * static_cast<double>(results) / results_in_use;
  double largest = plain;
  for (Numbers* v : {&ones, &signs}) {
    for (int step = 0; step < kPowerSteps && norm_of(*v) > 0; ++step) {
      const double size = std::sqrt(norm_of(*v));
      for (Complex& z : *v) z /= size;
      largest = std::max(largest, quotient(*v));
    }
  }
  const double random = std::pow(1 + std::sqrt(results_in_use / operands_in_use), 2);
  return std::clamp(largest > kAboveRandom * random ? largest : plain, 1.0, results_in_use);
}

}  // namespace

double correlation_of_matrix(NumbersView entries, std::size_t rows) {
  const std::size_t columns = entries.size() / rows;
  const auto row = [&](std::size_t i) { return entries.subspan(i * columns, columns); };
  return correlation(
      columns, rows, static_cast<double>(columns), static_cast<double>(rows), norm_of(entries),
      [&](NumbersView v, std::span<Complex> u) {
        for (std::size_t i = 0; i < rows; ++i) {
          Complex sum = 0;
          for (std::size_t j = 0; j < columns; ++j) sum += times(row(i)[j], v[j]);
          u[i] = sum;
        }
      },
      [&](NumbersView u, std::span<Complex> v) {
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < columns; ++j) v[j] += times(std::conj(row(i)[j]), u[i]);
        }
      });
}

double correlation_of_entries(std::span<const std::int64_t> results,
                              std::span<const std::int64_t> operands, NumbersView weights) {
  if (weights.empty()) return 1;
  const auto size = [](std::span<const std::int64_t> x) {
    return static_cast<std::size_t>(*std::ranges::max_element(x)) + 1;
  };
  const auto in_use = [](std::span<const std::int64_t> x, std::size_t of) {
    std::vector<bool> seen(of);
    for (const std::int64_t i : x) seen[static_cast<std::size_t>(i)] = true;
    return static_cast<double>(std::ranges::count(seen, true));
  };
  const std::size_t m = size(results), n = size(operands);
  return correlation(
      m, n, in_use(results, m), in_use(operands, n), norm_of(weights),
      [&](NumbersView v, std::span<Complex> u) {
        for (std::size_t k = 0; k < weights.size(); ++k) {
          u[static_cast<std::size_t>(operands[k])] +=
              times(weights[k], v[static_cast<std::size_t>(results[k])]);
        }
      },
      [&](NumbersView u, std::span<Complex> v) {
        for (std::size_t k = 0; k < weights.size(); ++k) {
          v[static_cast<std::size_t>(results[k])] +=
              times(std::conj(weights[k]), u[static_cast<std::size_t>(operands[k])]);
        }
      });
}

}  // namespace latticino::session
