/// \file
/// Encrypted arrays with operators.
#pragma once

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "latticino/context.h"
#include "latticino/values.h"

namespace latticino {

namespace session {
struct ArrayState;
}  // namespace session

/// How to bootstrap. Options that are left empty are chosen by predicted precision.
struct BootstrapOptions {
  /// Real values: each ciphertext is refreshed by itself, and imaginary errors are removed. Left
  /// empty: an array that is known to be real is refreshed in this way, or two of its ciphertexts
  /// as one if that is faster.
  std::optional<bool> real = std::nullopt;
  /// Asks for two ciphertexts of real values to be refreshed as one. UnsupportedError for an array
  /// of one ciphertext, or of values that are not known to be real.
  bool merged = false;
  bool minimal_keys = false;  ///< keys take a third of the memory; it is slower
  /// SlotToCoeff comes first, at the lowest levels. LevelError if the level is too low.
  std::optional<bool> slot_to_coeff_first = std::nullopt;
  /// One more CoeffToSlot factor, which costs no level.
  std::optional<bool> over_mod_raise = std::nullopt;
  /// 3, 5 or 7: degree of the correction; 1: none; 0: that of the parameter set.
  std::optional<int> arcsine = std::nullopt;
  /// R: values are raised to q0 / 2^r; 0: that of the parameter set.
  std::optional<int> log_message_ratio = std::nullopt;
  bool random_like = false;  ///< declares that values have no mean and no pattern
};

/// An encrypted array: one ciphertext, or several behind one object if it exceeds the slots.
///
/// Immutable: operations give new arrays, and operands stay usable after an error. Levels and
/// scales are aligned on their own. A product with anything but an integer takes one level; sums,
/// rotations and conjugations take none. Two arrays of one operation have one shape, or one of them
/// has a power-of-two size and repeats over the leading dimensions of the other.
///
/// Range and expected error of the values are carried along (range(), bits()). Operations throw
/// LevelError, KeyError, ContextError, ShapeError, ScaleError or ValueError.
class LATTICINO_API Array {
 public:
  Context context() const;     ///< the context or session that the array belongs to
  const Shape& shape() const;  ///< lengths of the dimensions
  std::size_t size() const;    ///< number of values
  int level() const;           ///< multiplications in sequence that are still possible
  double scale() const;        ///< the scale: the factor by which encoded values are multiplied
  int slots() const;           ///< slots of each ciphertext
  std::size_t ciphertexts() const;  ///< number of ciphertexts behind this object
  std::uint64_t bytes() const;      ///< bytes of device memory
  std::string key_id() const;  ///< identity of the secret key, as stated by whoever sent the array
  Range range() const;         ///< what is known of the range of the values
  Bits bits() const;           ///< expected precision

  /// The same values, which the caller knows to be within `range`. It costs nothing, and it cannot
  /// be checked.
  Array declare(const Range& range) const;
  /// The values in another shape, row by row. It costs nothing.
  Array reshape(const Shape& shape) const;

  Array operator-() const;  ///< the values times -1; no level
  Array conj() const;       ///< complex conjugates
  /// The values moved `steps` places to the left, cyclically. It takes one level if the values do
  /// not fill their slots.
  Array rotate(std::int64_t steps) const;
  /// The sum of all values, of shape {}. One level if slots after the values may not be zero.
  Array sum() const;
  /// Sums over the first of two dimensions. Both lengths are powers of two.
  Array sum_rows() const;
  /// The sum of each row times `factor`, repeated in every place of the row. It takes one level.
  /// Rows have a power of two of values.
  Array spread_sum(Complex factor = 1.0) const;
  /// x^n for n >= 1, by ceil(log2(n)) products in sequence. UnsupportedError for other n.
  Array pow(int n) const;

  /// \{
  /// A polynomial of every value, lowest coefficient first. It takes ceil(log2(degree + 1)) levels,
  /// and one more if the interval's length is not 2/k or the scale is not the canonical one.
  Array polynomial(const std::vector<Complex>& coefficients,
                   const PolynomialBasis& basis = {}) const;
  Array polynomial(const std::vector<double>& coefficients,
                   const PolynomialBasis& basis = {}) const;
  /// \}

