#include "switch/extract.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

#include "ckks/evaluator/checks.h"
#include "math/errors.h"
#include "ops/slot_transform.h"
#include "rlwe/key_switch.h"

namespace latticino::switching {
namespace {

constexpr const char* kExtract = "switching.extract";

int checked_slots(const SwitchParams& params, int slots) {
  if (slots < 1 || slots > params.ckks().max_slots() || !std::has_single_bit(unsigned(slots))) {
    throw ShapeError(kExtract, std::to_string(slots) + " slots",
                     "a power of two up to " + std::to_string(params.ckks().max_slots()),
                     "round the slot count up");
  }
  return slots;
}

double checked_bound(double bound) {
  if (!(bound > 0) || !std::isfinite(bound)) {
    throw ValueError(kExtract, "the bound " + std::to_string(bound), "a positive number",
                     "state the largest size of a slot");
  }
  return bound;
}

// Slots in the order of packing.
std::vector<int> ordered(const SlotOrder& order, std::span<const int> which) {
  std::vector<int> out(which.begin(), which.end());
  if (out.empty()) {
    out.resize(static_cast<std::size_t>(order.slots));
    std::iota(out.begin(), out.end(), 0);
  }
  for (const int slot : out) {
    if (slot >= 0 && slot < order.slots) continue;
    throw ShapeError(kExtract, "slot " + std::to_string(slot),
                     "slots 0 to " + std::to_string(order.slots - 1), "name slots that exist");
  }
  const auto key = [&](int slot) { return std::pair(order.pack(slot), order.leaf(slot)); };
  std::sort(out.begin(), out.end(), [&](int a, int b) { return key(a) < key(b); });
  const auto twice = std::adjacent_find(out.begin(), out.end());
  if (twice != out.end()) {
    throw ShapeError(kExtract, "slot " + std::to_string(*twice) + " twice", "each slot once",
                     "leave the second one out");
  }
  return out;
}

}  // namespace

SlotOrder::SlotOrder(const SwitchParams& params, int slot_count)
    : slots(checked_slots(params, slot_count)),
      gap(params.ckks().max_slots() / slots),
      packs(std::max(1, params.gap() / gap)),
      leaves(slots / packs) {}

int SlotOrder::position(int slot) const {
  return static_cast<int>(latticino::slots::bit_reversed(static_cast<std::size_t>(slot),
                                                         std::countr_zero(unsigned(slots))));
}

std::uint32_t SlotOrder::coefficient(int slot) const {
  return static_cast<std::uint32_t>(position(slot)) * static_cast<std::uint32_t>(gap);
}

Extractor::Extractor(std::shared_ptr<const Context> context, int slots, double bound,
                     bool minimal_keys)
    : context_(std::move(context)),
      order_(context_->params(), slots),
      bound_(checked_bound(bound)),
      to_coefficients_(context_->ckks(), slots, context_->params().fill() / (4 * bound),
                       minimal_keys) {}

Samples Extractor::extract(const ckks::Evaluator& evaluator, const SwitchKeys& keys,
                           const ckks::Ciphertext& x, std::span<const int> which) const {
  const SwitchParams& params = context_->params();
  ckks::require_context(kExtract, *context_->ckks(), x);
  ckks::require_context(kExtract, *evaluator.context(), x);
  ckks::require_parts(kExtract, x, 2);
  ckks::require_level(kExtract, x.level, input_level());
  ckks::require_slots(kExtract, x.slots, order_.slots);
  if (!(keys.ckks_id == x.key) || keys.params_hash != params.hash()) {
    throw KeyError(kExtract, "switching keys of " + keys.ckks_id.str(),
                   "keys of " + x.key.str() + " for the set " + params.name(),
                   "use the switching keys of the ciphertext's secret");
  }
  Samples out{context_, {}, x.key, ordered(order_, which), order_.slots, bound_};
  const ckks::Ciphertext low = to_coefficients_.apply(evaluator, x);

  Queue& queue = context_->queue();
  const rlwe::Constants& constants = context_->ckks()->constants();
  const std::array<PolyView, 2> base = {low.parts[0].view, low.parts[1].view};
  const std::vector<Poly> narrow = rlwe::change_modulus(queue, constants, base, params.lwe_basis());
  const auto& key = keys.to_ring.parts;
  const std::array<PolyView, 2> input = {narrow[0].view, narrow[1].view};
  const std::array<Poly, 2> switched = rlwe::switch_one_digit(
      queue, constants, std::span(&input, 1), {key[0].view, key[1].view}, params.key_aux())[0];

  const Ring& ring = context_->ckks()->ring();
  const Buffer both = queue.allocate(2 * sizeof(std::uint32_t) * ring.n());
  const PolyArray pair{PolyView::contiguous(both->words(), ring, params.lwe_basis(), Domain::Coeff),
                       2};
  queue.submit(Transform{
      {{.in = switched[0].view, .out = pair[0]}, {.in = switched[1].view, .out = pair[1]}}});
  std::vector<std::uint32_t> coefficients;
  coefficients.reserve(out.index.size());
  for (const int slot : out.index) coefficients.push_back(order_.coefficient(slot));
  out.lwe = context_->tfhe()->allocate(static_cast<std::uint32_t>(params.n()),
                                       static_cast<std::uint32_t>(out.index.size()));
  queue.submit(
      SampleExtract{.items = {{.in = pair, .coefficients = coefficients, .out = out.lwe.view}},
                    .step = static_cast<std::uint32_t>(params.gap())});
  return out;
}

}  // namespace latticino::switching
