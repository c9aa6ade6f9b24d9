#include "session/ckks/contents.h"

#include <algorithm>
#include <cmath>

#include "ckks/evaluator/lowering.h"
#include "math/errors.h"
#include "math/text.h"
#include "session/ckks/host.h"
#include "session/claims/slot_noise.h"

namespace latticino::session {
namespace {

using ckks::Evaluator;

// 2 to the power of the number, with so many decimals, for error messages.
std::string power_of_two(double x, int decimals) {
  return formatted("2^%.*f", decimals, std::log2(x));
}

UnusedSlots sum_of(const Contents& x, const Contents& y, double sign) {
  if (x.rest.number && y.rest.number)
    return UnusedSlots::holding(*x.rest.number + sign * *y.rest.number);
  return UnusedSlots::of(std::max(x.rest.kind, y.rest.kind),
                         x.unused_slots_bound() + y.unused_slots_bound());
}

UnusedSlots product_of(const Contents& x, const Contents& y) {
  if (x.rest.clean() || y.rest.clean()) return UnusedSlots::zero();
  if (x.rest.number && y.rest.number) return UnusedSlots::holding(*x.rest.number * *y.rest.number);
  return UnusedSlots::of(std::max(x.rest.kind, y.rest.kind),
                         x.unused_slots_bound() * y.unused_slots_bound());
}

UnusedSlots plus_number_of(const Contents& x, ckks::Complex c) {
  if (x.rest.number) return UnusedSlots::holding(*x.rest.number + c);
  return UnusedSlots::of(std::max(x.rest.kind, UnusedSlots::Kind::Filler),
                         x.unused_slots_bound() + std::abs(c));
}

// The number that x was really multiplied by to become `made`: c with the rounding of its factor.
ckks::Complex rounded(const Contents& x, ckks::Complex c, const Parts& made) {
  const double factor = x.params().rescale_factor(x.level()) * (made[0].scale / x.scale());
  return {std::nearbyint(c.real() * factor) / factor, std::nearbyint(c.imag() * factor) / factor};
}

}  // namespace

UnusedSlots UnusedSlots::holding(ckks::Complex number) {
  if (number == ckks::Complex(0)) return zero();
  return {Kind::Filler, std::abs(number), number};
}

UnusedSlots UnusedSlots::of(Kind kind, double bound) {
  if (kind == Kind::Zero) return zero();
  return {kind, bound, std::nullopt};
}

UnusedSlots UnusedSlots::times(ckks::Complex c) const {
  return number ? holding(c * *number) : of(kind, std::abs(c) * bound);
}

UnusedSlots UnusedSlots::conjugated() const { return number ? holding(std::conj(*number)) : *this; }

UnusedSlots UnusedSlots::real() const { return number ? holding(number->real()) : *this; }

UnusedSlots UnusedSlots::beside(const UnusedSlots& other) const {
  if (number && other.number) return holding(number->real() - other.number->imag());
  // Operations on real values leave real numbers in the slots without values.
  const double more = other.kind == Kind::Unknown ? other.bound : 0;
  return {std::max(kind, more > 0 ? other.kind : kind), bound + more, std::nullopt};
}

int Contents::level() const {
  int least = parts[0].level;
  for (const ckks::Ciphertext& part : parts) least = std::min(least, part.level);
  return least;
}

bool Contents::canonical() const {
  return std::ranges::all_of(parts, [&](const ckks::Ciphertext& part) {
    return part.scale == params().scale(part.level);
  });
}

double Contents::unused_slots_bound() const {
  return rest.number ? std::abs(*rest.number) : std::max(rest.bound, known.reach());
}

double Contents::rescaled(const Parts& made) const {
  return rescaled_error(params(), level(), made[0].slots, made[0].scale);
}

double Contents::multiplied(const Parts& made) const {
  return multiplied_error(params(), level(), made[0].slots, made[0].scale);
}

double Contents::switched(int count) const {
  return switched_error(params(), level(), count > 0 ? count : slots(), scale());
}

Known Contents::known_at(int to) const {
  const int from = level();
  if (to >= from) return known;
  Known out = known;
  for (const ckks::Adjustment& step :
       ckks::lowering(params(), from, scale(), to, params().scale(to))) {
    out = out.lowered(rescaled_error(params(), step.from, slots(), step.scale), step.factor);
  }
  return out;
}

Contents Contents::plus(const Evaluator& e, const Contents& y) const {
  return {e.add(parts, y.parts), known_at(y.level()).plus(y.known_at(level())),
          sum_of(*this, y, 1)};
}

Contents Contents::minus(const Evaluator& e, const Contents& y) const {
  return {e.sub(parts, y.parts), known_at(y.level()).minus(y.known_at(level())),
          sum_of(*this, y, -1)};
}

Contents Contents::plus_number(const Evaluator& e, ckks::Complex c) const {
  return {e.add_scalar(parts, c), known.plus_number(c, scale()), plus_number_of(*this, c)};
}

Contents Contents::plus_plain(const Evaluator& e, const Encoded& encoded, NumbersView plain,
                              const Places* where) const {
  Parts made;
  for (std::size_t i = 0; i < parts.size(); ++i) made.push_back(e.add(parts[i], encoded.at(i)));
  return {std::move(made), known.plus_plain(plain, slots(), scale(), where), rest};
}

Contents Contents::times(const Evaluator& e, const Contents& y, bool same) const {
  Parts made = e.multiply(parts, y.parts);
  const Contents& lower = level() < y.level() ? *this : y;
  const double added = lower.multiplied(made);
  if (added > 1) {
    throw ScaleError(
        "multiply",
        "a product of scale " + power_of_two(made[0].scale, 1) + ", smaller than its error",
        "factors of scales near " + power_of_two(params().scale(lower.level()), 0),
        "encrypt without a scale of your own");
  }
  return {std::move(made), known_at(y.level()).times(y.known_at(level()), same, added),
          product_of(*this, y)};
}

Contents Contents::times_integer(const Evaluator& e, std::int64_t c) const {
  const auto number = static_cast<double>(c);
  return {e.multiply_integer(parts, c), known.times_number(number, 0), rest.times(number)};
}

int levels_of(ckks::Complex c) {
  return c == ckks::Complex(0, 1) || c == ckks::Complex(0, -1) ? 0 : 1;
}

Contents Contents::times_number(const Evaluator& e, ckks::Complex c, bool always_rescaled) const {
  if (levels_of(c) == 0 && !always_rescaled) {
    return {e.multiply_i(parts, c.imag() > 0 ? 1 : 3), known.times_number(c, 0), rest.times(c)};
  }
  Parts made = e.multiply_scalar(parts, c);
  Known after = known.times_number(c, rescaled(made), rounded(*this, c, made));
  return {std::move(made), std::move(after), rest.times(c)};
}

Contents Contents::times_plain(const Evaluator& e, const Encoded& factors, NumbersView plain,
                               const Places* where) const {
  Parts made = e.multiply(parts, factors);
  Known after = known.times_plain(plain, slots(), factors[0].scale, rescaled(made), where);
  return {std::move(made), std::move(after), UnusedSlots::zero()};
}

Contents Contents::conjugated(const Evaluator& e) const {
  return {e.conjugate(parts), known.conjugated(switched()), rest.conjugated()};
}

Contents Contents::to_level(const Evaluator& e, int to) const {
  return {e.to_level(parts, to), known_at(to), rest};
}

Contents Contents::summed(const Evaluator& e, std::size_t kept, std::size_t size) const {
  ckks::Ciphertext part = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) part = e.add(part, parts[i]);
  const int width = static_cast<int>(kept), count = slots() / width;
  if (count > 1) part = e.inner_sum(part, width, count);
  const double sums = static_cast<double>(kept), values = static_cast<double>(size) / sums;
  const double all = static_cast<double>(parts.size()) * slots() / sums;
  Known after = known.summed(kept, values, switched(width) * doubling(count), full(), all - values);
  return {{with_slots(part, width)}, std::move(after), UnusedSlots::zero()};
}

