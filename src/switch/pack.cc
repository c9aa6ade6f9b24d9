#include "switch/pack.h"

#include <string>
#include <utility>

#include "math/errors.h"
#include "rlwe/key_switch.h"

namespace latticino::switching {
namespace {

ckks::BootstrapOptions half_of(ckks::BootstrapOptions options, int slots) {
  options.slots = slots;
  options.half = true;
  options.slot_to_coeff_first = false;
  options.message = ckks::BootstrapOptions::Message::Real;
  return options;
}

}  // namespace

Packer::Packer(std::shared_ptr<const Context> context, int slots,
               const ckks::BootstrapOptions& options)
    : context_(std::move(context)),
      order_(context_->params(), slots),
      ring_(context_, order_.leaves),
      half_(context_->ckks(), half_of(options, slots)) {
  const Ring& ring = context_->ckks()->ring();
  Queue& queue = context_->queue();
  const Basis basis = context_->params().ring_basis();
  const std::size_t n = static_cast<std::size_t>(ring.n());
  const Queue::Keeping keeping(queue);
  Transform transform;
  for (int u = 0; u < order_.packs; ++u) {
    Poly poly = queue.allocate(ring, basis, Domain::Coeff);
    if (!context_->is_dry()) {
      std::vector<std::uint32_t> words(2 * n, 0);
      const std::size_t exponent = static_cast<std::size_t>(u) * order_.gap;
      words[exponent] = words[n + exponent] = 1;
      queue.upload(poly.view, words.data());
    }
    transform.items.push_back({.in = poly.view, .out = poly.view.in(Domain::Eval)});
    poly.view = poly.view.in(Domain::Eval);
    monomials_.push_back(std::move(poly));
  }
  queue.submit(std::move(transform));
}

std::size_t Packer::bytes() const {
  std::size_t total = half_.bytes();
  for (const Poly& m : monomials_) total += m.buffer->bytes();
  return total;
}

// Joins the packs of the small ring (degree N') into one ciphertext of the large one (degree N):
// the sum of X^(u gap) pack_u(X^(N/N')) over u. Then it changes to the base modulus and to the
// sparse secret, from where the second half of a bootstrapping raises it.
ckks::Ciphertext Packer::to_slots(const ckks::Evaluator& evaluator, const SwitchKeys& keys,
                                  const std::vector<std::optional<RingPacker::Pair>>& packs,
                                  double largest, const rlwe::KeyId& key) const {
  const SwitchParams& params = context_->params();
  const rlwe::Constants& constants = context_->ckks()->constants();
  const Ring &ring = context_->ckks()->ring(), &subring = context_->subring();
  Queue& queue = context_->queue();
  Dot dot;
  dot.parts = 1;
  dot.outputs.resize(2);
  std::array<Poly, 2> whole;
  for (int h = 0; h < 2; ++h) {
    whole[h] = queue.allocate(ring, params.ring_basis(), Domain::Eval);
    dot.outputs[h].out[0] = whole[h].view;
  }
  for (std::size_t u = 0; u < packs.size(); ++u) {
    if (!packs[u]) continue;
    for (int h = 0; h < 2; ++h) {
      dot.outputs[h].terms.push_back(
          {.input = static_cast<int>(dot.inputs.size()),
           .factor = seen_in((*packs[u])[h].view, subring, params.ring_basis())});
    }
    dot.inputs.push_back({monomials_[u].view, {}, {}});
  }
  if (dot.inputs.empty()) {
    throw ShapeError("switching.to_slots", "no values", "at least one", "pack some slots");
  }
  queue.submit(std::move(dot));
  const Basis base = params.ckks().basis(0);
  const std::array<PolyView, 2> wide = {whole[0].view, whole[1].view};
  const std::vector<Poly> low = rlwe::change_modulus(queue, constants, wide, base);
  const std::array<PolyView, 2> narrow = {low[0].view, low[1].view};
  const std::vector<std::array<Poly, 2>> sparse =
      rlwe::switch_one_digit(queue, constants, std::span(&narrow, 1),
                             {keys.to_sparse.parts[0].view, keys.to_sparse.parts[1].view},
                             params.ckks().encapsulation_basis().without(base));
  return half_.bootstrap_half(evaluator, sparse[0], key, params.amplitude() / largest);
}

}  // namespace latticino::switching
