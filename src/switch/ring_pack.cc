#include <string>
#include <utility>

#include "math/errors.h"
#include "rlwe/key_switch.h"
#include "switch/pack.h"

namespace latticino::switching {
namespace {

// The primes of the table ring, in the TFHE ring and in the packing ring.
const Basis kBoth{{0, 2}};

Linear::Item sum(const PolyView& x, const PolyView& y, const PolyView& out) {
  return {.terms = {{.x = x}, {.x = y}}, .out = out};
}

RingPacker::Pair new_pair(Queue& queue, const Ring& ring) {
  return {queue.allocate(ring, kBoth, Domain::Eval), queue.allocate(ring, kBoth, Domain::Eval)};
}

}  // namespace

RingPacker::RingPacker(std::shared_ptr<const Context> context, int leaves)
    : context_(std::move(context)), leaves_(leaves), one_(monomial(0, 1)) {
  const int n = context_->params().n();
  for (int g = 2; g < 2 * leaves; g *= 2) {
    merges_.push_back({static_cast<std::uint32_t>(2 * g + 1), monomial(n / (2 * g), 1),
                       monomial(n / (2 * g), -1)});
  }
}

Poly RingPacker::monomial(int exponent, int sign) const {
  const Ring& ring = context_->packing().ring();
  Queue& queue = context_->queue();
  const Queue::Keeping keeping(queue);
  const Poly poly = queue.allocate(ring, kBoth, Domain::Coeff);
  const std::size_t n = static_cast<std::size_t>(ring.n());
  if (!context_->is_dry()) {
    std::vector<std::uint32_t> words(2 * n, 0);
    for (int p = 0; p < 2; ++p) words[p * n + exponent] = sign > 0 ? 1 : ring.prime(p) - 1;
    queue.upload(poly.view, words.data());
  }
  queue.submit(Transform{{{.in = poly.view, .out = poly.view.in(Domain::Eval)}}});
  return {poly.buffer, poly.view.in(Domain::Eval)};
}

// Each merge and each step of the trace doubles a value. So values are multiplied by 2 / N' first.
RingPacker::Nodes RingPacker::leaves_of(const tfhe::Context::Polys& rotated,
                                        std::span<const int> at) const {
  const Ring& ring = context_->packing().ring();
  std::vector<std::uint32_t> factor;
  for (int p = 0; p < 2; ++p) {
    const Modulus q = make_modulus(ring.prime(p));
    factor.push_back(inverse_mod(static_cast<std::uint32_t>(context_->params().n() / 2), q));
  }
  Linear scale;
  Transform transform;
  Nodes nodes(static_cast<std::size_t>(leaves_));
  for (std::size_t i = 0; i < at.size(); ++i) {
    Pair pair;
    for (std::uint32_t h = 0; h < 2; ++h) {
      const PolyView x = seen_in(rotated.view[2 * static_cast<std::uint32_t>(i) + h], ring, kBoth);
      scale.items.push_back({.terms = {{.x = x, .residues = factor}}, .out = x});
      transform.items.push_back({.in = x, .out = x.in(Domain::Eval)});
      pair[h] = {rotated.buffer, x.in(Domain::Eval)};
    }
    nodes[static_cast<std::size_t>(at[i])] = std::move(pair);
  }
  context_->queue().submit(std::move(scale));
  context_->queue().submit(std::move(transform));
  return nodes;
}

std::vector<RingPacker::Pair> RingPacker::turned(const rlwe::EvaluationKeys& keys,
                                                 std::uint32_t galois,
                                                 const std::vector<Pair>& x) const {
  const rlwe::SwitchKey& key = keys.get({rlwe::KeyKind::Galois, galois}, 0);
  std::vector<rlwe::SwitchInput> inputs;
  inputs.reserve(x.size());
  for (const Pair& pair : x) {
    inputs.push_back({.a = pair[1].view,
                      .targets = {{.key = &key, .after = {pair[0].view, {}}, .galois = galois}}});
  }
  return rlwe::key_switch(context_->queue(), context_->packing(), inputs, 0);
}

// (E + X^k O) + phi(E - X^k O) for each pair of nodes that are half of the list apart.
RingPacker::Nodes RingPacker::merged(const rlwe::EvaluationKeys& keys, const Merge& merge,
                                     const Nodes& nodes) const {
  Queue& queue = context_->queue();
  const Ring& ring = context_->packing().ring();
  const std::size_t half = nodes.size() / 2;
  Dot dot;
  std::vector<Pair> sums, differences;
  std::vector<std::size_t> where;
  for (std::size_t i = 0; i < half; ++i) {
    const auto &even = nodes[i], &odd = nodes[i + half];
    if (!even && !odd) continue;
    where.push_back(i);
    if (!odd) {
      sums.push_back(*even);
      differences.push_back(*even);
      continue;
    }
    Dot::Output plus, minus;
    if (even) {
      plus.terms.push_back({.input = static_cast<int>(dot.inputs.size()), .factor = one_.view});
      minus.terms.push_back(plus.terms.back());
      dot.inputs.push_back({(*even)[0].view, (*even)[1].view, {}});
    }
    plus.terms.push_back(
        {.input = static_cast<int>(dot.inputs.size()), .factor = merge.shift.view});
    minus.terms.push_back(
        {.input = static_cast<int>(dot.inputs.size()), .factor = merge.minus_shift.view});
    dot.inputs.push_back({(*odd)[0].view, (*odd)[1].view, {}});
    const Pair &s = sums.emplace_back(new_pair(queue, ring)),
               &d = differences.emplace_back(new_pair(queue, ring));
    plus.out = {s[0].view, s[1].view, {}};
    minus.out = {d[0].view, d[1].view, {}};
    dot.outputs.push_back(std::move(plus));
    dot.outputs.push_back(std::move(minus));
  }
  if (!dot.outputs.empty()) queue.submit(std::move(dot));
  const std::vector<Pair> turns = turned(keys, merge.galois, differences);
  Linear linear;
  Nodes out(half);
  for (std::size_t k = 0; k < where.size(); ++k) {
    for (int h = 0; h < 2; ++h) {
      linear.items.push_back(sum(sums[k][h].view, turns[k][h].view, turns[k][h].view));
    }
    out[where[k]] = turns[k];
  }
  queue.submit(std::move(linear));
  return out;
}

RingPacker::Pair RingPacker::pack(const rlwe::EvaluationKeys& keys,
                                  const tfhe::Context::Polys& rotated,
                                  std::span<const int> at) const {
  if (at.empty() || rotated.view.count != 2 * at.size()) {
    throw ShapeError("switching.pack", std::to_string(rotated.view.count) + " polynomials",
                     "two for each of " + std::to_string(at.size()) + " leaves, at least one",
                     "pass what the tables gave");
  }
  Nodes nodes = leaves_of(rotated, at);
  for (const Merge& merge : merges_) nodes = merged(keys, merge, nodes);
  Pair packed = *nodes[0];
  Queue& queue = context_->queue();
  // The trace removes the coefficients between those of the values.
  for (int g = context_->params().n(); g > 2 * leaves_; g /= 2) {
    const Pair turn = turned(keys, static_cast<std::uint32_t>(g) + 1, {packed})[0];
    Linear linear;
    for (int h = 0; h < 2; ++h) {
      linear.items.push_back(sum(packed[h].view, turn[h].view, turn[h].view));
    }
    queue.submit(std::move(linear));
    packed = turn;
  }
  return packed;
}

}  // namespace latticino::switching
