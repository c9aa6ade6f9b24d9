// What is known of the values of an encrypted array: where they lie, and how large they are on
// average. All of it is public: it is stated by whoever encrypts, or assumed, never read off
// encrypted data.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <string>

#include "latticino/values.h"

namespace latticino::session {

using latticino::Claim;  // what a range rests on

struct Interval {
  double low = 0, high = 0;
  double size() const;  // the largest magnitude
  bool contains(const Interval& other) const { return low <= other.low && other.high <= high; }
};

struct Range {
  Claim claim = Claim::Declared;
  Interval re, im;
  double bound = 0;  // of the complex modulus
  double rms = 0;    // of the complex modulus over the slots; for declared values a bound of it
  // Values without structure: no mean and no pattern, so that all coefficients are small.
  bool random_like = false;

  // Uniform in the unit box, the imaginary parts 0 where values are real.
  static Range assumed(bool real);
  // Within a box. `rms` 0: as large as the bound. Throws ValueError for what is no box.
  static Range declared(Interval re, Interval im, double rms = 0, bool random_like = false);
  // The range of plain values.
  static Range of(std::span<const std::complex<double>> values);
  static Range of(std::complex<double> value);
  // The range of sample data. If they stand for complex values and happen to be real, it is complex
  // all the same: decryption drops imaginary parts of real arrays.
  static Range of_sample(std::span<const std::complex<double>> values, bool real);
  // With a bound and a root mean square of the modulus, as far as the box allows them.
  static Range stated(Claim claim, Interval re, Interval im, double bound, double rms,
                      bool random_like);

  bool is_real() const { return im.low == 0 && im.high == 0; }
  bool contains(const Range& other) const;
  // Magnitude that values are expected to reach: the bound, and of assumed values six deviations.
  double reach() const;
  std::string str() const;
};

Range operator+(const Range& x, const Range& y);
Range operator-(const Range& x);
Range operator*(const Range& x, const Range& y);
Range conjugate(const Range& x);
// The range of all values together, if `sizes` of them lie in each of these.
Range hull(std::span<const Range> several, std::span<const std::size_t> sizes);
Range square(const Range& x);
// The range of sums of `count` values.
Range sum(const Range& x, double count);
// The range if there are zeros among the values, as after a mask.
Range with_zero(const Range& x);
// After a map with real or complex weights: `l1` bounds the sum of their sizes, `l2` the root of
// the sum of their squares, for any one result.
Range mapped(const Range& x, double l1, double l2, bool real);

}  // namespace latticino::session
