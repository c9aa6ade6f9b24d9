#include "crypto/gaussian.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "math/errors.h"

namespace latticino::crypto {
namespace {

// Unsigned fixed point: 64 integer bits, 192 fraction bits; word 0 is the lowest. Products
// truncate: errors stay below k 2^-190 in a table of k entries, far under the 2^-127 that is kept.
struct Fixed {
  std::array<std::uint64_t, 4> w{};
};

Fixed add(const Fixed& a, const Fixed& b) {
  Fixed r;
  Wide carry = 0;
  for (int i = 0; i < 4; ++i) {
    carry += static_cast<Wide>(a.w[i]) + b.w[i];
    r.w[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  return r;
}

Fixed multiply(const Fixed& a, const Fixed& b) {
  std::array<std::uint64_t, 8> t{};
  for (int i = 0; i < 4; ++i) {
    Wide carry = 0;
    for (int j = 0; j < 4; ++j) {
      carry += static_cast<Wide>(a.w[i]) * b.w[j] + t[i + j];
      t[i + j] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    t[i + 4] = static_cast<std::uint64_t>(carry);
  }
  return {{t[3], t[4], t[5], t[6]}};
}

Fixed divide(Fixed a, std::uint64_t d) {
  Wide rest = 0;
  for (int i = 3; i >= 0; --i) {
    rest = rest << 64 | a.w[i];
    a.w[i] = static_cast<std::uint64_t>(rest / d);
    rest %= d;
  }
  return a;
}

// 0 <= x < 2^63, exactly.
Fixed from_double(double x) {
  Fixed r;
  for (int i = 3; i >= 0; --i) {
    const double whole = std::floor(x);
    r.w[i] = static_cast<std::uint64_t>(whole);
    x = std::ldexp(x - whole, 64);
  }
  return r;
}

// exp(-x) for 0 <= x < 8, as the inverse of sum x^k / k!. Newton's method computes the inverse,
// starting from a double.
Fixed exp_minus(const Fixed& x) {
  Fixed sum, term;
  sum.w[3] = term.w[3] = 1;
  for (std::uint64_t k = 1; k < 120; ++k) {
    term = divide(multiply(term, x), k);
    sum = add(sum, term);
  }
  const auto two_minus = [](const Fixed& v) {
    Fixed r;
    for (int i = 0; i < 4; ++i) r.w[i] = ~v.w[i];
    r.w[3] += 2;  // 2 - v, one unit too low
    return r;
  };
  // Powers of two only, so that no rounding of std::exp can enter: 1/2^(b+1) < 1/sum <= 1/2^b.
  int b = 0;
  while (sum.w[3] >> (b + 1) != 0) ++b;
  Fixed inverse = from_double(std::ldexp(1.0, -b - 1));
  for (int i = 0; i < 10; ++i) inverse = multiply(inverse, two_minus(multiply(sum, inverse)));
  return inverse;
}

// round(2^127 a / total) for a <= total < 2^16: restoring division, bit by bit.
Wide ratio(const Fixed& a, const Fixed& total) {
  const auto at_least = [](const Fixed& x, const Fixed& y) {
    for (int i = 3; i >= 0; --i) {
      if (x.w[i] != y.w[i]) return x.w[i] > y.w[i];
    }
    return true;
  };
  const auto subtract = [](const Fixed& x, const Fixed& y) {
    Fixed r;
    Wide borrow = 0;
    for (int i = 0; i < 4; ++i) {
      const Wide d = static_cast<Wide>(x.w[i]) - y.w[i] - borrow;
      r.w[i] = static_cast<std::uint64_t>(d);
      borrow = d >> 127;
    }
    return r;
  };
  Fixed rest = a;
  Wide quotient = 0;
  for (int bit = 0; bit < 128; ++bit) {
    const bool one = at_least(rest, total);
    if (one) rest = subtract(rest, total);
    rest = add(rest, rest);
    quotient = quotient << 1 | (one ? 1 : 0);
  }
  return quotient + (at_least(rest, total) ? 1 : 0);
}

}  // namespace

std::vector<Wide> gaussian_table(double sigma) {
  if (!(sigma >= 0.5 && sigma <= kMaxTableSigma)) {
    throw ParameterError("crypto.gaussian_table", "sigma " + std::to_string(sigma),
                         "0.5 <= sigma <= 26", "use Random::gaussian for wide Gaussians");
  }
  const Fixed g = exp_minus(from_double(1.0 / (2.0 * sigma * sigma)));
  const Fixed g_squared = multiply(g, g);
  // 13.4 sigma = sqrt(2 128 ln 2) sigma: beyond it the tail is under 2^-128.
  const int last = static_cast<int>(std::ceil(13.4 * sigma)) + 1;
  std::vector<Fixed> cumulative(1);
  cumulative[0].w[3] = 1;
  Fixed rho = cumulative[0], step = g;
  for (int k = 1; k <= last; ++k) {
    rho = multiply(rho, step);  // rho(k) = rho(k-1) g^(2k-1)
    step = multiply(step, g_squared);
    cumulative.push_back(add(cumulative.back(), add(rho, rho)));
  }
  std::vector<Wide> table;
  for (const Fixed& c : cumulative) {
    const Wide entry = ratio(c, cumulative.back());
    if (entry >> 127 != 0) break;  // the rest rounds to 1, so the table ends here
    table.push_back(entry);
  }
  return table;
}

std::int64_t gaussian_from_word(const std::vector<Wide>& table, Wide word) {
  const Wide u = word & ~(Wide{1} << 127);
  std::uint64_t magnitude = 0;
  // u, entry < 2^127: bit 127 of the difference says u < entry.
  for (const Wide entry : table) magnitude += 1 ^ static_cast<std::uint64_t>((u - entry) >> 127);
  const std::uint64_t sign = static_cast<std::uint64_t>(word >> 127);
  return static_cast<std::int64_t>((magnitude ^ (0 - sign)) + sign);
}

Convolution plan_convolution(double sigma) {
  if (!(sigma >= 0.5 && sigma <= kMaxSigma)) {
    throw ParameterError("rlwe.gaussian", "sigma " + std::to_string(sigma), "0.5 <= sigma <= 2^57",
                         "lower the noise bound or the statistical security");
  }
  constexpr double kBase = 16.0;
  // eta_eps(Z) / sqrt(2 pi) = sqrt(ln(2 + 2/eps) / 2) / pi for eps = 2^-100: 1.88.
  constexpr double kSmoothing = 1.88;
  Convolution plan;
  double reached = kBase;
  while (sigma >= reached * std::sqrt(2.0)) {
    const double most = std::floor(reached / (std::sqrt(2.0) * kSmoothing));
    const double need = std::floor(std::sqrt(sigma / reached * (sigma / reached) - 1.0));
    const double c = std::clamp(need, 1.0, most);
    plan.factors.push_back(static_cast<std::int64_t>(c));
    reached *= std::sqrt(1.0 + c * c);
  }
  plan.base_sigma = plan.factors.empty() ? sigma : sigma / (reached / kBase);
  return plan;
}

}  // namespace latticino::crypto
