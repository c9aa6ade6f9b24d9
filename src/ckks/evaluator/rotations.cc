// Rotations and conjugation: the key switch comes first, and the automorphism at its end. So any
// number of rotations of one ciphertext share its ModUp (hoisting; Halevi, Shoup 2018).
#include <algorithm>
#include <bit>
#include <string>

#include "ckks/evaluator/batches.h"
#include "ckks/evaluator/checks.h"
#include "ckks/evaluator/evaluator.h"
#include "math/errors.h"
#include "rlwe/galois.h"

namespace latticino::ckks {
namespace {

// Slots repeat with period `slots`, so rotations by r and r mod slots are the same: the smaller
// one's key serves both.
int reduced(int r, int slots) { return ((r % slots) + slots) % slots; }

constexpr const char* kSum = "ckks.inner_sum";

void require_power_of_two(int count) {
  if (count >= 1 && std::has_single_bit(static_cast<unsigned>(count))) return;
  throw ShapeError(kSum, std::to_string(count) + " terms", "a power of two",
                   "pad the sum with zeros");
}

}  // namespace

// Applies every automorphism to every ciphertext. Results are in the order of the ciphertexts.
std::vector<Ciphertext> Evaluator::galois_hoisted(const char* operation, Span x,
                                                  std::span<const std::uint32_t> galois) const {
  std::vector<rlwe::SwitchInput> inputs;
  for (const Ciphertext& c : x) {
    require(operation, c);
    require_parts(operation, c, 2);
    rlwe::SwitchInput& input = inputs.emplace_back(rlwe::SwitchInput{.a = c.parts[1].view});
    for (const std::uint32_t g : galois) {
      if (g == 1) continue;
      input.targets.push_back({.key = &key(operation, c, {rlwe::KeyKind::Galois, g}),
                               .add = {c.parts[0].view, {}},
                               .galois = g});
    }
  }
  std::vector<std::array<Poly, 2>> turned;
  if (!inputs[0].targets.empty()) {
    turned = rlwe::key_switch(context_->queue(), context_->constants(), inputs, x[0].level);
  }
  Ciphertexts out;
  auto next = turned.begin();
  for (const Ciphertext& c : x) {
    for (const std::uint32_t g : galois) {
      if (g == 1) {
        out.push_back(c);
      } else {
        out.push_back(with_parts(c, {(*next)[0], (*next)[1]}, c.level, c.scale));
        ++next;
      }
    }
  }
  return out;
}

Ciphertext Evaluator::apply_galois(const Ciphertext& x, std::uint32_t galois) const {
  return std::move(galois_hoisted("ckks.rotate", std::span(&x, 1), std::span(&galois, 1)).front());
}

Ciphertext Evaluator::rotate(const Ciphertext& x, int r) const {
  return std::move(rotate_hoisted(x, std::span(&r, 1)).front());
}

Ciphertext Evaluator::conjugate(const Ciphertext& x) const {
  return std::move(conjugate(std::span(&x, 1)).front());
}

std::vector<Ciphertext> Evaluator::rotate_hoisted(const Ciphertext& x,
                                                  std::span<const int> r) const {
  require("ckks.rotate", x);
  std::vector<std::uint32_t> galois;
  for (const int step : r) {
    galois.push_back(rlwe::rotation_element(reduced(step, x.slots), context_->params().log_n()));
  }
  return galois_hoisted("ckks.rotate", std::span(&x, 1), galois);
}

std::vector<Ciphertext> Evaluator::rotate(Span x, int r) const {
  for (const Ciphertext& c : x) {
    require("ckks.rotate", c);
    require_slots("ckks.rotate", c.slots, x[0].slots);
  }
  return in_batches("ckks.rotate", x, [&](Span part) {
    const std::uint32_t g =
        rlwe::rotation_element(reduced(r, part[0].slots), context_->params().log_n());
    return galois_hoisted("ckks.rotate", part, std::span(&g, 1));
  });
}

std::vector<Ciphertext> Evaluator::conjugate(Span x) const {
  const std::uint32_t g = rlwe::conjugation_element(context_->params().log_n());
  return in_batches("ckks.conjugate", x, [&](Span part) {
    return galois_hoisted("ckks.conjugate", part, std::span(&g, 1));
  });
}

Ciphertext Evaluator::inner_sum(const Ciphertext& x, int step, int count) const {
  return std::move(inner_sum(std::span(&x, 1), step, count).front());
}

std::vector<Ciphertext> Evaluator::inner_sum(Span x, int step, int count) const {
  require_power_of_two(count);
  Ciphertexts out(x.begin(), x.end());
  for (int terms = 1; terms < count; terms *= 2) out = add(out, rotate(out, step * terms));
  return out;
}

std::vector<Ciphertext> Evaluator::inner_sum_by_fours(Span x, int step, int count) const {
  require_power_of_two(count);
  if (x.empty()) return {};
  for (const Ciphertext& c : x) {
    require(kSum, c);
    require_parts(kSum, c, 2);
    require_slots(kSum, c.slots, x[0].slots);
  }
  Ciphertexts out(x.begin(), x.end());
  int terms = 1;
  for (; 4 * terms <= count; terms *= 4) {
    std::vector<std::uint32_t> galois;
    for (int k = 1; k < 4; ++k) {
      galois.push_back(rlwe::rotation_element(reduced(k * terms * step, x[0].slots),
                                              context_->params().log_n()));
    }
    // A rotation by a multiple of the slots changes nothing, and has no key.
    if (std::ranges::find(galois, 1u) != galois.end()) break;
    out = in_batches(kSum, out, [&](Span part) { return plus_rotated(part, galois); });
  }
  for (; terms < count; terms *= 2) out = add(out, rotate(out, step * terms));
  return out;
}

// x plus its images. The sum of the key products of all images is divided by P once.
std::vector<Ciphertext> Evaluator::plus_rotated(Span x,
                                                std::span<const std::uint32_t> galois) const {
  Queue& queue = context_->queue();
  const rlwe::Constants& constants = context_->constants();
  const int level = x[0].level;
  std::vector<rlwe::SwitchInput> inputs;
  for (const Ciphertext& c : x) {
    rlwe::SwitchInput& input = inputs.emplace_back(rlwe::SwitchInput{.a = c.parts[1].view});
    for (const std::uint32_t g : galois) {
      input.targets.push_back(
          {.key = &key(kSum, c, {rlwe::KeyKind::Galois, g}), .add = {c.parts[0].view, {}}});
    }
  }
  const auto switched = rlwe::key_switch_extended(queue, constants, inputs, level);
  Automorphism turn;
  std::vector<rlwe::ExtendedPair> sums;
  std::vector<rlwe::DownItem> items;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const rlwe::ExtendedPair& sum =
        sums.emplace_back(rlwe::allocate_extended(queue, constants, level));
    for (int h = 0; h < 2; ++h) {
      Automorphism::Item& item = turn.items.emplace_back();
      item.out = sum.part[h].view;
      for (std::size_t k = 0; k < galois.size(); ++k) {
        item.terms.push_back({.x = switched[i][k].part[h].view, .galois = galois[k]});
      }
      items.push_back(rlwe::down_item(constants, sum, h, false, x[i].parts[h].view));
    }
  }
  queue.submit(std::move(turn));
  std::vector<Poly> parts = rlwe::mod_down(queue, constants, items, level, false);
  Ciphertexts out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.push_back(with_parts(x[i], {parts[2 * i], parts[2 * i + 1]}, level, x[i].scale));
  }
  return out;
}

}  // namespace latticino::ckks
