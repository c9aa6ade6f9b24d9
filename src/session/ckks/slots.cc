// Rotations, and sums that are computed with rotations.
#include "session/ckks/slots.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "math/errors.h"
#include "math/text.h"
#include "session/ckks/state.h"
#include "session/claims/slot_noise.h"

namespace latticino {
namespace session {
namespace {

// What the rounding of a rotation's masks, encoded at `scale`, adds to rows of values like x's.
RowMap rounding_of_masks(const Contents& x, std::size_t size, const RotationGroups& groups,
                         double scale) {
  const auto slots = static_cast<std::size_t>(x.slots());
  // Rounding of the mask of each rotation; empty if it needs no mask.
  std::vector<std::vector<Numbers>> errors(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const MaskedRotation& rotation : groups[i]) {
      errors[i].push_back(rotation.whole ? Numbers()
                                         : rounding(rotation.mask(slots), x.slots(), scale));
    }
  }
  return [=, parts = x.parts.size()](NumbersView values) {
    Numbers rows(values.begin(), values.end()), out(groups.size() * slots);
    rows.resize(parts * slots);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (std::size_t k = 0; k < groups[i].size(); ++k) {
        const MaskedRotation& rotation = groups[i][k];
        for (std::size_t j = 0; j < errors[i][k].size(); ++j) {
          const std::size_t from = (j + static_cast<std::size_t>(rotation.steps)) % slots;
          out[i * slots + j] += rows[rotation.source * slots + from] * errors[i][k][j];
        }
      }
    }
    out.resize(size);
    return out;
  };
}

// For a ciphertext whose first `filled` slots hold rows of `columns` values: `factor` in the first
// place of each row, zero elsewhere.
ckks::Plaintext first_of_rows(const ckks::Ciphertext& part, std::size_t filled, std::size_t columns,
                              ckks::Complex factor, Constants& constants) {
  const auto make = [&] {
    std::vector<ckks::Complex> mask(static_cast<std::size_t>(part.slots));
    for (std::size_t at = 0; at < filled; at += columns) mask[at] = factor;
    return mask;
  };
  const std::string name = formatted("first of rows %d %zu %zu %a %a ", part.slots, filled, columns,
                                     factor.real(), factor.imag());
  return constants.encode_named(name, make, part.level,
                                factor_scale(part, constants.more_levels()));
}

std::size_t columns_of(const ArrayState& x, const char* operation) {
  const std::size_t columns = x.shape.empty() ? 1 : x.shape.back();
  require_rows(columns, x.slots(), operation);
  return columns;
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

}  // namespace

Array cleaned(const Array& x) {
  const ArrayState& s = state(x);
  if (!s.padded() || s.clean()) return x;
  return x * Values(std::vector<double>(s.size(), 1.0), s.shape);
}

std::vector<ckks::Complex> MaskedRotation::mask(std::size_t slots) const {
  std::vector<ckks::Complex> out(slots);
  for (const auto& [first, count] : runs) {
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(first), count, ckks::Complex(1));
  }
  return out;
}

RotationGroups rotation_groups(std::size_t size, std::size_t slots, std::size_t k) {
  if (size == slots) return {{{0, static_cast<int>(k % slots), {{0, slots}}, true}}};
  RotationGroups groups;
  for (std::size_t first = 0; first < size; first += slots) {
    const std::size_t end = std::min(first + slots, size);
    std::map<std::pair<std::size_t, std::size_t>, MaskedRotation> turns;
    for (std::size_t i = first; i < end;) {
      const std::size_t from = (i + k) % size;
      const std::size_t steps = (from % slots + slots - i % slots) % slots;
      const std::size_t count = std::min({end - i, size - from, slots - from % slots});
      MaskedRotation& turn = turns[{from / slots, steps}];
      turn.source = from / slots;
      turn.steps = static_cast<int>(steps);
      turn.runs.emplace_back(i % slots, count);
      i += count;
    }
    groups.emplace_back();
    for (auto& [key, turn] : turns) {
      std::size_t filled = 0;
      for (const auto& run : turn.runs) filled += run.second;
      turn.whole = filled == slots;
      groups.back().push_back(std::move(turn));
    }
  }
  return groups;
}

bool needs_masks(const RotationGroups& groups) {
  return std::ranges::any_of(groups, [](const auto& group) {
    return std::ranges::any_of(group, [](const MaskedRotation& turn) { return !turn.whole; });
  });
}

