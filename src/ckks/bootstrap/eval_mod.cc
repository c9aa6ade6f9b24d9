#include "ckks/bootstrap/eval_mod.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/evaluator/product_sum.h"

namespace latticino::ckks::bootstrap {
namespace {

// Error bound for sine_for_range: far below the noise of the values.
const double kWideError = 0x1p-40;

Polynomial polynomial(PolynomialBasis basis, const std::vector<double>& coefficients) {
  Polynomial p;
  p.basis = basis;
  p.coefficients.assign(coefficients.begin(), coefficients.end());
  return p;
}

// 2 x^2 - c. The factor 2 is free: the scale declared is halved.
Batch double_angle(const Evaluator& evaluator, const Batch& x, double c) {
  const ProductSum sum{{{&x, &x}}, 1, {}, -c};
  return evaluator.relinearize(product_sum(sum, x[0].level, 0.5 * x[0].scale * x[0].scale), true);
}

// y = x - 1/(4 K) -> T_2(y) = 2 x^2 - x / K + 1/(8 K^2) - 1, where a rounding error weighs most
// (K / (4 y), docs/bootstrapping.md): the rescale factor is divided out apart from P.
Batch first_square(const Evaluator& evaluator, const Batch& x, double range_k) {
  const ProductSum sum{{{&x, &x}}, 1, {{&x, -1 / range_k}}, 1 / (8 * range_k * range_k) - 1};
  return evaluator.rescale(
      evaluator.relinearize(product_sum(sum, x[0].level, 0.5 * x[0].scale * x[0].scale), false));
}

// 2 (x^2 + i y^2) - (1 + i) c for pairs x, y: the last double angle of both. One relinearisation
// serves both, because it acts on the sum.
Batch joined_double_angle(const Evaluator& evaluator, const Batch& x, double c) {
  const Batch re(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2));
  const Batch im(x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  const Batch turned = evaluator.multiply_i(im, 1);
  const ProductSum sum{{{&re, &re}, {&turned, &im}}, 1, {}, {-c, -c}};
  const Batch product = product_sum(sum, x[0].level, 0.5 * x[0].scale * x[0].scale);
  return evaluator.relinearize(product, true);
}

}  // namespace

// The scale that the input of the double angles needs, so that scales stay about the same through
// all of them. A double angle squares its input and rescales, which makes s^2 / r of a scale s, for
// the rescale factor r of the level. On levels that have one factor r, the scale s = r stays. Above
// them the loop goes back level by level: s comes from an input with the scale sqrt(s r). In the
// first one, T_2(y) = 2 y^2 - 1, the factor 2 is part of the scale, which gives sqrt(2 r s).
double eval_mod_input_scale(const Params& params, int level) {
  const int equal = params.top_level() - params.bootstrap()->cts_levels;
  int at = std::min(level, equal) - 1;
  double scale = params.rescale_factor(at);
  while (++at < level) scale = std::sqrt(scale * params.rescale_factor(at));
  return std::sqrt(2 * params.rescale_factor(level) * scale);
}

std::optional<SinePolynomial> sine_for_range(int range_k, bool arcsine, int levels) {
  constexpr int kMaxAngles = 8, kMaxDegree = 254;
  std::optional<SinePolynomial> best;
  int fewest = 0;
  for (int r = 0; r <= kMaxAngles; ++r) {
    const SinePolynomial longest = sine_closed_form(range_k, r, kMaxDegree, arcsine);
    // The double angles amplify a term that is left out, at most by 4 each.
    int degree = kMaxDegree;
    while (degree > 2 && std::ldexp(std::abs(longest.coefficients[degree]), 2 * r) < kWideError) {
      degree -= 2;
    }
    if (degree == kMaxDegree) continue;
    SinePolynomial p = sine_closed_form(range_k, r, degree, arcsine);
    const int products = product_count(polynomial(PolynomialBasis::Chebyshev, p.in_t2())) + r;
    if (p.depth() > levels || (best && products > fewest)) continue;
    if (best && products == fewest && p.depth() >= best->depth()) continue;
    fewest = products;
    best = std::move(p);
  }
  return best;
}

EvalMod::EvalMod(const Params& params, SinePolynomial sine, int output_level, double before_arcsine)
    : params_(params),
      sine_(std::move(sine)),
      output_level_(output_level),
      before_arcsine_(before_arcsine),
      cosine_(polynomial(PolynomialBasis::Chebyshev, sine_.in_t2())),
      arcsine_(polynomial(PolynomialBasis::Monomial, sine_.arcsine)) {}

// Computed backwards from the scale of the result: a double angle at level l turns s into s^2 / (2
// r_l).
double EvalMod::scale_before_double_angles(double scale) const {
  int level = output_level_ + sine_.arcsine_depth();  // the levels of the arcsine come last
  if (before_arcsine_ > 0) scale = before_arcsine_;
  for (int i = 0; i < sine_.double_angles; ++i) {
    scale = std::sqrt(2 * params_.rescale_factor(++level) * scale);
  }
  return scale;
}

// First T_2, in which the even polynomial of the cosine has half the degree; then all double angles
// but the last.
std::vector<Ciphertext> EvalMod::cosine(const Evaluator& evaluator,
                                        const std::vector<Ciphertext>& x, double scale) const {
  Batch y = first_square(evaluator, x, sine_.range_k);
  y = evaluate(evaluator, cosine_, y, scale_before_double_angles(scale));
  for (std::size_t i = 0; i + 1 < sine_.subtract.size(); ++i) {
    y = double_angle(evaluator, y, sine_.subtract[i]);
  }
  return y;
}

std::vector<Ciphertext> EvalMod::apply(const Evaluator& evaluator, std::vector<Ciphertext> x,
                                       double scale) const {
  x = cosine(evaluator, x, scale);
  if (!sine_.subtract.empty()) x = double_angle(evaluator, x, sine_.subtract.back());
  if (!sine_.arcsine.empty()) x = evaluate(evaluator, arcsine_, x, scale);
  return x;
}

std::vector<Ciphertext> EvalMod::joined(const Evaluator& evaluator, std::vector<Ciphertext> x,
                                        double scale) const {
  if (!sine_.arcsine.empty() || sine_.subtract.empty()) {
    return apply(evaluator, std::move(x), scale);
  }
  return joined_double_angle(evaluator, cosine(evaluator, x, scale), sine_.subtract.back());
}

}  // namespace latticino::ckks::bootstrap
