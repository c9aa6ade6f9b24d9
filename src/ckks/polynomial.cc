#include "ckks/polynomial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "ckks/checks.h"
#include "ckks/polynomial_plan.h"
#include "ckks/scalar.h"
#include "math/errors.h"

namespace latticino::ckks {
namespace {

constexpr const char* kName = "ckks.evaluate";
// Coefficients this far below the largest are rounding errors of whoever computed them.
constexpr double kZero = 0x1p-50;

using Batch = std::vector<Ciphertext>;

// Runs a plan on a batch of inputs of one level and scale. Scales are exact: a node that must end
// at scale s is summed at s * (rescale factor), and each child at what T_g leaves of it.
class PolynomialRun {
 public:
  PolynomialRun(const Evaluator& evaluator, const PolynomialPlan& plan, Batch x)
      : evaluator_(evaluator),
        context_(*evaluator.context()),
        params_(context_.params()),
        plan_(plan),
        top_(x[0].level) {
    elements_[1] = std::move(x);
  }

  Batch run(double scale) {
    for (const int n : plan_.elements) make_element(n);
    return node(plan_.root, scale);
  }

 private:
  // T_n = 2 T_high T_low - T_(high-low), at the depth of n.
  void make_element(int n) {
    const ElementSplit split = split_element(n);
    const int level = top_ - ceil_log2(n) + 1;
    const Batch &high = at(split.high, level), &low = at(split.low, level);
    const double scale = high[0].scale * low[0].scale;
    std::vector<Operands> pairs(1, {&high, &low});
    Batch sum = tensor(pairs, level, scale);
    if (plan_.basis == PolynomialBasis::Chebyshev) {
      const int rest = split.high - split.low;
      std::vector<std::pair<int, Complex>> terms;
      if (rest > 0) terms.push_back({rest, -1});
      add_terms(sum, 2, terms, rest == 0 ? -1 : 0, level, scale);
    }
    elements_[n] = evaluator_.relinearize(sum, true);
  }

  // T_n with limbs for all primes of `level`. Where limbs cannot just be dropped (a prime would
  // have to enter), it is adjusted to the highest level that has them all, once.
  const Batch& at(int n, int level) {
    const Batch& own = elements_.at(n);
    const Basis needs = params_.basis(level);
    int from = own[0].level;
    while (!params_.basis(from).contains(needs)) --from;
    if (from == own[0].level) return own;
    Batch& lowered = lowered_[{n, from}];
    if (lowered.empty()) {
      for (const Ciphertext& c : own) {
        lowered.push_back(evaluator_.to_level_scale(c, from, c.scale));
      }
    }
    return lowered;
  }

  // The node's polynomial at its depth, exactly at `scale`.
  Batch node(const PolynomialNode& n, double scale) {
    const int level = top_ - n.depth + 1;
    const double working = scale * params_.rescale_factor(level);
    require_capacity(kName, params_, level, working);
    std::vector<Batch> children;
    std::vector<Operands> pairs;
    for (const auto& [g, child] : n.products) {
      const Batch& giant = at(g, level);
      children.push_back(node(child, working / giant[0].scale));
      pairs.push_back({nullptr, &giant});
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].first = &children[i];
    Batch sum = pairs.empty() ? allocate(2, level, working) : tensor(pairs, level, working);
    add_terms(sum, pairs.empty() ? 0 : 1, n.terms, n.constant, level, working);
    Batch out = pairs.empty() ? evaluator_.rescale(sum) : evaluator_.relinearize(sum, true);
    for (Ciphertext& c : out) c.scale = scale;
    return out;
  }

  using Operands = std::pair<const Batch*, const Batch*>;

  Batch allocate(int parts, int level, double scale) const {
    Batch out;
    for (const Ciphertext& x : elements_.at(1)) {
      Ciphertext& c = out.emplace_back(x);
      c.parts.clear();
      for (int h = 0; h < parts; ++h) {
        c.parts.push_back(
            context_.queue().allocate(context_.ring(), params_.basis(level), Domain::Eval));
      }
      c.level = level;
      c.scale = scale;
      c.seed.reset();
    }
    return out;
  }

  // sum over pairs of a * b, three parts.
  Batch tensor(const std::vector<Operands>& pairs, int level, double scale) const {
    Batch out = allocate(3, level, scale);
    Tensor op;
    for (std::size_t i = 0; i < out.size(); ++i) {
      Tensor::Item& item = op.items.emplace_back();
      for (int h = 0; h < 3; ++h) item.out[h] = out[i].parts[h].view;
      for (const auto& [a, b] : pairs) {
        item.pairs.push_back({{(*a)[i].parts[0].view, (*a)[i].parts[1].view},
                              {(*b)[i].parts[0].view, (*b)[i].parts[1].view}});
      }
    }
    context_.queue().submit(std::move(op));
    return out;
  }

