// Operations that move values between slots: rotations, and sums that are made of rotations.
//
// A vector of n values lies in slots 0..n-1 of a ciphertext with the next power of two of slots;
// the slots behind are zero. A longer vector lies in several ciphertexts of N/2 slots, in order.
// Arrays of more dimensions are laid out row by row. A ciphertext with fewer slots than N/2 repeats
// periodically.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "math/errors.h"
#include "session/ckks/state.h"
#include "session/claims/slot_noise.h"

namespace latticino {
namespace session {
namespace {

// A rotation of a source ciphertext, and the slots of the result that it fills. Empty: all slots.
struct MaskedRotation {
  std::size_t source;
  int steps;
  std::vector<bool> mask;
};

// The rotations that make a cyclic shift of `size` values by k to the left, for each ciphertext of
// the result. Value i of the result is value (i + k) mod size of the source.
std::vector<std::vector<MaskedRotation>> rotation_groups(std::size_t size, std::size_t slots,
                                                         std::size_t k) {
  if (size == slots) return {{{0, static_cast<int>(k % slots), {}}}};
  std::vector<std::vector<MaskedRotation>> groups;
  for (std::size_t first = 0; first < size; first += slots) {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<bool>> masks;
    for (std::size_t i = first; i < std::min(first + slots, size); ++i) {
      const std::size_t from = (i + k) % size;
      const std::size_t rotation = (from % slots + slots - i % slots) % slots;
      std::vector<bool>& mask = masks[{from / slots, rotation}];
      mask.resize(slots);
      mask[i % slots] = true;
    }
    groups.emplace_back();
    for (auto& [key, mask] : masks) {
      const bool whole = std::ranges::all_of(mask, [](bool x) { return x; });
      groups.back().push_back(
          {key.first, static_cast<int>(key.second), whole ? std::vector<bool>() : std::move(mask)});
    }
  }
  return groups;
}

// What the rounding of a rotation's masks, encoded at `scale`, adds to the sample of x.
Numbers rounding_of_masks(const ArrayState& x,
                          const std::vector<std::vector<MaskedRotation>>& groups, double scale) {
  const auto slots = static_cast<std::size_t>(x.slots());
  const NumbersView exact = std::as_const(*x.known().sample()).row(0);
  Numbers rows(exact.begin(), exact.end()), out(groups.size() * slots);
  rows.resize(x.parts().size() * slots);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const MaskedRotation& rotation : groups[i]) {
      if (rotation.mask.empty()) continue;
      const Numbers mask(rotation.mask.begin(), rotation.mask.end());
      const Numbers off = rounding(mask, x.slots(), scale);
      for (std::size_t j = 0; j < slots; ++j) {
        const std::size_t from = (j + static_cast<std::size_t>(rotation.steps)) % slots;
        out[i * slots + j] += rows[rotation.source * slots + from] * off[j];
      }
    }
  }
  out.resize(x.size());
  return out;
}

std::size_t columns_of(const ArrayState& x, const char* operation) {
  const std::size_t c = x.shape.empty() ? 1 : x.shape.back();
  if (!std::has_single_bit(c) || c > static_cast<std::size_t>(x.slots())) {
    throw ShapeError(operation, "rows of " + std::to_string(c) + " values",
                     "a power of two up to " + std::to_string(x.slots()), "pad the rows");
  }
  return c;
}

// x with zeros in the slots behind the values.
Array cleaned(const Array& x) {
  const ArrayState& s = state(x);
  if (!s.padded() || s.clean()) return x;
  return x * Values(std::vector<double>(s.size(), 1.0), s.shape);
}

Array total(const Array& from, bool rows) {
  const Array clean = cleaned(from);
  const ArrayState& x = state(clean);
  std::size_t kept = 1;
  if (rows) {
    if (x.shape.size() != 2) {
      throw UnsupportedError("sum_rows", "an array of shape " + text_of(x.shape), "two dimensions",
                             "see sum and spread_sum");
    }
    kept = columns_of(x, "sum_rows");
  }
  Shape shape;
  if (rows) shape = {x.shape[1]};
  return result_of(x, x.open().summed(x.evaluator(), kept, x.size()), std::move(shape));
}

// For ciphertext i of x: `factor` in the first place of each row of c values, zero elsewhere.
ckks::Plaintext first_of_rows(const ArrayState& x, const ckks::Ciphertext& part, std::size_t i,
                              std::size_t c, Complex factor) {
  const auto slots = static_cast<std::size_t>(x.slots());
  const std::size_t filled = std::min(slots, x.size() - i * slots);
  std::vector<Complex> mask(slots);
  for (std::size_t at = 0; at < filled; at += c) mask[at] = factor;
  return x.host().encode(mask, part.level, x.factor_scale(part));
}

}  // namespace
}  // namespace session

