// Products and key switching. A product of two ciphertexts is tensor -> ModUp -> KeyMult with the
// rest added times P -> one ModDown that also rescales (paper: Cheddar, Sec. 5 and 6). multiply()
// writes no tensor: the passes that would read it multiply.
#include <cmath>
#include <string>

#include "ckks/checks.h"
#include "ckks/evaluator.h"
#include "ckks/scalar.h"
#include "math/errors.h"
#include "rlwe/galois.h"

namespace latticino::ckks {

const rlwe::KeySource& Evaluator::keys() const {
  if (keys_ == nullptr) {
    throw KeyError("ckks.Evaluator", "no evaluation keys", "a key source",
                   "construct the evaluator with the server's keys");
  }
  return *keys_;
}

const rlwe::SwitchKey& Evaluator::key(const char* operation, const Ciphertext& x,
                                      const rlwe::KeyLabel& label) const {
  if (keys().id() != x.key) {
    throw KeyError(operation, "evaluation keys of " + keys().id().str(),
                   "keys of the ciphertext's secret " + x.key.str(),
                   "use the evaluation keys that were made with it");
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
  context_->queue().submit(
      Tensor{{{{{{x.parts[0].view, x.parts[1].view}, {y.parts[0].view, y.parts[1].view}}},
               {out.parts[0].view, out.parts[1].view, out.parts[2].view}}}});
  return out;
}

// The three parts of the product are never written: ModUp and KeyMult multiply as they read.
Ciphertext Evaluator::product(const char* operation, const Ciphertext& x0,
                              const Ciphertext& y0) const {
  require(operation, x0, y0);
  require_parts(operation, x0, 2);
  require_parts(operation, y0, 2);
  require_level(operation, std::min(x0.level, y0.level), 1);
  const Ciphertext x = x0.level > y0.level ? to_level(x0, y0.level) : x0;
  const Ciphertext y = y0.level > x0.level ? to_level(y0, x0.level) : y0;
  const double scale = x.scale * y.scale;
  require_capacity(operation, context_->params(), x.level, scale);
  const rlwe::SwitchKey& relinearization = key(operation, x, {rlwe::KeyKind::Relinearize, 1});
  const std::vector<rlwe::Raised> raised =
      rlwe::mod_up(context_->queue(), context_->constants(), std::span(&x.parts[1].view, 1),
                   std::span(&y.parts[1].view, 1), x.level);
  const rlwe::InnerGroup group{
      &raised[0],
      {{&relinearization, {}, 1, true, true}},
      {{x.parts[0].view, x.parts[1].view}, {y.parts[0].view, y.parts[1].view}}};
  const Ciphertext product = with_parts(x, {}, x.level, scale);
  return std::move(switched(std::span(&product, 1), std::span(&group, 1), true).front());
}

Ciphertext Evaluator::multiply(const Ciphertext& x, const Ciphertext& y) const {
  return product("ckks.multiply", x, y);
}

Ciphertext Evaluator::square(const Ciphertext& x) const { return product("ckks.square", x, x); }

// KeyMult and ModDown of raised third parts; what they belong to names level and scale.
std::vector<Ciphertext> Evaluator::switched(std::span<const Ciphertext> products,
                                            std::span<const rlwe::InnerGroup> groups,
                                            bool rescale) const {
  const Params& params = context_->params();
  Queue& queue = context_->queue();
  const int level = products[0].level, to = rescale ? level - 1 : level;
  const auto sums = rlwe::key_inner(queue, context_->constants(), groups);
  std::vector<rlwe::DownItem> items;
  for (const auto& sum : sums) {
    for (int h = 0; h < 2; ++h) {
      items.push_back(rlwe::down_item(context_->constants(), sum[0], h, rescale));
    }
  }
  std::vector<Poly> parts = rlwe::mod_down(queue, context_->constants(), items, level, rescale);
  std::vector<Ciphertext> out;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Ciphertext& x = products[i];
    const double scale = rescale ? x.scale / params.rescale_factor(level) : x.scale;
    out.push_back(
        with_parts(x, {parts[2 * i], parts[2 * i + 1]}, to, settled_scale(params, to, scale)));
  }
  return out;
}

std::vector<Ciphertext> Evaluator::relinearize(std::span<const Ciphertext> x, bool rescale) const {
  const char* operation = rescale ? "ckks.relinearize_rescale" : "ckks.relinearize";
  std::vector<PolyView> squares;
  if (x.empty()) return {};
  const int level = x[0].level;
  for (const Ciphertext& c : x) {
    require(operation, c);
    require_parts(operation, c, 3);
    require_level(operation, c.level, rescale ? 1 : 0);
    require_same_level(operation, c.level, level);
    squares.push_back(c.parts[2].view);
  }
  const rlwe::SwitchKey* relinearization = nullptr;
  for (const Ciphertext& c : x) {
    relinearization = &key(operation, c, {rlwe::KeyKind::Relinearize, 1});
  }
  const std::vector<rlwe::Raised> raised =
      rlwe::mod_up(context_->queue(), context_->constants(), squares, level);
  std::vector<rlwe::InnerGroup> groups;
  for (std::size_t i = 0; i < x.size(); ++i) {
    groups.push_back(
        {&raised[i],
         {{relinearization, {x[i].parts[0].view, x[i].parts[1].view}, 1, true, rescale}}});
  }
  return switched(x, groups, rescale);
}

Ciphertext Evaluator::relinearize(const Ciphertext& x) const {
  return std::move(relinearize(std::span(&x, 1), false).front());
}

Ciphertext Evaluator::relinearize_rescale(const Ciphertext& x) const {
  return std::move(relinearize(std::span(&x, 1), true).front());
}

Ciphertext Evaluator::multiply_no_rescale(const Ciphertext& x0, const Plaintext& y) const {
  require("ckks.multiply", x0);
  const Ciphertext x =
      aligned("ckks.multiply", x0, y, context_->params().scale(std::min(x0.level, y.level)));
  require_capacity("ckks.multiply", context_->params(), x.level, x.scale * y.scale);
  Ciphertext out = allocate(x, static_cast<int>(x.parts.size()), x.level, x.scale * y.scale);
  Dot op;
  op.parts = static_cast<int>(x.parts.size());
  op.inputs.resize(1);
  op.outputs.resize(1);
  op.outputs[0].terms = {{0, y.poly.view}};
  for (int h = 0; h < op.parts; ++h) {
    op.inputs[0][h] = x.parts[h].view;
    op.outputs[0].out[h] = out.parts[h].view;
  }
  context_->queue().submit(std::move(op));
  return out;
}

Ciphertext Evaluator::multiply(const Ciphertext& x, const Plaintext& y) const {
  require_level("ckks.multiply", std::min(x.level, y.level), 1);
  return rescale(multiply_no_rescale(x, y));
}

Ciphertext Evaluator::multiply_scalar_no_rescale(const Ciphertext& x, Complex c,
                                                 double scale) const {
  require_capacity("ckks.multiply_scalar", context_->params(), x.level, x.scale * scale);
  return times("ckks.multiply_scalar", x, c, scale);
}

Ciphertext Evaluator::multiply_scalar(const Ciphertext& x, Complex c) const {
  require("ckks.multiply_scalar", x);
  require_level("ckks.multiply_scalar", x.level, 1);
  const Params& params = context_->params();
  const double target =
      same_scale(x.scale, params.scale(x.level)) ? params.scale(x.level - 1) : x.scale;
  Ciphertext out = rescale(
      multiply_scalar_no_rescale(x, c, params.rescale_factor(x.level) * (target / x.scale)));
  out.scale = target;
  return out;
}

}  // namespace latticino::ckks
