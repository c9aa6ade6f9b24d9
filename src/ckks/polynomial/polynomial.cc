#include "ckks/polynomial/polynomial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "ckks/evaluator/checks.h"
#include "ckks/evaluator/product_sum.h"
#include "ckks/polynomial/plan.h"
#include "math/errors.h"

namespace latticino::ckks {
namespace {

constexpr const char* kName = "ckks.evaluate";
// Elements whose scale is smaller than the canonical one by this factor would lose the precision of
// the result.
constexpr double kSmall = 0x1p-24;

// Runs a plan on a batch of inputs of one level and scale. Scales are exact. A node that must end
// at scale s is summed at s * (rescale factor); each child has the scale that, times the scale of
// T_g, gives this.
class PolynomialRun {
 public:
  PolynomialRun(const Evaluator& evaluator, const PolynomialPlan& plan, Batch x)
      : evaluator_(evaluator),
        params_(evaluator.context()->params()),
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
    ProductSum sum{{{&high, &low}}};
    if (plan_.basis == PolynomialBasis::Chebyshev) {
      const int rest = split.high - split.low;
      sum.factor = 2;
      if (rest == 0) {
        sum.constant = -1;
      } else {
        sum.terms.push_back({&at(rest, level), -1});
      }
    }
    const double working = high[0].scale * low[0].scale;
    require_precision(working / params_.rescale_factor(level), level - 1);
    elements_[n] = evaluator_.relinearize(product_sum(sum, level, working), true);
  }

  // Squaring doubles the relative error of a scale. So below levels whose primes are larger than
  // their scales, little of the scale is left.
  void require_precision(double scale, int level) const {
    const double canonical = params_.scale(level);
    if (scale >= kSmall * canonical) return;
    const auto bits = [](double x) { return "2^" + std::to_string(std::lround(std::log2(x))); };
    throw ScaleError(kName,
                     "a power of scale " + bits(scale) + " at level " + std::to_string(level),
                     "a scale near " + bits(canonical),
                     "bring the operand to a lower level first, where scales stay the same");
  }

  // T_n with limbs for all primes of `level`. If a prime would have to enter, limbs cannot just be
  // dropped; then it is adjusted once, to the highest level that has all these primes.
  const Batch& at(int n, int level) {
    const Batch& own = elements_.at(n);
    const Basis needs = params_.basis(level);
    int from = own[0].level;
    while (!params_.basis(from).contains(needs)) --from;
    if (from == own[0].level) return own;
    Batch& lowered = lowered_[{n, from}];
    if (lowered.empty() && own[0].scale > kLargeElement * params_.scale(from)) {
      lowered = exactly_lowered(own, from);
    }
    if (lowered.empty()) {
      for (const Ciphertext& c : own) {
        lowered.push_back(evaluator_.to_level_scale(c, from, c.scale));
      }
    }
    return lowered;
  }

  // Multiplies by the integer nearest to each rescale factor on the way, and keeps the exact scale
  // that follows. At a large scale, the integer is not precise enough to treat the scale as
  // unchanged.
  Batch exactly_lowered(const Batch& x, int level) const {
    Batch out = x;
    while (out[0].level > level) {
      int from = level + 1;
      while (!params_.basis(out[0].level).contains(params_.basis(from))) ++from;
      const double integer = std::nearbyint(params_.rescale_factor(from));
      for (Ciphertext& c : out) {
        c = times_power_of_two_and_integer(evaluator_.drop_to(c, from), integer);
        c.scale *= integer;
      }
      out = evaluator_.rescale(out);
    }
    return out;
  }

  // Rescale factors may exceed 64 bits. A double of that size is an integer times a power of two.
  Ciphertext times_power_of_two_and_integer(Ciphertext x, double integer) const {
    constexpr int kBits = 62;
    const int beyond = std::max(0, std::ilogb(integer) + 1 - kBits);
    if (beyond > 0) x = evaluator_.multiply_integer(x, std::int64_t{1} << beyond);
    return evaluator_.multiply_integer(x, static_cast<std::int64_t>(std::ldexp(integer, -beyond)));
  }

  // Computes the node's polynomial at its depth, exactly at `scale`.
  Batch node(const PolynomialNode& n, double scale) {
    const int level = top_ - n.depth + 1;
    const double working = scale * params_.rescale_factor(level);
    require_capacity(kName, params_, level, working);
    std::vector<std::pair<const Batch*, Complex>> terms;
    terms.reserve(n.terms.size());
    for (const auto& [index, c] : n.terms) terms.push_back({&at(index, level), c});
    Batch out;
    if (n.products.empty()) {
      // A polynomial that is only a constant is also computed from the input, so that it becomes a
      // ciphertext.
      if (terms.empty()) terms.push_back({&at(1, level), 0});
      out = evaluator_.rescale(linear_sum(terms, n.constant, level, working));
    } else {
      std::vector<Batch> children;
      ProductSum sum{{}, 1, std::move(terms), n.constant};
      children.reserve(n.products.size());
      for (const auto& [g, child] : n.products) {
        children.push_back(node(child, working / at(g, level)[0].scale));
      }
      for (std::size_t i = 0; i < children.size(); ++i) {
        sum.products.push_back({&children[i], &at(n.products[i].element, level)});
      }
      out = evaluator_.relinearize(product_sum(sum, level, working), true);
    }
    for (Ciphertext& c : out) c.scale = scale;
    return out;
  }

  const Evaluator& evaluator_;
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

// All inputs at the lowest of their levels, mapped to y = stretch * x - centre * stretch.
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
