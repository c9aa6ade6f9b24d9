// What a CKKS array is, apart from its shape: ciphertexts, what is known of their values, and what
// the slots without values hold. This is the only place with the rules of what sums, products and
// changes of level do to claims, levels and those slots. The arrays of C++ (array.cc) add shapes,
// and those of Python (python/bindings/contents.cc) add layouts.
#pragma once

#include <complex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ckks/evaluator/evaluator.h"
#include "session/claims/known.h"

namespace latticino::session {

using Parts = std::vector<ckks::Ciphertext>;
using Encoded = std::vector<ckks::Plaintext>;

// What is in the slots that hold no value of the array.
struct UnusedSlots {
  // Zero: zeros. Filler: what operations made of zeros, or copies of values. Unknown: anything.
  enum class Kind { Zero, Filler, Unknown };
  Kind kind = Kind::Zero;
  double bound = 0;  // bound on the size of what is there
  // The number in all of these slots; none if it is not known.
  std::optional<ckks::Complex> number = 0;

  static UnusedSlots zero() { return {}; }
  static UnusedSlots holding(ckks::Complex number);
  static UnusedSlots of(Kind kind, double bound);
  bool clean() const { return kind == Kind::Zero; }
  UnusedSlots times(ckks::Complex c) const;
  UnusedSlots conjugated() const;
  // The same without imaginary parts.
  UnusedSlots real() const;
  // The real part of this plus i times another one. The slots hold this after two arrays of real
  // values were refreshed as one.
  UnusedSlots beside(const UnusedSlots& other) const;
};

struct Contents {
  Parts parts;
  Known known;
  UnusedSlots rest;

  const Params& params() const { return parts[0].context->params(); }
  int level() const;  // the lowest level of all parts
  double scale() const { return parts[0].scale; }
  int slots() const { return parts[0].slots; }
  // Whether all slots of the ring are in use: then errors of a few slots stand out.
  bool full() const { return slots() == params().max_slots(); }
  // Whether each part has the scale that belongs to its level.
  bool canonical() const;
  // A bound on what the slots without values hold.
  double unused_slots_bound() const;

  // The error that an operation on this array added, if `made` is its result: by rescaling; by the
  // key switch of a product; by a key switch alone, in `slots` slots (0: as many as this has).
  double rescaled(const Parts& made) const;
  double multiplied(const Parts& made) const;
  double switched(int slots = 0) const;
  // What will be known of the array at `level`, after operations have brought it down to that
  // level.
  Known known_at(int level) const;

  Contents plus(const ckks::Evaluator& e, const Contents& y) const;
  Contents minus(const ckks::Evaluator& e, const Contents& y) const;
  Contents plus_number(const ckks::Evaluator& e, ckks::Complex c) const;
  // `encoded`: the plain values for each part, at its level and scale. `where`: the positions of
  // the values, if they are not row by row from the first slot on.
  Contents plus_plain(const ckks::Evaluator& e, const Encoded& encoded, NumbersView plain,
                      const Places* where = nullptr) const;
  // `same`: whether y is this array. ScaleError if the error would exceed the product.
  Contents times(const ckks::Evaluator& e, const Contents& y, bool same) const;
  // `c` must be below kMaxInteger in size. This takes no level.
  Contents times_integer(const ckks::Evaluator& e, std::int64_t c) const;
  // This takes levels_of(c) levels, or always one if `always_rescaled`.
  Contents times_number(const ckks::Evaluator& e, ckks::Complex c,
                        bool always_rescaled = false) const;
  // `factors`: plain values encoded at the factor_scale of each part.
  Contents times_plain(const ckks::Evaluator& e, const Encoded& factors, NumbersView plain,
                       const Places* where = nullptr) const;
  Contents conjugated(const ckks::Evaluator& e) const;
  Contents to_level(const ckks::Evaluator& e, int level) const;
  // The sum of all values (`kept` = 1), or of all rows of `kept` values. The results have `kept`
  // slots and hold `size` values in all. Slots without values must hold zeros.
  Contents summed(const ckks::Evaluator& e, std::size_t kept, std::size_t size) const;

  // Adds plain values to the slots without values, which then hold the number `after`. `encoded`:
  // the plain values for each part that has such slots. It takes no level.
  Contents with_rest(const ckks::Evaluator& e,
                     const std::vector<std::optional<ckks::Plaintext>>& encoded,
                     ckks::Complex after) const;
  // The number to subtract from the slots without values, if the number there is larger than the
  // values are. Powers of it would leave the modulus, or would cost all slots precision when they
  // are decoded.
  std::optional<ckks::Complex> excess() const;
};

// times_integer takes integers below this in size.
inline constexpr std::int64_t kMaxInteger = std::int64_t{1} << 31;
// 0 for i and -i, which only move coefficients; 1 for other numbers.
int levels_of(ckks::Complex c);

// The scale of a factor. After the rescaling, the product has the canonical scale of the level
// below. If the operand's scale is so large that this factor would be rounded by more than the
// rescaling adds, the product keeps the operand's scale instead. LevelError at level 0, with
// `remedy`.
double factor_scale(const ckks::Ciphertext& part, const std::string& remedy);

// The sum of products, with one key switch. All operands have one form and are at level 1 or above.
// If both factors of a pair are the same object, the pair is a square.
using Factors = std::pair<const Contents*, const Contents*>;
Contents dot(const ckks::Evaluator& e, std::span<const Factors> pairs);

// Returns `known` if the values fit the modulus at the level of `part`, and the slots without
// values, which hold numbers up to `rest`, do too. If they do not fit, nothing is claimed, and
// `misfits` says why.
Known fitting(Known known, const ckks::Ciphertext& part, double rest, std::vector<Misfit>* misfits);

}  // namespace latticino::session
