// Products and key switching. A product of two ciphertexts takes four steps: the tensor of three
// parts; ModUp of the third part; its products with the key (record KeyInner), to which the other
// parts are added times P; one ModDown that also rescales (paper: Cheddar, Sec. 5 and 6).
// multiply() stores no tensor: the passes that would read it compute the products themselves.
#include <cmath>
#include <string>

#include "ckks/evaluator/batches.h"
#include "ckks/evaluator/checks.h"
#include "ckks/evaluator/evaluator.h"
#include "ckks/evaluator/product_sum.h"
#include "ckks/evaluator/scalar.h"
#include "math/errors.h"
#include "rlwe/galois.h"

namespace latticino::ckks {
namespace {

void require_keys(const char* operation, const rlwe::KeySource* keys) {
  if (keys == nullptr) {
    throw KeyError(operation, "a context without evaluation keys", "the public keys of a client",
                   "ctx.use(client.server_keys(program, x)) gives them; in C++, "
                   "context.use(client.server_keys(plan))");
  }
}

}  // namespace

const rlwe::KeySource& Evaluator::keys() const {
  require_keys("ckks.Evaluator", keys_.get());
  return *keys_;
}

const rlwe::SwitchKey& Evaluator::key(const char* operation, const Ciphertext& x,
                                      const rlwe::KeyLabel& kind) const {
  require_keys(operation, keys_.get());
  if (keys().id() != x.key) {
    throw KeyError(operation, "evaluation keys of " + keys().id().str(),
                   "keys of the ciphertext's secret " + x.key.str(),
                   "use the evaluation keys that were made with it");
  }
  const rlwe::KeyLabel label = kind.at(context_->params(), x.level);
  if (!keys().has(label, x.level)) {
    throw KeyError(operation,
                   "no key of \"" + label.describe(context_->params().log_n()) + "\" for level " +
                       std::to_string(x.level) + " in the bundle of " + keys().id().str(),
                   "a bundle with it",
                   "make the keys with client.server_keys(program, x), in C++ "
                   "client.server_keys(plan): it finds "
                   "what a program needs");
  }
  return keys().get(label, x.level);
}

Ciphertext Evaluator::tensor(const Ciphertext& x0, const Ciphertext& y0) const {
  require("ckks.tensor", x0, y0);
  require_parts("ckks.tensor", x0, 2);
  require_parts("ckks.tensor", y0, 2);
  const Ciphertext x = x0.level > y0.level ? to_level(x0, y0.level) : x0;
  const Ciphertext y = y0.level > x0.level ? to_level(y0, x0.level) : y0;
  require_capacity("ckks.tensor", context_->params(), x.level, x.scale * y.scale);
  Ciphertext out = allocate(x, 3, x.level, x.scale * y.scale);
  const Tensor::Pair pair{.a = {x.parts[0].view, x.parts[1].view},
                          .b = {y.parts[0].view, y.parts[1].view}};
  context_->queue().submit(Tensor{
      {{.pairs = {pair}, .out = {out.parts[0].view, out.parts[1].view, out.parts[2].view}}}});
  return out;
}

// The three parts of the products are never stored: ModUp and KeyInner multiply as they read.
std::vector<Ciphertext> Evaluator::product(const char* operation, Span x0, Span y0) const {
  for (std::size_t i = 0; i < x0.size(); ++i) {
    require(operation, x0[i], y0[i]);
    require_parts(operation, x0[i], 2);
    require_parts(operation, y0[i], 2);
  }
  require_level(operation, std::min(x0[0].level, y0[0].level), 1);
  Ciphertexts lower;
  Span x = x0, y = y0;
  const auto canonical = [&](int level) { return context_->params().scale(level); };
  if (x[0].level > y[0].level) x = lower = lowered(x, y[0].level, canonical(y[0].level));
  if (y[0].level > x[0].level) y = lower = lowered(y, x[0].level, canonical(x[0].level));
  const double scale = x[0].scale * y[0].scale;
  require_capacity(operation, context_->params(), x[0].level, scale);
  Ciphertexts products;
  std::vector<rlwe::SwitchInput> inputs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::array<PolyView, 2> a{x[i].parts[0].view, x[i].parts[1].view},
        b{y[i].parts[0].view, y[i].parts[1].view};
    inputs.push_back({.a = a[1],
                      .targets = {{.key = &key(operation, x[i], {rlwe::KeyKind::Relinearize, 1})}},
                      .product = {a, b}});
    products.push_back(with_parts(x[i], {}, x[i].level, scale));
  }
  return switched(products, inputs, true);
}