using session::ArrayState;
using session::Parts;
using session::result_of;

Array Array::rotate(std::int64_t steps) const {
  const auto count = static_cast<std::int64_t>(size());
  const auto k = static_cast<std::size_t>(((steps % count) + count) % count);
  if (k == 0) return *this;
  const auto slots = static_cast<std::size_t>(this->slots());
  const auto groups = session::rotation_groups(size(), slots, k);
  bool masked = false;
  for (const auto& group : groups) {
    for (const session::MaskedRotation& rotation : group) masked = masked || !rotation.mask.empty();
  }
  const Array from = masked ? session::ready(*this, 1) : *this;
  const ArrayState& x = session::state(from);
  const ckks::Evaluator e = x.evaluator();
  Parts parts;
  double encoded = 0, scale_of_masks = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::optional<ckks::Ciphertext> sum;
    for (const session::MaskedRotation& rotation : groups[i]) {
      const ckks::Ciphertext& source = x.parts()[rotation.source];
      ckks::Ciphertext y = rotation.steps ? e.rotate(source, rotation.steps) : source;
      if (!rotation.mask.empty()) {
        const std::string name = "rotation " + std::to_string(x.size()) + " " +
                                 std::to_string(slots) + " " + std::to_string(k) + " " +
                                 std::to_string(i) + " " + std::to_string(rotation.source) + " " +
                                 std::to_string(rotation.steps) + " ";
        const double scale = x.factor_scale(y);
        const ckks::Plaintext factor = x.host().encode_named(
            name, [&] { return std::vector<Complex>(rotation.mask.begin(), rotation.mask.end()); },
            y.level, scale);
        y = e.multiply(y, factor);
        scale_of_masks = factor.scale;
        encoded = session::encoded_error(x.slots(), factor.scale) *
                  std::sqrt(static_cast<double>(groups[i].size()));
      }
      sum = sum ? e.add(*sum, y) : y;
    }
    parts.push_back(*sum);
  }
  // A part that needs no mask keeps its level. Later sums and products align the levels.
  const double added = std::hypot(x.open().switched(), masked ? x.open().rescaled(parts) : 0.0);
  session::Numbers off;
  if (masked && x.known().sample() != nullptr) {
    off = session::rounding_of_masks(x, groups, scale_of_masks);
  }
  session::Known known = x.known().rotated(static_cast<std::int64_t>(k), masked, added,
                                           encoded * x.known().widest().rms, off);
  // Values that do not fill their slots are masked, so the other slots are zero.
  return result_of(x, {std::move(parts), std::move(known), session::UnusedSlots::zero()});
}

Array Array::sum() const { return session::total(*this, false); }
Array Array::sum_rows() const { return session::total(*this, true); }

Array Array::spread_sum(Complex factor) const {
  session::require_finite({&factor, 1}, "spread_sum");
  const std::size_t c = session::columns_of(*state_, "spread_sum");
  const Array from = session::ready(*this, 1);
  const ArrayState& x = session::state(from);
  const ckks::Evaluator e = x.evaluator();
  const auto count = static_cast<int>(c);
  // These sums run within rows, and they also leave sums in the other slots of a row.
  const Parts summed = e.inner_sum(x.parts(), 1, count);
  const double root = std::sqrt(static_cast<double>(c)), less = std::sqrt(c - 1.0);
  std::vector<ckks::Plaintext> masks;
  for (std::size_t i = 0; i < summed.size(); ++i) {
    masks.push_back(session::first_of_rows(x, x.parts()[i], i, c, factor));
  }
  const Parts first = e.multiply(summed, masks);
  Parts parts = e.inner_sum(first, -1, count);
  const double added = std::hypot(
      std::hypot(std::abs(factor) * x.open().switched() * less, x.open().rescaled(first) * root),
      session::switched_error(x.params(), first[0].level, x.slots(), first[0].scale) * less);
  // The rounding of the mask is multiplied by sums of c values in all slots, and is then added up
  // as well.
  const double rounding = session::encoded_error(x.slots(), masks[0].scale) * root;
  session::Known known = x.known().spread(factor, c, added, rounding, x.slots());
  return result_of(x, {std::move(parts), std::move(known), session::UnusedSlots::zero()});
}

}  // namespace latticino
