// Rotations and conjugation: key switch first, automorphism on the way out, so that any number of
// rotations of one ciphertext share its ModUp (hoisting; Halevi, Shoup 2018).
#include <bit>
#include <string>

#include "ckks/checks.h"
#include "ckks/evaluator.h"
#include "math/errors.h"
#include "rlwe/galois.h"

namespace latticino::ckks {
namespace {

// Slots repeat with period `slots`, so rotations by r and r mod slots are the same: the smaller
// one's key serves both.
int reduced(int r, int slots) { return ((r % slots) + slots) % slots; }

}  // namespace

std::vector<Ciphertext> Evaluator::galois_hoisted(const char* operation, const Ciphertext& x,
                                                  std::span<const std::uint32_t> galois) const {
  require(operation, x);
  require_parts(operation, x, 2);
  Queue& queue = context_->queue();
  std::vector<rlwe::InnerTarget> targets;
  for (const std::uint32_t g : galois) {
    if (g == 1) continue;
    targets.push_back(
        {&key(operation, x, {rlwe::KeyKind::Galois, g}), {x.parts[0].view, {}}, 1, true, false});
  }
  std::vector<Poly> parts;
  if (!targets.empty()) {
    const rlwe::Raised raised =
        rlwe::mod_up(queue, context_->constants(), x.parts[1].view, x.level);
    const auto sums = rlwe::key_inner(queue, context_->constants(), raised, targets);
    std::vector<rlwe::DownItem> items;
    auto sum = sums.begin();
    for (const std::uint32_t g : galois) {
      if (g == 1) continue;
      for (int h = 0; h < 2; ++h) {
        items.push_back(rlwe::down_item(context_->constants(), *sum, h, false, {}, g));
      }
      ++sum;
    }
    parts = rlwe::mod_down(queue, context_->constants(), items, x.level, false);
  }
  std::vector<Ciphertext> out;
  std::size_t next = 0;
  for (const std::uint32_t g : galois) {
    if (g == 1) {
      out.push_back(x);
    } else {
      out.push_back(with_parts(x, {parts[next], parts[next + 1]}, x.level, x.scale));
      next += 2;
    }
  }
  return out;
}

Ciphertext Evaluator::apply_galois(const Ciphertext& x, std::uint32_t galois) const {
  return std::move(galois_hoisted("ckks.apply_galois", x, std::span(&galois, 1)).front());
}

Ciphertext Evaluator::rotate(const Ciphertext& x, int r) const {
  return std::move(rotate_hoisted(x, std::span(&r, 1)).front());
}

Ciphertext Evaluator::conjugate(const Ciphertext& x) const {
  const std::uint32_t g = rlwe::conjugation_element(context_->params().log_n());
  return std::move(galois_hoisted("ckks.conjugate", x, std::span(&g, 1)).front());
}

std::vector<Ciphertext> Evaluator::rotate_hoisted(const Ciphertext& x,
                                                  std::span<const int> r) const {
  require("ckks.rotate", x);
  std::vector<std::uint32_t> galois;
  for (const int step : r) {
    galois.push_back(rlwe::rotation_element(reduced(step, x.slots), context_->params().log_n()));
  }
  return galois_hoisted("ckks.rotate", x, galois);
}

Ciphertext Evaluator::inner_sum(const Ciphertext& x, int step, int count) const {
  if (count < 1 || !std::has_single_bit(static_cast<unsigned>(count))) {
    throw ShapeError("ckks.inner_sum", std::to_string(count) + " terms", "a power of two",
                     "pad the sum with zeros");
  }
  Ciphertext out = x;
  for (int terms = 1; terms < count; terms *= 2) out = add(out, rotate(out, step * terms));
  return out;
}

}  // namespace latticino::ckks