Ciphertext Evaluator::multiply(const Ciphertext& x, const Ciphertext& y) const {
  return std::move(product("ckks.multiply", std::span(&x, 1), std::span(&y, 1)).front());
}

Ciphertext Evaluator::square(const Ciphertext& x) const {
  return std::move(product("ckks.square", std::span(&x, 1), std::span(&x, 1)).front());
}

std::vector<Ciphertext> Evaluator::multiply(Span x, Span y) const {
  return in_batches("ckks.multiply", x, y,
                    [&](Span a, Span b) { return product("ckks.multiply", a, b); });
}

// Switches keys of third parts. The ciphertexts that these belong to give level and scale.
std::vector<Ciphertext> Evaluator::switched(std::span<const Ciphertext> products,
                                            std::span<const rlwe::SwitchInput> inputs,
                                            bool rescale) const {
  const Params& params = context_->params();
  const int level = products[0].level, to = rescale ? level - 1 : level;
  std::vector<std::array<Poly, 2>> parts =
      rlwe::key_switch(context_->queue(), context_->constants(), inputs, level, rescale);
  std::vector<Ciphertext> out;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Ciphertext& x = products[i];
    const double scale = rescale ? x.scale / params.rescale_factor(level) : x.scale;
    out.push_back(with_parts(x, {parts[i][0], parts[i][1]}, to, snap_scale(params, to, scale)));
  }
  return out;
}

std::vector<Ciphertext> Evaluator::relinearize(std::span<const Ciphertext> x, bool rescale) const {
  const char* operation = rescale ? "ckks.relinearize_rescale" : "ckks.relinearize";
  if (x.empty()) return {};
  const int level = x[0].level;
  for (const Ciphertext& c : x) {
    require(operation, c);
    require_parts(operation, c, 3);
    require_level(operation, c.level, rescale ? 1 : 0);
    require_same_level(operation, c.level, level);
  }
  const rlwe::SwitchKey* relinearization = nullptr;
  for (const Ciphertext& c : x) {
    relinearization = &key(operation, c, {rlwe::KeyKind::Relinearize, 1});
  }
  std::vector<rlwe::SwitchInput> inputs;
  for (const Ciphertext& c : x) {
    inputs.push_back(
        {.a = c.parts[2].view,
         .targets = {{.key = relinearization, .add = {c.parts[0].view, c.parts[1].view}}}});
  }
  return switched(x, inputs, rescale);
}

Ciphertext Evaluator::relinearize(const Ciphertext& x) const {
  return std::move(relinearize(std::span(&x, 1), false).front());
}

Ciphertext Evaluator::relinearize_rescale(const Ciphertext& x) const {
  return std::move(relinearize(std::span(&x, 1), true).front());
}

std::vector<Ciphertext> Evaluator::dot(std::span<const Ciphertexts> x,
                                       std::span<const Ciphertexts> y) const {
  if (x.size() != y.size() || x.empty() || x[0].empty()) {
    throw ShapeError("ckks.dot",
                     std::to_string(x.size()) + " and " + std::to_string(y.size()) + " operands",
                     "as many on both sides, at least one", "pair them");
  }
  int level = x[0][0].level;
  for (const auto operands : {x, y}) {
    for (const Ciphertexts& operand : operands) {
      require_same_count("ckks.dot", operand.size(), x[0].size());
      for (std::size_t i = 0; i < operand.size(); ++i) {
        require("ckks.dot", operand[i], x[0][i]);
        require_parts("ckks.dot", operand[i], 2);
        level = std::min(level, operand[i].level);
      }
    }
  }
  require_level("ckks.dot", level, 1);
  // Brings all operands to one level before the products, because products cannot be brought down
  // together later.
  const auto at_level = [&](const Ciphertexts& operand) {
    return in_batches("ckks.dot", operand, [&](Span part) {
      return part[0].level > level ? lowered(part, level, context_->params().scale(level))
                                   : Ciphertexts(part.begin(), part.end());
    });
  };
  std::vector<Ciphertexts> factors;
  for (const auto operands : {x, y}) {
    for (const Ciphertexts& operand : operands) factors.push_back(at_level(operand));
  }
  const double scale = factors[0][0].scale * factors[x.size()][0].scale;
  require_capacity("ckks.dot", context_->params(), level, scale);
  ProductSum sum;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const Ciphertexts &a = factors[k], &b = factors[x.size() + k];
    for (std::size_t i = 0; i < a.size(); ++i) {
      require_same_scale("ckks.dot", a[i].scale * b[i].scale, scale);
    }
    sum.products.push_back({&a, &b});
  }
  return in_batches("ckks.dot", product_sum(sum, level, scale),
                    [&](Span products) { return relinearize(products, true); });
}