Contents rotated(const ckks::Evaluator& e, const Contents& x, std::size_t size, std::size_t k,
                 const RotationGroups& groups, Constants& constants) {
  const auto slots = static_cast<std::size_t>(x.slots());
  const bool masked = needs_masks(groups);
  Parts parts;
  double encoded = 0, scale_of_masks = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::optional<ckks::Ciphertext> sum;
    for (const MaskedRotation& rotation : groups[i]) {
      const ckks::Ciphertext& source = x.parts[rotation.source];
      ckks::Ciphertext y = rotation.steps ? e.rotate(source, rotation.steps) : source;
      if (!rotation.whole) {
        const std::string name = formatted("rotation %zu %zu %zu %zu %zu %d ", size, slots, k, i,
                                           rotation.source, rotation.steps);
        const ckks::Plaintext factor = constants.encode_named(
            name, [&] { return rotation.mask(slots); }, y.level,
            factor_scale(y, constants.more_levels()));
        y = e.multiply(y, factor);
        scale_of_masks = factor.scale;
        encoded = encoded_error(x.slots(), factor.scale) *
                  std::sqrt(static_cast<double>(groups[i].size()));
      }
      sum = sum ? e.add(*sum, y) : y;
    }
    parts.push_back(*sum);
  }
  // A part that needs no mask keeps its level. Later sums and products align the levels.
  const double added = std::hypot(x.switched(), masked ? x.rescaled(parts) : 0.0);
  RowMap off;
  if (masked && x.known.sample() != nullptr) {
    off = rounding_of_masks(x, size, groups, scale_of_masks);
  }
  Known known = x.known.rotated(static_cast<std::int64_t>(k), masked, added, encoded, off);
  // Values that do not fill their slots are masked, so the other slots are zero.
  return {std::move(parts), std::move(known), UnusedSlots::zero()};
}

Contents spread(const ckks::Evaluator& e, const Contents& x, std::size_t size, std::size_t columns,
                ckks::Complex factor, Constants& constants) {
  const auto count = static_cast<int>(columns);
  // These sums run within rows, and they also leave sums in the other slots of a row.
  const Parts summed = e.inner_sum_by_fours(x.parts, 1, count);
  const double root = std::sqrt(static_cast<double>(columns));
  const auto slots = static_cast<std::size_t>(x.slots());
  Encoded masks;
  for (std::size_t i = 0; i < summed.size(); ++i) {
    const std::size_t filled = std::min(slots, size - i * slots);
    masks.push_back(first_of_rows(x.parts[i], filled, columns, factor, constants));
  }
  const Parts first = e.multiply(summed, masks);
  Parts parts = e.inner_sum_by_fours(first, -1, count);
  const auto sums = [&](int level, double scale) {
    return summed_by_fours_error(x.params(), level, x.slots(), scale, count);
  };
  const double added = std::hypot(std::abs(factor) * sums(x.level(), x.scale()),
                                  x.rescaled(first) * root, sums(first[0].level, first[0].scale));
  // The rounding of the mask is multiplied by sums of `columns` values in all slots, and is then
  // added up as well.
  const double rounding = encoded_error(x.slots(), masks[0].scale) * root;
  Known known = x.known.spread(factor, columns, added, rounding, x.slots());
  return {std::move(parts), std::move(known), UnusedSlots::zero()};
}

void require_rows(std::size_t columns, int slots, const std::string& operation) {
  if (std::has_single_bit(columns) && columns <= static_cast<std::size_t>(slots)) return;
  throw ShapeError(operation, "rows of " + std::to_string(columns) + " values",
                   "a power of two up to " + std::to_string(slots), "pad the rows");
}

}  // namespace session

using session::ArrayState;
using session::result_of;

Array Array::rotate(std::int64_t steps) const {
  const auto count = static_cast<std::int64_t>(size());
  const auto k = static_cast<std::size_t>(((steps % count) + count) % count);
  if (k == 0) return *this;
  const auto groups = session::rotation_groups(size(), static_cast<std::size_t>(slots()), k);
  const Array from = session::needs_masks(groups) ? session::ready(*this, 1) : *this;
  const ArrayState& x = session::state(from);
  return result_of(x, session::rotated(x.evaluator(), x.open(), size(), k, groups, x.host()));
}

Array Array::sum() const { return session::total(*this, false); }
Array Array::sum_rows() const { return session::total(*this, true); }

Array Array::spread_sum(Complex factor) const {
  session::require_finite({&factor, 1}, "spread_sum");
  const std::size_t columns = session::columns_of(*state_, "spread_sum");
  const Array from = session::ready(*this, 1);
  const ArrayState& x = session::state(from);
  return result_of(x, session::spread(x.evaluator(), x.open(), size(), columns, factor, x.host()));
}

}  // namespace latticino
