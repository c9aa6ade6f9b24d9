#include "ckks/evaluator/evaluator.h"

#include <algorithm>
#include <string>

#include "ckks/evaluator/batches.h"
#include "ckks/evaluator/checks.h"
#include "ckks/evaluator/scalar.h"
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
  out.reserve(parts);
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

// x + sign * y, part by part. A part that one of them does not have counts as zero.
std::vector<Ciphertext> Evaluator::combine(const char* operation, Span x0, Span y0,
                                           int sign) const {
  for (std::size_t i = 0; i < x0.size(); ++i) require(operation, x0[i], y0[i]);
  if (x0[0].level == y0[0].level) require_same_scale(operation, y0[0].scale, x0[0].scale);
  Ciphertexts lower;
  Span x = x0, y = y0;
  if (x[0].level > y[0].level) x = lower = lowered(x, y[0].level, y[0].scale);
  if (y[0].level > x[0].level) y = lower = lowered(y, x[0].level, x[0].scale);
  const std::size_t parts = std::max(x[0].parts.size(), y[0].parts.size());
  Ciphertexts out;
  Linear op;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.push_back(allocate(x[i], static_cast<int>(parts), x[i].level, x[i].scale));
    for (std::size_t h = 0; h < parts; ++h) {
      Linear::Item item;
      item.out = out[i].parts[h].view;
      if (h < x[i].parts.size()) item.terms.push_back({.x = x[i].parts[h].view});
      if (h < y[i].parts.size()) item.terms.push_back({.x = y[i].parts[h].view, .small = sign});
      op.items.push_back(std::move(item));
    }
  }
  context_->queue().submit(std::move(op));
  return out;
}

Ciphertext Evaluator::combine(const char* operation, const Ciphertext& x0, const Plaintext& y,
                              int sign) const {
  const Ciphertext x = aligned(operation, std::span(&x0, 1), std::span(&y, 1), y.scale).front();
  require_same_scale(operation, y.scale, x.scale);
  Ciphertext out = x;
  out.parts[0] =
      context_->queue().allocate(context_->ring(), x.parts[0].view.basis(), Domain::Eval);
  context_->queue().submit(
      Linear{{{.terms = {{.x = x.parts[0].view}, {.x = y.poly.view, .small = sign}},
               .out = out.parts[0].view}}});
  return out;
}

Ciphertext Evaluator::add(const Ciphertext& x, const Ciphertext& y) const {
  return std::move(combine("ckks.add", std::span(&x, 1), std::span(&y, 1), 1).front());
}

Ciphertext Evaluator::sub(const Ciphertext& x, const Ciphertext& y) const {
  return std::move(combine("ckks.sub", std::span(&x, 1), std::span(&y, 1), -1).front());
}

std::vector<Ciphertext> Evaluator::add(Span x, Span y) const {
  return in_batches("ckks.add", x, y, [&](Span a, Span b) { return combine("ckks.add", a, b, 1); });
}

std::vector<Ciphertext> Evaluator::sub(Span x, Span y) const {
  return in_batches("ckks.sub", x, y,
                    [&](Span a, Span b) { return combine("ckks.sub", a, b, -1); });
}

Ciphertext Evaluator::add(const Ciphertext& x, const Plaintext& y) const {
  return combine("ckks.add", x, y, 1);
}

Ciphertext Evaluator::sub(const Ciphertext& x, const Plaintext& y) const {
  return combine("ckks.sub", x, y, -1);
}

Ciphertext Evaluator::negate(const Ciphertext& x) const { return multiply_integer(x, -1); }

std::vector<Ciphertext> Evaluator::plus_scalar(Span x, const Scalar& c) const {
  for (const Ciphertext& each : x) require("ckks.add_scalar", each);
  const Basis basis = x[0].parts[0].view.basis();
  const ScalarResidues constant =
      c.residues("ckks.add_scalar", context_->ring(), basis, x[0].scale);
  Ciphertexts out(x.begin(), x.end());  // the other parts share memory with x
  Linear op;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i].parts[0] = context_->queue().allocate(context_->ring(), basis, Domain::Eval);
    op.items.push_back({.terms = {{.x = x[i].parts[0].view}},
                        .out = out[i].parts[0].view,
                        .constant = constant.lower,
                        .constant_upper = constant.upper,
                        .constant_stored = constant.stored});
  }
  context_->queue().submit(std::move(op));
  return out;
}

Ciphertext Evaluator::add_scalar(const Ciphertext& x, const Scalar& c) const {
  return std::move(plus_scalar(std::span(&x, 1), c).front());
}

std::vector<Ciphertext> Evaluator::add_scalar(Span x, const Scalar& c) const {
  return in_batches("ckks.add_scalar", x, [&](Span part) { return plus_scalar(part, c); });
}

// Multiplies every part by one constant.
std::vector<Ciphertext> Evaluator::scaled(Span x, const ScalarResidues& factor,
                                          double scale) const {
  Ciphertexts out;
  Linear op;
  for (const Ciphertext& c : x) {
    const Ciphertext& to =
        out.emplace_back(allocate(c, static_cast<int>(c.parts.size()), c.level, scale));
    for (std::size_t h = 0; h < c.parts.size(); ++h) {
      op.items.push_back({.terms = {{.x = c.parts[h].view,
                                     .residues = factor.lower,
                                     .upper = factor.upper,
                                     .stored = factor.stored}},
                          .out = to.parts[h].view});
    }
  }
  context_->queue().submit(std::move(op));
  return out;
}

// x * round(c * scale), level kept.
std::vector<Ciphertext> Evaluator::times(const char* operation, Span x, const Scalar& c,
                                         double scale) const {
  for (const Ciphertext& each : x) require(operation, each);
  const Basis basis = x[0].parts[0].view.basis();
  return scaled(x, c.residues(operation, context_->ring(), basis, scale), x[0].scale * scale);
}

std::vector<Ciphertext> Evaluator::times_integer(Span x, std::int64_t c) const {
  for (const Ciphertext& each : x) require("ckks.multiply_integer", each);
  return scaled(x, integer_residues(context_->ring(), x[0].parts[0].view.basis(), c), x[0].scale);
}

std::vector<Ciphertext> Evaluator::times_i(Span x, int power) const {
  for (const Ciphertext& each : x) require("ckks.multiply_i", each);
  return scaled(x, unit_residues(context_->ring(), x[0].parts[0].view.basis(), power & 3),
                x[0].scale);
}

Ciphertext Evaluator::multiply_integer(const Ciphertext& x, std::int64_t c) const {
  return std::move(times_integer(std::span(&x, 1), c).front());
}

Ciphertext Evaluator::multiply_i(const Ciphertext& x, int power) const {
  return std::move(times_i(std::span(&x, 1), power).front());
}

std::vector<Ciphertext> Evaluator::multiply_integer(Span x, std::int64_t c) const {
  return in_batches("ckks.multiply_integer", x, [&](Span part) { return times_integer(part, c); });
}

std::vector<Ciphertext> Evaluator::multiply_i(Span x, int power) const {
  return in_batches("ckks.multiply_i", x, [&](Span part) { return times_i(part, power); });
}

}  // namespace latticino::ckks
