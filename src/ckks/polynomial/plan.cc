#include "ckks/polynomial/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "math/errors.h"

namespace latticino::ckks {
namespace {

using Coefficients = std::vector<Complex>;

// Coefficients that are smaller than the largest one by this factor are taken to be rounding errors
// of the code that computed them.
constexpr double kZero = 0x1p-50;

void trim(Coefficients& c) {
  while (!c.empty() && c.back() == Complex(0)) c.pop_back();
}

// p = q T_g + r with deg q = deg p - g and deg r < g, for g <= deg p < 2g. In the Chebyshev basis
// T_g T_i = (T_(g+i) + T_(g-i)) / 2.
std::pair<Coefficients, Coefficients> divide(PolynomialBasis basis, const Coefficients& p, int g) {
  Coefficients q(p.begin() + g, p.end()), r(p.begin(), p.begin() + g);
  if (basis == PolynomialBasis::Chebyshev) {
    for (std::size_t i = 1; i < q.size(); ++i) {
      r[g - i] -= q[i];
      q[i] *= 2;
    }
  }
  trim(q);
  trim(r);
  return {std::move(q), std::move(r)};
}

// A sum of T_i whose rescaled result is at `depth`. Every T_i must be available one level above.
bool is_leaf(const Coefficients& p, int depth, int leaf_size) {
  if (static_cast<int>(p.size()) > leaf_size) return false;
  for (std::size_t i = 1; i < p.size(); ++i) {
    if (p[i] != Complex(0) && ceil_log2(static_cast<int>(i)) > depth - 1) return false;
  }
  return true;
}

PolynomialNode build(PolynomialBasis basis, Coefficients p, int depth, int leaf_size) {
  PolynomialNode node;
  node.depth = depth;
  while (!is_leaf(p, depth, leaf_size)) {
    const int g = static_cast<int>(std::bit_floor(p.size() - 1));
    auto [q, r] = divide(basis, p, g);
    if (q.size() == 1) {
      node.terms.push_back({g, q[0]});
    } else {
      node.products.push_back({g, build(basis, std::move(q), depth - 1, leaf_size)});
    }
    p = std::move(r);
  }
  if (!p.empty()) node.constant = p[0];
  for (std::size_t i = 1; i < p.size(); ++i) {
    if (p[i] != Complex(0)) node.terms.push_back({static_cast<int>(i), p[i]});
  }
  return node;
}

void need(PolynomialPlan& plan, int n) {
  if (n < 2 || !plan.elements.insert(n).second) return;
  const ElementSplit s = split_element(n);
  need(plan, s.high);
  need(plan, s.low);
  if (plan.basis == PolynomialBasis::Chebyshev) need(plan, s.high - s.low);
}

void collect(PolynomialPlan& plan, const PolynomialNode& node) {
  for (const auto& [index, c] : node.terms) need(plan, index);
  for (const auto& [index, child] : node.products) {
    need(plan, index);
    ++plan.products;
    collect(plan, child);
  }
}

}  // namespace

int ceil_log2(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

std::vector<Complex> cleaned(const Polynomial& p) {
  double largest = 0;
  for (const Complex& c : p.coefficients) {
    if (!std::isfinite(c.real()) || !std::isfinite(c.imag())) {
      throw ValueError("ckks.evaluate", "a coefficient that is not finite", "finite coefficients",
                       "check the polynomial");
    }
    largest = std::max({largest, std::abs(c.real()), std::abs(c.imag())});
  }
  std::vector<Complex> out = p.coefficients;
  for (Complex& c : out) {
    if (std::abs(c.real()) <= kZero * largest) c.real(0);
    if (std::abs(c.imag()) <= kZero * largest) c.imag(0);
  }
  trim(out);
  return out;
}

ElementSplit split_element(int n) {
  const int floor = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  const int high = floor == n ? n / 2 : floor;
  return {high, n - high};
}

PolynomialPlan plan_polynomial(PolynomialBasis basis, const Coefficients& coefficients) {
  Coefficients p = coefficients;
  trim(p);
  const int depth = ceil_log2(static_cast<int>(p.size()));
  PolynomialPlan best;
  for (int leaf_size = 2;; leaf_size *= 2) {
    PolynomialPlan plan;
    plan.basis = basis;
    plan.root = build(basis, p, depth, leaf_size);
    collect(plan, plan.root);
    plan.products += static_cast<int>(plan.elements.size());
    if (leaf_size == 2 || plan.products < best.products) best = std::move(plan);
    if (leaf_size >= static_cast<int>(p.size())) return best;
  }
}

}  // namespace latticino::ckks
