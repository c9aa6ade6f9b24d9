#include "ckks/bootstrap/over_raise.h"

#include <algorithm>
#include <cmath>

#include "ckks/encoding/encoder.h"
#include "rlwe/galois.h"

namespace latticino::ckks::bootstrap {

using rlwe::ExtendedPair;

double over_raise_log_p(const Params& params) {
  return std::log2(params.base_modulus() * params.over_raise_factor()) + 2 * params.log_n();
}

OverRaisedFactor::OverRaisedFactor(std::shared_ptr<const Context> context, const DftFactor& factor)
    : context_(std::move(context)) {
  const Params& params = context_->params();
  for (const auto& [index, values] : factor.diagonals) {
    std::vector<Complex> turned(values.size());
    std::rotate_copy(values.begin(), values.end() - index, values.end(), turned.begin());
    terms_.push_back(
        {rlwe::rotation_element(index, params.log_n()),
         encode(context_, turned, params.top_level(), params.over_raise_factor(), true)});
  }
}

std::vector<std::array<Poly, 2>> OverRaisedFactor::apply(
    const Evaluator& evaluator, const Ciphertext& like,
    std::span<const std::array<PolyView, 2>> x) const {
  const rlwe::Constants& constants = context_->constants();
  Queue& queue = context_->queue();
  const int top = context_->params().top_level();
  Dot products;
  for (const auto& [b, a] : x) products.inputs.push_back({b, a, {}});
  // One term after the other, so that the switches by the same key follow each other.
  std::vector<ExtendedPair> parts;
  std::vector<const rlwe::SwitchKey*> keys;
  for (const Term& term : terms_) {
    const rlwe::SwitchKey& key =
        evaluator.key("ckks.bootstrap", like, {rlwe::KeyKind::OverRaise, term.galois});
    for (std::size_t i = 0; i < x.size(); ++i) {
      keys.push_back(&key);
      const ExtendedPair& p = parts.emplace_back(rlwe::allocate_extended(queue, constants, top));
      products.outputs.push_back(
          {.terms = {{.input = static_cast<int>(i), .factor = term.factor.poly.view}},
           .out = {p.eval[0], p.eval[1], {}}});
    }
  }
  queue.submit(std::move(products));
  const std::vector<ExtendedPair> switched =
      rlwe::switch_over_raised(queue, constants, parts, keys, top);
  parts.clear();

  Automorphism turn;
  std::vector<ExtendedPair> sums;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sums.push_back(rlwe::allocate_extended(queue, constants, top));
    for (int h = 0; h < 2; ++h) {
      Automorphism::Item& item = turn.items.emplace_back();
      item.out = sums.back().eval[h];
      for (std::size_t k = 0; k < terms_.size(); ++k) {
        item.terms.push_back({.x = switched[k * x.size() + i].eval[h], .galois = terms_[k].galois});
      }
    }
  }
  queue.submit(std::move(turn));
  std::vector<rlwe::DownItem> items;
  for (const ExtendedPair& sum : sums) {
    for (int h = 0; h < 2; ++h) items.push_back(rlwe::down_item(constants, sum, h, false));
  }
  std::vector<Poly> made = rlwe::mod_down(queue, constants, items, top, false);
  std::vector<std::array<Poly, 2>> out;
  for (std::size_t i = 0; i + 1 < made.size(); i += 2) {
    out.push_back({std::move(made[i]), std::move(made[i + 1])});
  }
  return out;
}

std::size_t OverRaisedFactor::bytes() const {
  std::size_t total = 0;
  for (const Term& term : terms_) total += term.factor.poly.buffer->bytes();
  return total;
}

}  // namespace latticino::ckks::bootstrap