  /// The same values at a higher level. They must lie in the unit box. ParameterError for sets
  /// without bootstrapping.
  Array bootstrap(const BootstrapOptions& options = {}) const;
  /// This array and another one of the same shape, refreshed as one ciphertext, which takes half
  /// the work. UnsupportedError for values that are not known to be real.
  std::pair<Array, Array> bootstrap_with(const Array& other,
                                         const BootstrapOptions& options = {}) const;
  /// The same values at a lower level, at its canonical scale. LevelError if `level` is above the
  /// array's own.
  Array to_level(int level) const;

  /// \cond
  // Moving copies the handle, so that both stay usable.
  Array(const Array&) = default;
  Array& operator=(const Array&) = default;
  // For the library's own code.
  explicit Array(std::shared_ptr<const session::ArrayState> state) : state_(std::move(state)) {}
  const std::shared_ptr<const session::ArrayState>& state() const { return state_; }
  /// \endcond

 private:
  std::shared_ptr<const session::ArrayState> state_;
};

/// \{
/// Computes element by element. A product takes one level. Sums and differences take none.
LATTICINO_API Array operator+(const Array& x, const Array& y);
LATTICINO_API Array operator-(const Array& x, const Array& y);
LATTICINO_API Array operator*(const Array& x, const Array& y);
/// \}
/// \{
/// Computes with plain values, element by element. They may have the shape of the array, or be a
/// single number. If they have the shape of its last dimensions, they are repeated for the others.
/// A product or a quotient takes one level. ValueError for a divisor of 0.
LATTICINO_API Array operator+(const Array& x, const Values& y);
LATTICINO_API Array operator-(const Array& x, const Values& y);
LATTICINO_API Array operator-(const Values& x, const Array& y);
LATTICINO_API Array operator*(const Array& x, const Values& y);
LATTICINO_API Array operator/(const Array& x, const Values& y);
inline Array operator+(const Values& x, const Array& y) { return y + x; }
inline Array operator*(const Values& x, const Array& y) { return y * x; }
/// \}

/// \{
/// Computes with one complex number, which is applied to each value. A product takes one level. A
/// product with i or -i takes none.
LATTICINO_API Array operator+(const Array& x, Complex y);
LATTICINO_API Array operator*(const Array& x, Complex y);
inline Array operator+(Complex x, const Array& y) { return y + x; }
inline Array operator-(const Array& x, Complex y) { return x + -y; }
inline Array operator-(Complex x, const Array& y) { return -y + x; }
inline Array operator*(Complex x, const Array& y) { return y * x; }
/// \}
/// The product with an integer. It takes no level if the integer is below 2^31 in size, and
/// otherwise one.
LATTICINO_API Array times_integer(const Array& x, std::int64_t factor);

/// The number types of C++: int, double, float and so on.
template <class T>
concept Number = std::integral<T> || std::floating_point<T>;

/// \{
/// Computes with one real number, which is applied to each value. A product or a quotient takes one
/// level. A product takes none if the number has an integer type and fits 32 bits. ValueError for a
/// divisor of 0.
template <Number T>
Array operator+(const Array& x, T y) {
  return x + Complex(static_cast<double>(y));
}
template <Number T>
Array operator+(T x, const Array& y) {
  return y + x;
}
template <Number T>
Array operator-(const Array& x, T y) {
  return x + Complex(-static_cast<double>(y));
}
template <Number T>
Array operator-(T x, const Array& y) {
  return -y + x;
}
template <Number T>
Array operator*(const Array& x, T y) {
  if constexpr (std::integral<T>) {
    if (std::in_range<std::int32_t>(+y)) return times_integer(x, static_cast<std::int64_t>(y));
  }
  return x * Complex(static_cast<double>(y));
}
template <Number T>
Array operator*(T x, const Array& y) {
  return y * x;
}
template <Number T>
Array operator/(const Array& x, T y) {
  return x / Values(static_cast<double>(y));
}
/// \}

/// x @ w for a vector x and a plain matrix or vector w: one level. Shapes as in numpy.
LATTICINO_API Array matmul(const Array& x, const Values& w);
/// w @ x for a plain matrix or vector w and a vector x: one level.
LATTICINO_API Array matmul(const Values& w, const Array& x);
/// The inner product of two encrypted vectors.
LATTICINO_API Array matmul(const Array& x, const Array& y);
/// The sum of x[i] * y[i] over pairs of arrays of one shape. It takes one level and one key switch
/// for all pairs.
LATTICINO_API Array dot(std::span<const Array> x, std::span<const Array> y);

/// Shape, level, scale, slots and expected precision, in one line.
LATTICINO_API std::ostream& operator<<(std::ostream& out, const Array& x);

}  // namespace latticino
