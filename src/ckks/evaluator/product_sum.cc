#include "ckks/evaluator/product_sum.h"

#include "ckks/evaluator/scalar.h"

namespace latticino::ckks {
namespace {

constexpr const char* kName = "ckks.product_sum";

Batch allocate(const Batch& like, int parts, int level, double scale) {
  Batch out;
  for (const Ciphertext& x : like) {
    const Context& context = *x.context;
    Ciphertext& c = out.emplace_back(x);
    c.parts.clear();
    for (int h = 0; h < parts; ++h) {
      c.parts.push_back(
          context.queue().allocate(context.ring(), context.params().basis(level), Domain::Eval));
    }
    c.level = level;
    c.scale = scale;
    c.seed.reset();
  }
  return out;
}

std::array<PolyView, 2> views(const Ciphertext& x) { return {x.parts[0].view, x.parts[1].view}; }

// The residues of c for a term at `scale`.
ScalarResidues residues(const Context& context, int level, Complex c, double scale) {
  return scalar_residues(kName, context.ring(), context.params().basis(level), c, scale);
}

}  // namespace

Batch product_sum(const ProductSum& sum, int level, double scale) {
  const Context& context = *(*sum.products[0].first)[0].context;
  Batch out = allocate(*sum.products[0].first, 3, level, scale);
  std::vector<ScalarResidues> factors;
  factors.reserve(sum.terms.size());
  for (const auto& [x, c] : sum.terms) {
    factors.push_back(residues(context, level, c, scale / (*x)[0].scale));
  }
  ScalarResidues constant;
  if (sum.constant != Complex(0)) constant = residues(context, level, sum.constant, scale);
  Tensor op;
  for (std::size_t i = 0; i < out.size(); ++i) {
    Tensor::Item& item = op.items.emplace_back();
    for (int h = 0; h < 3; ++h) item.out[h] = out[i].parts[h].view;
    for (const auto& [a, b] : sum.products)
      item.pairs.push_back({.a = views((*a)[i]), .b = views((*b)[i])});
    item.factor = sum.factor;
    for (std::size_t t = 0; t < factors.size(); ++t) {
      item.terms.push_back({.x = views((*sum.terms[t].first)[i]),
                            .residues = factors[t].lower,
                            .upper = factors[t].upper});
    }
    item.constant = constant.lower;
    item.constant_upper = constant.upper;
  }
  context.queue().submit(std::move(op));
  return out;
}

Batch linear_sum(const std::vector<std::pair<const Batch*, Complex>>& terms, Complex constant,
                 int level, double scale) {
  const Context& context = *(*terms[0].first)[0].context;
  Batch out = allocate(*terms[0].first, 2, level, scale);
  std::vector<ScalarResidues> factors;
  factors.reserve(terms.size());
  for (const auto& [x, c] : terms) {
    factors.push_back(residues(context, level, c, scale / (*x)[0].scale));
  }
  ScalarResidues shift;
  if (constant != Complex(0)) shift = residues(context, level, constant, scale);
  Linear op;
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (int h = 0; h < 2; ++h) {
      Linear::Item& item = op.items.emplace_back();
      item.out = out[i].parts[h].view;
      for (std::size_t t = 0; t < factors.size(); ++t) {
        item.terms.push_back({.x = views((*terms[t].first)[i])[h],
                              .residues = factors[t].lower,
                              .upper = factors[t].upper});
      }
      if (h == 0) {
        item.constant = shift.lower;
        item.constant_upper = shift.upper;
      }
    }
  }
  context.queue().submit(std::move(op));
  return out;
}

}  // namespace latticino::ckks