// Scale x.scale * y.scale, level kept.
std::vector<Ciphertext> Evaluator::times_plain(Span x0, std::span<const Plaintext> y) const {
  for (const Ciphertext& c : x0) require("ckks.multiply", c);
  const Params& params = context_->params();
  const Ciphertexts x =
      aligned("ckks.multiply", x0, y, params.scale(std::min(x0[0].level, y[0].level)));
  const double scale = x[0].scale * y[0].scale;
  require_capacity("ckks.multiply", params, x[0].level, scale);
  Ciphertexts out;
  Dot op;
  op.parts = static_cast<int>(x[0].parts.size());
  op.inputs.resize(x.size());
  op.outputs.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.push_back(allocate(x[i], op.parts, x[i].level, scale));
    op.outputs[i].terms = {{static_cast<int>(i), y[i].poly.view}};
    for (int h = 0; h < op.parts; ++h) {
      op.inputs[i][h] = x[i].parts[h].view;
      op.outputs[i].out[h] = out[i].parts[h].view;
    }
  }
  context_->queue().submit(std::move(op));
  return out;
}

Ciphertext Evaluator::multiply_no_rescale(const Ciphertext& x, const Plaintext& y) const {
  return std::move(times_plain(std::span(&x, 1), std::span(&y, 1)).front());
}

Ciphertext Evaluator::multiply(const Ciphertext& x, const Plaintext& y) const {
  return std::move(multiply(std::span(&x, 1), std::span(&y, 1)).front());
}

std::vector<Ciphertext> Evaluator::multiply(Span x, std::span<const Plaintext> y) const {
  return in_batches("ckks.multiply", x, y, [&](Span part, std::span<const Plaintext> factors) {
    require_level("ckks.multiply", std::min(part[0].level, factors[0].level), 1);
    return rescale(times_plain(part, factors));
  });
}

Ciphertext Evaluator::multiply_scalar_no_rescale(const Ciphertext& x, const Scalar& c,
                                                 double scale) const {
  require_capacity("ckks.multiply_scalar", context_->params(), x.level, x.scale * scale);
  return std::move(times("ckks.multiply_scalar", std::span(&x, 1), c, scale).front());
}

std::vector<Ciphertext> Evaluator::times_scalar(Span x, const Scalar& c) const {
  for (const Ciphertext& each : x) {
    require("ckks.multiply_scalar", each);
    require_level("ckks.multiply_scalar", each.level, 1);
  }
  const Params& params = context_->params();
  const int level = x[0].level;
  const double scale = x[0].scale;
  const double target = same_scale(scale, params.scale(level)) ? params.scale(level - 1) : scale;
  const double factor = params.rescale_factor(level) * (target / scale);
  require_capacity("ckks.multiply_scalar", params, level, scale * factor);
  Ciphertexts out = rescale(times("ckks.multiply_scalar", x, c, factor));
  for (Ciphertext& each : out) each.scale = target;
  return out;
}

Ciphertext Evaluator::multiply_scalar(const Ciphertext& x, const Scalar& c) const {
  return std::move(times_scalar(std::span(&x, 1), c).front());
}

std::vector<Ciphertext> Evaluator::multiply_scalar(Span x, const Scalar& c) const {
  return in_batches("ckks.multiply_scalar", x, [&](Span part) { return times_scalar(part, c); });
}

}  // namespace latticino::ckks