Contents Contents::with_rest(const Evaluator& e,
                             const std::vector<std::optional<ckks::Plaintext>>& encoded,
                             ckks::Complex after) const {
  Parts made = parts;
  double added = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!encoded.at(i)) continue;
    added = encoded_error(slots(), made[i].scale);
    made[i] = e.add(made[i], *encoded[i]);
  }
  return {std::move(made), added > 0 ? known.plus_error(added) : known,
          UnusedSlots::holding(after)};
}

std::optional<ckks::Complex> Contents::excess() const {
  return rest.bound > std::max(known.reach(), 1.0) ? rest.number : std::nullopt;
}

double factor_scale(const ckks::Ciphertext& part, const std::string& remedy) {
  if (part.level < 1) throw LevelError("multiply", "level 0", "level 1 or more", remedy);
  const Params& params = part.context->params();
  const double factor = params.rescale_factor(part.level), below = params.scale(part.level - 1);
  const double to_canonical = below * factor / part.scale;
  const double added = rescaled_error(params, part.level, part.slots, below);
  return encoded_error(part.slots, to_canonical) <= added ? to_canonical : factor;
}

Contents dot(const Evaluator& e, std::span<const Factors> pairs) {
  int level = pairs[0].first->level();
  std::vector<Parts> left, right;
  bool clean = true;
  UnusedSlots::Kind kind = UnusedSlots::Kind::Filler;
  double bound = 0;
  std::optional<ckks::Complex> number = 0;
  for (const auto& [x, y] : pairs) {
    level = std::min({level, x->level(), y->level()});
    left.push_back(x->parts);
    right.push_back(y->parts);
    const UnusedSlots rest = product_of(*x, *y);
    clean = clean && rest.clean();
    kind = std::max(kind, rest.kind);
    bound += std::max(x->rest.bound, x->known.reach()) * std::max(y->rest.bound, y->known.reach());
    number = number && rest.number ? std::optional(*number + *rest.number) : std::nullopt;
  }
  const Contents& first = *pairs[0].first;
  Parts made = e.dot(left, right);
  const double added = multiplied_error(first.params(), level, first.slots(), made[0].scale);
  Known known;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [x, y] = pairs[i];
    Known product = x->known_at(level).times(y->known_at(level), x == y, i == 0 ? added : 0);
    known = i == 0 ? std::move(product) : known.plus(product);
  }
  return {std::move(made), std::move(known),
          clean ? UnusedSlots::zero() : UnusedSlots{kind, bound, number}};
}

Known fitting(Known known, const ckks::Ciphertext& part, double rest,
              std::vector<Misfit>* misfits) {
  *misfits = known.misfits(part.level, part.context->params().log_q(part.level), part.scale, rest);
  for (std::size_t i = 0; i < misfits->size(); ++i) known = known.lost();
  return known;
}

}  // namespace latticino::session
