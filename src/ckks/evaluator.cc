#include "ckks/evaluator.h"

#include <algorithm>
#include <string>

#include "ckks/checks.h"
#include "ckks/scalar.h"
#include "math/errors.h"

namespace latticino::ckks {

Evaluator::Evaluator(std::shared_ptr<const Context> context,
                     std::shared_ptr<const rlwe::KeySource> keys)
    : context_(std::move(context)), keys_(std::move(keys)) {}

void Evaluator::require(const char* operation, const Ciphertext& x) const {
  require_context(operation, *context_, x);
}

void Evaluator::require(const char* operation, const Ciphertext& x, const Ciphertext& y) const {
  require_context(operation, *context_, x);
  require_context(operation, *context_, y);
  require_compatible(operation, x, y);
}

Ciphertext Evaluator::allocate(const Ciphertext& like, int parts, int level, double scale) const {
  std::vector<Poly> out;
  for (int h = 0; h < parts; ++h) {
    out.push_back(context_->queue().allocate(context_->ring(), context_->params().basis(level),
                                             Domain::Eval));
  }
  return with_parts(like, std::move(out), level, scale);
}

Ciphertext Evaluator::with_parts(const Ciphertext& like, std::vector<Poly> parts, int level,
                                 double scale) const {
  return {context_, std::move(parts), level, scale, like.slots, like.key};
}

// x + sign * y, part by part; a part that one of them lacks is zero there.
Ciphertext Evaluator::combine(const char* operation, const Ciphertext& x0, const Ciphertext& y0,
                              int sign) const {
  require(operation, x0, y0);
  if (x0.level == y0.level) require_same_scale(operation, y0.scale, x0.scale);
  const Ciphertext x = x0.level > y0.level ? to_level_scale(x0, y0.level, y0.scale) : x0;
  const Ciphertext y = y0.level > x0.level ? to_level_scale(y0, x0.level, x0.scale) : y0;
  const std::size_t parts = std::max(x.parts.size(), y.parts.size());
  Ciphertext out = allocate(x, static_cast<int>(parts), x.level, x.scale);
  Linear op;
  for (std::size_t h = 0; h < parts; ++h) {
    Linear::Item item;
    item.out = out.parts[h].view;
    if (h < x.parts.size()) item.terms.push_back({x.parts[h].view, 1, {}, {}});
    if (h < y.parts.size()) item.terms.push_back({y.parts[h].view, sign, {}, {}});
    op.items.push_back(std::move(item));
  }
  context_->queue().submit(std::move(op));
  return out;
}

Ciphertext Evaluator::combine(const char* operation, const Ciphertext& x0, const Plaintext& y,
                              int sign) const {
  const Ciphertext x = aligned(operation, x0, y, y.scale);
  require_same_scale(operation, y.scale, x.scale);
  Ciphertext out = x;
  out.parts[0] =
      context_->queue().allocate(context_->ring(), x.parts[0].view.basis(), Domain::Eval);
  context_->queue().submit(Linear{
      {{{{x.parts[0].view, 1, {}, {}}, {y.poly.view, sign, {}, {}}}, out.parts[0].view, {}, {}}}});
  return out;
}

Ciphertext Evaluator::add(const Ciphertext& x, const Ciphertext& y) const {
  return combine("ckks.add", x, y, 1);
}

Ciphertext Evaluator::sub(const Ciphertext& x, const Ciphertext& y) const {
  return combine("ckks.sub", x, y, -1);
}

Ciphertext Evaluator::add(const Ciphertext& x, const Plaintext& y) const {
  return combine("ckks.add", x, y, 1);
}

Ciphertext Evaluator::sub(const Ciphertext& x, const Plaintext& y) const {
  return combine("ckks.sub", x, y, -1);
}

Ciphertext Evaluator::negate(const Ciphertext& x) const { return multiply_integer(x, -1); }

Ciphertext Evaluator::add_scalar(const Ciphertext& x, Complex c) const {
  require("ckks.add_scalar", x);
  const Basis basis = x.parts[0].view.basis();
  ScalarResidues constant = scalar_residues("ckks.add_scalar", context_->ring(), basis, c, x.scale);
  Ciphertext out = x;  // the other parts are shared
  out.parts[0] = context_->queue().allocate(context_->ring(), basis, Domain::Eval);
  context_->queue().submit(Linear{{{{{x.parts[0].view, 1, {}, {}}},
                                    out.parts[0].view,
                                    std::move(constant.lower),
                                    std::move(constant.upper)}}});
  return out;
}

// Every part times one constant.
Ciphertext Evaluator::scaled(const Ciphertext& x, const ScalarResidues& factor,
                             double scale) const {
  Ciphertext out = allocate(x, static_cast<int>(x.parts.size()), x.level, scale);
  Linear op;
  for (std::size_t h = 0; h < x.parts.size(); ++h) {
    op.items.push_back(
        {{{x.parts[h].view, 1, factor.lower, factor.upper}}, out.parts[h].view, {}, {}});
  }
  context_->queue().submit(std::move(op));
  return out;
}

// x * round(c * scale), level kept.
Ciphertext Evaluator::times(const char* operation, const Ciphertext& x, Complex c,
                            double scale) const {
  require(operation, x);
  return scaled(x, scalar_residues(operation, context_->ring(), x.parts[0].view.basis(), c, scale),
                x.scale * scale);
}

Ciphertext Evaluator::multiply_integer(const Ciphertext& x, std::int64_t c) const {
  require("ckks.multiply_integer", x);
  return scaled(x, integer_residues(context_->ring(), x.parts[0].view.basis(), c), x.scale);
}

Ciphertext Evaluator::multiply_i(const Ciphertext& x, int power) const {
  require("ckks.multiply_i", x);
  return scaled(x, unit_residues(context_->ring(), x.parts[0].view.basis(), power & 3), x.scale);
}

}  // namespace latticino::ckks
