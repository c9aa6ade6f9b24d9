/// \file
/// Numbers in the clear, and what is known of numbers that are encrypted.
#pragma once

#include <complex>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

#include "latticino/export.h"

namespace latticino {

/// Slots of CKKS hold complex numbers.
using Complex = std::complex<double>;
/// Lengths of the dimensions of an array, row by row; empty for a single value.
using Shape = std::vector<std::size_t>;

/// Number of values in a shape.
LATTICINO_API std::size_t size_of(const Shape& shape);

/// Real or complex numbers with a shape. Vectors and single numbers become values on their own.
class LATTICINO_API Values {
 public:
  /// \{
  /// One number, or a vector of them.
  Values(double x);                         // NOLINT: implicit, as all of these
  Values(Complex x);                        // NOLINT
  Values(std::initializer_list<double> x);  // NOLINT
  Values(std::vector<double> x);            // NOLINT
  Values(std::vector<Complex> x);           // NOLINT
  Values(std::span<const double> x);        // NOLINT
  Values(std::span<const Complex> x);       // NOLINT
  /// \}
  /// \{
  /// Numbers with a shape, row by row. ShapeError if the shape has another number of values.
  Values(std::initializer_list<double> x, Shape shape);
  Values(std::vector<double> x, Shape shape);
  Values(std::vector<Complex> x, Shape shape);
  /// \}

  /// Lengths of the dimensions; empty for a single number.
  const Shape& shape() const { return shape_; }
  /// How many numbers there are.
  std::size_t size() const { return numbers_.size(); }
  /// Whether they were given as real numbers.
  bool is_real() const { return real_; }
  /// All of them, row by row.
  const std::vector<Complex>& numbers() const { return numbers_; }
  /// \cond
  // Moving copies as well, so that both stay usable.
  Values(const Values&) = default;
  Values& operator=(const Values&) = default;
  /// \endcond

 private:
  std::vector<Complex> numbers_;
  Shape shape_;
  bool real_ = true;
};

/// What a range is based on. If an operand is assumed, so is the result; otherwise, if an operand
/// is calibrated, so is the result.
enum class Claim {
  Assumed,     ///< nobody stated anything: claims hold for values in the unit box
  Declared,    ///< stated by whoever encrypted
  Calibrated,  ///< computed from sample data
};

/// Where the values of an encrypted array lie. All of it is public: it is stated or assumed, and
/// never depends on encrypted data. Ciphertexts and files contain it. If a range was computed from
/// sample data, files say so, but they do not contain the sample.
struct Range {
  double low = -1;       ///< No real part is smaller.
  double high = 1;       ///< No real part is larger.
  double imag_low = 0;   ///< No imaginary part is smaller.
  double imag_high = 0;  ///< No imaginary part is larger.
  double rms = 0;        ///< The root mean square of the absolute values. 0: it is not known.
  /// Values without structure: no mean and no pattern. Bootstrapping then keeps more levels.
  bool random = false;
  Claim claim = Claim::Declared;  ///< What the range is based on.
};

/// Expected precision in bits, `-log2` of an absolute error; infinite if values are exact.
struct Bits {
  double mean = 0;               ///< bits of the mean error
  double worst = 0;              ///< bits of the largest error
  Claim claim = Claim::Assumed;  ///< what it is based on
};

/// A polynomial of y = (2x - lower - upper) / (upper - lower), which is x itself by default.
struct PolynomialBasis {
  bool chebyshev = false;  ///< a series of T_k(y) instead of powers y^k
  double lower = -1;       ///< lower end of the interval
  double upper = 1;        ///< upper end of the interval
};

}  // namespace latticino