  // sum <- keep * sum + sum_i c_i T_i + constant, in place; keep == 0: sum holds nothing yet.
  void add_terms(Batch& sum, int keep, const std::vector<std::pair<int, Complex>>& terms,
                 Complex constant, int level, double scale) {
    if (keep == 1 && terms.empty() && constant == Complex(0)) return;
    const Basis basis = params_.basis(level);
    std::vector<std::pair<const Batch*, ScalarResidues>> factors;
    for (const auto& [index, c] : terms) {
      const Batch& t = at(index, level);
      factors.push_back(
          {&t, scalar_residues(kName, context_.ring(), basis, c, scale / t[0].scale)});
    }
    ScalarResidues shift;
    if (constant != Complex(0)) {
      shift = scalar_residues(kName, context_.ring(), basis, constant, scale);
    }
    Linear op;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      for (std::size_t h = 0; h < sum[i].parts.size(); ++h) {
        if (keep == 1 && (h == 2 || (h == 1 && terms.empty()))) continue;  // unchanged
        Linear::Item item;
        item.out = sum[i].parts[h].view;
        if (keep != 0) item.terms.push_back({item.out, keep, {}, {}});
        for (const auto& [t, factor] : factors) {
          if (h < 2) {
            item.terms.push_back({(*t)[i].parts[h].view, 1, factor.lower, factor.upper});
          }
        }
        if (h == 0) {
          item.constant = shift.lower;
          item.constant_upper = shift.upper;
        }
        op.items.push_back(std::move(item));
      }
    }
    context_.queue().submit(std::move(op));
  }

  const Evaluator& evaluator_;
  const Context& context_;
  const Params& params_;
  const PolynomialPlan& plan_;
  int top_;
  std::map<int, Batch> elements_;
  std::map<std::pair<int, int>, Batch> lowered_;  // by index and level
};

// 2 / (upper - lower): what x is multiplied by.
double stretch(const Polynomial& p) {
  if (!(p.lower < p.upper) || !std::isfinite(p.upper - p.lower)) {
    throw ValueError(kName,
                     "interval [" + std::to_string(p.lower) + ", " + std::to_string(p.upper) + "]",
                     "lower < upper, both finite", "check the interval");
  }
  return 2 / (p.upper - p.lower);
}

bool is_free(double factor) { return factor == std::nearbyint(factor) && factor < 0x1p20; }

// Coefficients without rounding errors and trailing zeros.
std::vector<Complex> cleaned(const Polynomial& p) {
  double largest = 0;
  for (const Complex& c : p.coefficients) {
    if (!std::isfinite(c.real()) || !std::isfinite(c.imag())) {
      throw ValueError(kName, "a coefficient that is not finite", "finite coefficients",
                       "check the polynomial");
    }
    largest = std::max({largest, std::abs(c.real()), std::abs(c.imag())});
  }
  std::vector<Complex> out = p.coefficients;
  for (Complex& c : out) {
    if (std::abs(c.real()) <= kZero * largest) c.real(0);
    if (std::abs(c.imag()) <= kZero * largest) c.imag(0);
  }
  while (!out.empty() && out.back() == Complex(0)) out.pop_back();
  return out;
}

// All inputs at the level of the lowest, y = stretch * x - centre * stretch.
Batch mapped(const Evaluator& evaluator, const Polynomial& p, std::span<const Ciphertext> x) {
  const double factor = stretch(p), shift = -factor * (p.lower + p.upper) / 2;
  const auto lowest = std::min_element(
      x.begin(), x.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  Batch out;
  for (const Ciphertext& c : x) {
    require_context(kName, *evaluator.context(), c);
    require_parts(kName, c, 2);
    require_level(kName, c.level, p.levels());
    if (c.level == lowest->level) require_same_scale(kName, c.scale, lowest->scale);
    Ciphertext y = evaluator.to_level_scale(c, lowest->level, lowest->scale);
    if (!is_free(factor)) {
      y = evaluator.multiply_scalar(y, factor);
    } else if (factor != 1) {
      y = evaluator.multiply_integer(y, static_cast<std::int64_t>(factor));
    }
    out.push_back(shift == 0 ? y : evaluator.add_scalar(y, shift));
  }
  return out;
}

}  // namespace

int Polynomial::degree() const { return std::max(0, static_cast<int>(cleaned(*this).size()) - 1); }

int Polynomial::depth() const { return ceil_log2(degree() + 1); }

int Polynomial::levels() const { return depth() + (is_free(stretch(*this)) ? 0 : 1); }

int product_count(const Polynomial& p) {
  return p.degree() == 0 ? 0 : plan_polynomial(p.basis, cleaned(p)).products;
}

Ciphertext evaluate(const Evaluator& evaluator, const Polynomial& p, const Ciphertext& x,
                    double target_scale) {
  return std::move(evaluate(evaluator, p, std::span(&x, 1), target_scale).front());
}

std::vector<Ciphertext> evaluate(const Evaluator& evaluator, const Polynomial& p,
                                 std::span<const Ciphertext> x, double target_scale) {
  if (x.empty()) return {};
  const std::vector<Complex> coefficients = cleaned(p);
  Batch y = mapped(evaluator, p, x);
  const Params& params = evaluator.context()->params();
  const int level = y[0].level - p.depth();
  const double scale = target_scale > 0 ? target_scale : params.scale(level);
  if (coefficients.size() <= 1) {
    for (Ciphertext& c : y) {
      c = evaluator.multiply_integer(c, 0);
      c.scale = scale;
      if (!coefficients.empty()) c = evaluator.add_scalar(c, coefficients[0]);
    }
    return y;
  }
  const PolynomialPlan plan = plan_polynomial(p.basis, coefficients);
  return PolynomialRun(evaluator, plan, std::move(y)).run(scale);
}

}  // namespace latticino::ckks
