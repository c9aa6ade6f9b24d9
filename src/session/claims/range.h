// What is known of the values of an encrypted array: where they lie, and how large they are on
// average. All of it is public: whoever encrypts states it, or it is assumed. It never depends on
// encrypted data.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <string>

#include "latticino/values.h"

namespace latticino::session {

using latticino::Claim;  // what a range is based on

struct Interval {
  double low = 0, high = 0;
  double size() const;  // the largest magnitude
  bool contains(const Interval& other) const { return low <= other.low && other.high <= high; }
};

const char* name_of(Claim claim);

struct Range {
  Claim claim = Claim::Declared;
  Interval re, im;
  double bound = 0;  // bound on the complex modulus
  // Root mean square of the complex modulus over the slots; a bound on it if there is no sample.
  double rms = 0;
  // Values without structure: no mean and no pattern, so that all coefficients are small.
  bool random_like = false;
  // Whether the range came from sample data, also if the sample was lost in a file. Other data may
  // exceed what the sample showed. Rules that need the sample itself ask only_bounds().
  bool of_a_sample = false;

  // The unit box, for values of which nothing was stated. If they are real, imaginary parts are 0.
  // Claims hold for all values in the box, as if it were declared. They do not rely on random
  // values: the sum of n random values is about sqrt(n), but that of n equal ones is n. An error
  // that is proportional to a value, such as that of a rounded weight, grows in the same way. With
  // random values assumed, claims for data with a mean were up to 6 bits too high.
  static Range assumed(bool real);
  // Values of modulus up to 1. This is assumed for a plan's arguments if nothing was stated about
  // them. They may be real or complex, and their products stay within 1.
  static Range unit_disc();
  // Values within a box. `rms` 0: as large as the bound. ValueError if the numbers do not form a
  // box.
  static Range declared(Interval re, Interval im, double rms = 0, bool random_like = false);
  // The range of plain values.
  static Range of(std::span<const std::complex<double>> values);
  static Range of(std::complex<double> value);
  // The range of sample data. If they stand for complex values and happen to be real, the range is
  // complex all the same, because decryption drops the imaginary parts of real arrays.
  static Range of_sample(std::span<const std::complex<double>> values, bool real);
  // With a bound and a root mean square of the modulus, both limited by the box.
  static Range stated(Claim claim, Interval re, Interval im, double bound, double rms,
                      bool random_like);

  // The same range with the basis of `x`: assumed or declared, and from a sample or not.
  Range with_basis_of(const Range& x) const;
  // What the range is based on, as words for people and for code that relies on it. `claim` is the
  // value that rules use: a range from a sample that is not available counts as a declared one
  // there.
  Claim basis() const;

  bool is_real() const { return im.low == 0 && im.high == 0; }
  bool contains(const Range& other) const;
  // Whether claims for values of this range also hold for values of another range. For example a
  // recorded program claims something for its first arguments, and is run with others. Samples of
  // the same kind of data may differ a little. Claims that rest on a sample do not hold for data
  // without one.
  bool serves(const Range& other) const;
  // Whether only the bounds of the values are known: no sample shows them.
  bool only_bounds() const { return claim != Claim::Calibrated; }
  std::string str() const;
  std::string described() const;  // the same, and what it is based on
};

Range operator+(const Range& x, const Range& y);
Range operator-(const Range& x);
Range operator*(const Range& x, const Range& y);
Range conjugate(const Range& x);
// The range of all values together, if `sizes[i]` of them lie in range i.
Range hull(std::span<const Range> several, std::span<const std::size_t> sizes);
Range square(const Range& x);
// The range of sums of `count` values.
Range sum(const Range& x, double count);
// The range if there are zeros among the values, as after a mask.
Range with_zero(const Range& x);
// After a linear map. For each result, `l1` bounds the sum of the sizes of its weights.
Range mapped(const Range& x, double l1, bool real);

}  // namespace latticino::session
