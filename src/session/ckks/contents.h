// What a CKKS array is beneath its shape: ciphertexts, what is known of their values, and what the
// slots without values hold. The rules by which sums, products and changes of level move claims,
// levels and those slots stand here alone. The arrays of C++ (array.cc) add shapes to them, and
// those of Python (python/bindings/contents.cc) layouts.
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

// What lies in the slots of an array that hold none of its values.
struct Rest {
  // Zeros; what operations made of zeros, or copies of values; anything. In this order less is
  // known.
  enum class Kind { Zero, Filler, Unknown };
  Kind kind = Kind::Zero;
  double bound = 0;                         // on the size of what lies there
  std::optional<ckks::Complex> number = 0;  // which all of them hold; none where that is not known

  static Rest zero() { return {}; }
  static Rest holding(ckks::Complex number);
  static Rest of(Kind kind, double bound);
  bool clean() const { return kind == Kind::Zero; }
  Rest times(ckks::Complex c) const;
  Rest conjugated() const;
  // Without imaginary parts.
  Rest real() const;
  // The real part of this plus i times another: what slots hold where two arrays of real values are
  // refreshed as one.
  Rest beside(const Rest& other) const;
};

struct Contents {
  Parts parts;
  Known known;
  Rest rest;

  const Params& params() const { return parts[0].context->params(); }
  int level() const;  // the least of all parts
  double scale() const { return parts[0].scale; }
  int slots() const { return parts[0].slots; }
  // Whether all slots of the ring are in use: then errors of a few slots stand out.
  bool full() const { return slots() == params().max_slots(); }
  // Whether each part has the scale that belongs to its level.
  bool canonical() const;
  // A bound on what the slots without values hold.
  double reach_of_rest() const;

  // Error that was added by the operation that made the first of `made` from this: by its
  // rescaling, by the key switch of a product; by a key switch alone, to `slots` slots (0: all).
  double rescaled(const Parts& made) const;
  double multiplied(const Parts& made) const;
  double switched(int slots = 0) const;
  // What is known of this once operations have brought it down to `level`.
  Known known_at(int level) const;

  Contents plus(const ckks::Evaluator& e, const Contents& y) const;
  Contents minus(const ckks::Evaluator& e, const Contents& y) const;
  Contents plus_number(const ckks::Evaluator& e, ckks::Complex c) const;
  // `encoded`: the plain values of each part at its level and scale. `where` they lie, if not row
  // by row from the first slot on.
  Contents plus_plain(const ckks::Evaluator& e, const Encoded& encoded, NumbersView plain,
                      const Places* where = nullptr) const;
  // `same`: of an array with itself. ScaleError where the error would exceed the product.
  Contents times(const ckks::Evaluator& e, const Contents& y, bool same) const;
  // Takes no level. An integer below kMostInteger in size.
  Contents times_integer(const ckks::Evaluator& e, std::int64_t c) const;
  // Takes levels_of(c) levels; one in any case if `always_rescaled`.
  Contents times_number(const ckks::Evaluator& e, ckks::Complex c,
                        bool always_rescaled = false) const;
  // `factors`: plain values encoded at the factor_scale of each part.
  Contents times_plain(const ckks::Evaluator& e, const Encoded& factors, NumbersView plain,
                       const Places* where = nullptr) const;
  Contents conjugated(const ckks::Evaluator& e) const;
  Contents to_level(const ckks::Evaluator& e, int level) const;
  // The sum of all values, or of all rows of `kept` of them, in ciphertexts of as many slots; of
  // `size` values in all. Slots without values hold zeros.
  Contents summed(const ckks::Evaluator& e, std::size_t kept, std::size_t size) const;

  // With plain values added to slots without values, which hold the number `after` then. `encoded`:
  // for each part that has such slots. Takes no level.
  Contents with_rest(const ckks::Evaluator& e,
                     const std::vector<std::optional<ckks::Plaintext>>& encoded,
                     ckks::Complex after) const;
  // The number to take away from slots without values, where one lies there that is larger than
  // values are. Its powers would leave the modulus, or take the precision of all slots when these
  // are decoded.
  std::optional<ckks::Complex> excess() const;
};

// Factors from this size on are no integers to times_integer.
inline constexpr std::int64_t kMostInteger = std::int64_t{1} << 31;
// 0 for i and -i, which are rotations of the coefficients; 1 else.
int levels_of(ckks::Complex c);

// The scale of a factor with which the rescaled product has the canonical one of the level below.
// Where the operand's scale is so large that such a factor would be rounded by more than the
// rescaling adds, the scale with which the product keeps the operand's. LevelError at level 0, with
// what to do about it.
double factor_scale(const ckks::Ciphertext& part, const std::string& remedy);

// The sum of products, with one key switch; all of one form, at level 1 or more. Factors of one
// index that are one object count as a square.
using Factors = std::pair<const Contents*, const Contents*>;
Contents dot(const ckks::Evaluator& e, std::span<const Factors> pairs);

// What is known, if the values fit the modulus of a part's level, and what lies in slots without
// values, up to `rest` in size. Else nothing is claimed, and `misfits` says why.
Known fitting(Known known, const ckks::Ciphertext& part, double rest, std::vector<Misfit>* misfits);

}  // namespace latticino::session
