#include "ckks/polynomial/trace.h"

#include <cmath>
#include <map>
#include <set>

#include "ckks/evaluator/checks.h"
#include "ckks/evaluator/lowering.h"
#include "ckks/polynomial/plan.h"

namespace latticino::ckks {
namespace {

// The steps of PolynomialRun (polynomial.cc), in its order.
class Tracer {
 public:
  Tracer(const Params* params, const PolynomialPlan& plan, int top)
      : params_(params), plan_(plan), top_(top) {
    elements_[1] = {0, top, params == nullptr ? 1 : params->scale(top)};
  }

  std::vector<EvaluationStep> run() {
    for (const int n : plan_.elements) make_element(n);
    const int level = top_ - plan_.root.depth;
    node(plan_.root, params_ == nullptr ? 1 : params_->scale(level));
    return std::move(steps_);
  }

 private:
  struct Value {
    int number;
    int level;
    double scale;
  };

  double factor(int level) const { return params_ == nullptr ? 1 : params_->rescale_factor(level); }

  // The number that a factor or a summand is rounded to at a scale.
  RoundedNumber rounded(Complex c, double scale) const {
    if (params_ == nullptr) return {c, c};
    return {c,
            {std::nearbyint(c.real() * scale) / scale, std::nearbyint(c.imag() * scale) / scale}};
  }

  Value add(EvaluationStep step, int level, double scale) {
    step.level = level;
    step.scale = scale;
    steps_.push_back(std::move(step));
    return {static_cast<int>(steps_.size()), level, scale};
  }

  void make_element(int n) {
    const ElementSplit split = split_element(n);
    const int level = top_ - ceil_log2(n) + 1;
    const Value high = at(split.high, level), low = at(split.low, level);
    const double working = high.scale * low.scale;
    EvaluationStep step;
    step.products = {{high.number, low.number}};
    if (plan_.basis == PolynomialBasis::Chebyshev) {
      const int rest = split.high - split.low;
      step.factor = 2;
      if (rest == 0) {
        step.constant = rounded(-1, working);
      } else {
        const Value x = at(rest, level);
        step.terms.push_back({x.number, rounded(-1, working / x.scale)});
      }
    }
    double scale = working / factor(level);
    if (params_ != nullptr) scale = snap_scale(*params_, level - 1, scale);
    elements_[n] = add(std::move(step), level - 1, scale);
  }

  Value at(int n, int level) {
    const Value own = elements_.at(n);
    if (params_ == nullptr) return own;
    const Basis needs = params_->basis(level);
    int from = own.level;
    while (!params_->basis(from).contains(needs)) --from;
    if (from == own.level) return own;
    const auto found = lowered_.find({n, from});
    if (found != lowered_.end()) return found->second;
    return lowered_[{n, from}] = own.scale > kLargeElement * params_->scale(from)
                                     ? exactly_lowered(own, from)
                                     : adjusted(own, from);
  }

  Value times(const Value& x, RoundedNumber c, int level, double scale) {
    EvaluationStep step;
    step.terms = {{x.number, c}};
    return add(std::move(step), level, scale);
  }

  Value adjusted(Value x, int level) {
    for (const Adjustment& step : lowering(*params_, x.level, x.scale, level, x.scale)) {
      x = times(x, {1, std::nearbyint(step.factor) / step.factor}, step.from - 1, step.scale);
    }
    return x;
  }

  Value exactly_lowered(Value x, int level) {
    while (x.level > level) {
      int from = level + 1;
      while (!params_->basis(x.level).contains(params_->basis(from))) ++from;
      const double integer = std::nearbyint(factor(from));
      x = times(x, {1, 1}, from - 1,
                snap_scale(*params_, from - 1, x.scale * integer / factor(from)));
    }
    return x;
  }

  Value node(const PolynomialNode& n, double scale) {
    const int level = top_ - n.depth + 1;
    const double working = scale * factor(level);
    EvaluationStep step;
    for (const auto& [index, c] : n.terms) {
      const Value x = at(index, level);
      step.terms.push_back({x.number, rounded(c, working / x.scale)});
    }
    for (const auto& [g, child] : n.products) {
      const Value element = at(g, level);
      const Value quotient = node(child, working / element.scale);
      step.products.push_back({quotient.number, element.number});
    }
    step.constant = rounded(n.constant, working);
    return add(std::move(step), level - 1, scale);
  }

  const Params* params_;
  const PolynomialPlan& plan_;
  int top_;
  std::map<int, Value> elements_;
  std::map<std::pair<int, int>, Value> lowered_;  // indexed by T's index and level
  std::vector<EvaluationStep> steps_;
};

}  // namespace

EvaluationTrace trace(const Params* params, int level, const Polynomial& p) {
  std::vector<Complex> kept = cleaned(p);
  EvaluationTrace out;
  for (std::size_t k = 0; k < p.coefficients.size(); ++k) {
    const Complex left = p.coefficients[k] - (k < kept.size() ? kept[k] : 0.0);
    if (left == 0.0) continue;
    out.dropped.resize(k + 1);
    out.dropped[k] = left;
  }
  if (kept.empty()) kept = {0};
  if (kept.size() == 1) params = nullptr;  // a constant has no steps
  const PolynomialPlan plan = plan_polynomial(p.basis, kept);
  out.steps = Tracer(params, plan, level).run();
  return out;
}

}  // namespace latticino::ckks
