#include "math/fft_tables.h"

#include <algorithm>
#include <cstdint>

#include "math/double_double.h"

namespace latticino {
namespace {

using math::DoubleDouble;

struct WideRoot {
  DoubleDouble re{1}, im{0};
};

WideRoot operator*(const WideRoot& a, const WideRoot& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// exp(2 pi i / 2^k) for k = 2 .. log_order by halving the angle; sin from sin x / (2 cos(x/2)),
// which does not cancel.
std::vector<WideRoot> generators(int log_order) {
  std::vector<WideRoot> g(log_order + 1);
  g[1].re = -1;
  g[2].re = 0;
  g[2].im = 1;
  for (int k = 3; k <= log_order; ++k) {
    g[k].re = math::sqrt((g[k - 1].re + DoubleDouble(1)) * DoubleDouble(0.5));
    g[k].im = g[k - 1].im / (g[k].re * DoubleDouble(2));
  }
  return g;
}

}  // namespace

std::vector<Root> unit_roots(int log_order) {
  const std::size_t order = std::size_t{1} << log_order;
  const std::size_t octant = order / 8, quarter = order / 4;
  const std::vector<WideRoot> g = generators(log_order);
  std::vector<WideRoot> first(octant + 1);
  for (int bit = 0; (std::size_t{1} << bit) <= octant; ++bit) {
    const std::size_t step = std::size_t{1} << bit;
    for (std::size_t j = 0; j < step && step + j <= octant; ++j) {
      first[step + j] = first[j] * g[log_order - bit];
    }
  }
  std::vector<Root> roots(order);
  for (std::size_t k = 0; k < order; ++k) {
    const std::size_t r = k % quarter;
    const WideRoot& w = first[std::min(r, quarter - r)];
    Root x{static_cast<double>(w.re), static_cast<double>(w.im)};
    if (r > octant) std::swap(x.re, x.im);
    switch (k / quarter) {
      case 0:
        roots[k] = x;
        break;
      case 1:
        roots[k] = {0.0 - x.im, x.re};
        break;
      case 2:
        roots[k] = {0.0 - x.re, 0.0 - x.im};
        break;
      default:
        roots[k] = {x.im, 0.0 - x.re};
        break;
    }
  }
  return roots;
}

FftTables::FftTables(int log_slots)
    : log_slots_(log_slots), re_(std::size_t{1} << log_slots), im_(re_.size()) {
  const int log_order = std::max(log_slots + 2, 3);
  const std::size_t order = std::size_t{1} << log_order;
  const std::vector<Root> roots = unit_roots(log_order);
  for (std::size_t half = 1; half < re_.size(); half *= 2) {
    const std::size_t gap = order / (8 * half);
    std::size_t power = 1;  // 5^j
    for (std::size_t j = 0; j < half; ++j) {
      const Root& root = roots[power * gap % order];
      re_[half + j] = root.re;
      im_[half + j] = root.im;
      power = power * 5 % order;
    }
  }
}

}  // namespace latticino
