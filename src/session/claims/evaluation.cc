#include "session/claims/evaluation.h"

#include <cmath>

#include "session/claims/computation.h"
#include "session/claims/slot_noise.h"

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

ckks::PolynomialBasis basis_of(bool chebyshev) {
  return chebyshev ? ckks::PolynomialBasis::Chebyshev : ckks::PolynomialBasis::Monomial;
}

}  // namespace

Evaluation::Evaluation(ckks::EvaluationTrace trace, bool chebyshev)
    : trace_(std::move(trace)), chebyshev_(chebyshev) {}

Evaluation::Evaluation(const Series& p, double added, double mapping)
    : Evaluation(ckks::trace(nullptr, 0,
                             {basis_of(p.chebyshev),
                              {p.coefficients.begin(), p.coefficients.end()},
                              p.lower,
                              p.upper}),
                 p.chebyshev) {
  added_.assign(trace_.steps.size(), added);
  mapping_ = mapping;
  name_ = Computation::name_of(added, mapping);
}

Evaluation::Evaluation(const Params& params, int level, const ckks::Polynomial& p, int slots)
    : Evaluation(ckks::trace(&params, level - (p.levels() - p.depth()), p),
                 p.basis == ckks::PolynomialBasis::Chebyshev) {
  for (const ckks::EvaluationStep& step : trace_.steps) {
    added_.push_back(step.products.empty()
                         ? rescaled_error(params, step.level + 1, slots, step.scale)
                         : multiplied_error(params, step.level + 1, slots, step.scale));
  }
  if (p.levels() > p.depth()) {
    mapping_ = rescaled_error(params, level, slots, params.scale(level - 1));
  }
  name_ = Computation::name_of(params.hash(), level, slots);
}

// Computes the steps once. Then it goes backwards, to find how much the result depends on each of
// them.
Evaluation::Point Evaluation::at(Complex y) const {
  const auto& steps = trace_.steps;
  std::vector<Complex> values{y}, weights(steps.size() + 1);
  values.reserve(steps.size() + 1);
  const auto value = [&](int i) { return values[static_cast<std::size_t>(i)]; };
  const auto weight = [&](int i) -> Complex& { return weights[static_cast<std::size_t>(i)]; };
  for (const ckks::EvaluationStep& step : steps) {
    Complex sum = 0;
    for (const auto& [a, b] : step.products) sum += value(a) * value(b);
    sum = step.factor * sum + step.constant.exact;
    for (const auto& [x, c] : step.terms) sum += c.exact * value(x);
    values.push_back(sum);
  }
  Point out{0, 0, 0};
  double squares = 0;
  weights.back() = 1;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const ckks::EvaluationStep& step = steps[i];
    const Complex own = weights[i + 1];
    if (own == 0.0) continue;
    Complex off = step.constant.rounded - step.constant.exact;
    for (const auto& [a, b] : step.products) {
      weight(a) += own * step.factor * value(b);
      weight(b) += own * step.factor * value(a);
    }
    for (const auto& [x, c] : step.terms) {
      weight(x) += own * c.exact;
      off += (c.rounded - c.exact) * value(x);
    }
    squares += std::norm(own) * added_[i] * added_[i];
    out.off += own * off;
  }
  out.slope = weights[0];
  out.noise = std::sqrt(squares);
  if (!trace_.dropped.empty()) out.off -= evaluated({trace_.dropped, chebyshev_}, y);
  return out;
}

Complex evaluated(const Series& p, Complex y) {
  Complex b1 = 0, b2 = 0;
  if (!p.chebyshev) {
    for (std::size_t k = p.coefficients.size(); k-- > 0;) b1 = b1 * y + p.coefficients[k];
    return b1;
  }
  for (std::size_t k = p.coefficients.size(); k-- > 1;) {  // Clenshaw's recurrence
    const Complex next = 2.0 * y * b1 - b2 + p.coefficients[k];
    b2 = b1;
    b1 = next;
  }
  return y * b1 - b2 + p.coefficients[0];
}

}  // namespace latticino::session
