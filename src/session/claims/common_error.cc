#include "session/claims/common_error.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace latticino::session {
namespace {

// Relative, because sums of equal weights differ by rounding errors.
constexpr double kEqual = 1e-10;

}  // namespace

std::complex<double> common_error(NumbersView means, double scale) {
  std::complex<double> sum = 0;
  double squares = 0;
  for (const std::complex<double>& mean : means) {
    const std::complex<double> exact = mean * scale;
    const std::complex<double> error(std::nearbyint(exact.real()) - exact.real(),
                                     std::nearbyint(exact.imag()) - exact.imag());
    sum += error;
    squares += std::norm(error);
  }
  const double together = std::norm(sum);
  return together > squares ? sum * (std::sqrt(1 - squares / together) / scale) : 0;
}

std::complex<double> common_error_of_matrix(NumbersView entries, std::size_t rows,
                                            std::size_t height, std::size_t width, double scale) {
  struct Sum {
    std::complex<double> weights = 0;
    double squares = 0;
  };
  const std::size_t diagonals = std::min(height, width), columns = entries.size() / rows;
  const std::size_t sources = (rows + height - 1) / height, targets = (columns + width - 1) / width;
  const std::size_t of_target = sources * diagonals;
  std::vector<Sum> sums(targets * of_target);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t row = i / columns, column = i % columns;
    const std::size_t distance = (row + diagonals - column % diagonals) % diagonals;
    Sum& sum = sums[column / width * of_target + row / height * diagonals + distance];
    sum.weights += entries[i];
    sum.squares += std::norm(entries[i]);
  }
  const auto slots = static_cast<double>(std::max(height, width));
  std::complex<double> largest = 0;
  for (std::size_t t = 0; t < targets; ++t) {
    Numbers means;
    for (const Sum& sum : std::span(sums).subspan(t * of_target, of_target)) {
      const std::complex<double> mean = sum.weights / slots;
      const double square = sum.squares / slots;
      if (square - std::norm(mean) > kEqual * square) means.push_back(mean);
    }
    const std::complex<double> error = common_error(means, scale);
    if (std::abs(error) > std::abs(largest)) largest = error;
  }
  return largest * (static_cast<double>(rows) / static_cast<double>(sources * height));
}

}  // namespace latticino::session
