/// \file
/// Any function of every value of a CKKS array, by tables of TFHE and back (docs/switching.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "latticino/array.h"

namespace latticino {

/// Options of tables.
struct LookupOptions {
  /// Values are real and at most this in size; for larger values results are wrong. If a declared
  /// range exceeds it, there is a warning (ScaleError in a plan).
  double bound = 1;
  /// One flag for each value: whether it goes through the table. Other values stay as they are,
  /// which takes one level. Empty: all values go through it.
  std::vector<bool> where = {};
  /// Name of the set; empty: the default one of the device and the keys in use.
  std::string switching = {};
  bool minimal_keys = false;  ///< as in BootstrapOptions
  /// The route back to CKKS: "ring"; "matvec", which has fewer steps and larger keys; "automatic":
  /// the one that a plan predicts to be faster.
  std::string route = "automatic";
};

/// Predicted absolute errors of a table, if values are spread evenly from -bound to bound.
struct TableReport {
  std::string route = {};  ///< the route back to CKKS: "ring" or "matvec"
  double argument = 0;     ///< standard deviation of a value's noise when it is looked up
  double mean = 0;         ///< mean size of the error
  double deviation = 0;    ///< standard deviation of the error
  /// The largest error of any value, as long as its noise is at most five standard deviations.
  double largest = 0;
};

/// f(x) of every real value. Takes a few levels (LevelError says how many) and gives an array at
/// the level after bootstrapping's EvalMod. The error is that of the argument times the slope of f.
///
/// The bound is a number from 2^-40 to 2^64. Values of f are finite, and at most 2^64 in size.
/// Other bounds and values are a ValueError. Values x that are known to be complex are an
/// UnsupportedError. ParameterError if no set of switching belongs to the parameters. KeyError if
/// the bundle in use has no keys for switching.
LATTICINO_API Array apply_lut(const Array& x, const std::function<double(double)>& f,
                              const LookupOptions& options = {});
/// \{
/// 1 where x > y, 0 where x < y, both within the bound. If they differ by less than about 2^-6 of
/// the bound, the result may be either. There is a warning (ScaleError in a plan) if y is a number
/// beyond the bound and nothing is stated of the values of x.
LATTICINO_API Array compare(const Array& x, const Array& y, const LookupOptions& options = {});
LATTICINO_API Array compare(const Array& x, double y, const LookupOptions& options = {});
/// \}
/// The larger one of x and y, element by element. The chosen values keep their precision.
LATTICINO_API Array maximum(const Array& x, const Array& y, const LookupOptions& options = {});

/// The largest of all values, and where it is.
struct Largest {
  Array value;  ///< the value, of shape {}
  Array place;  ///< its place in the flat array, from 0, of shape {}
};
/// The largest of all values and its place. It takes log2(size) comparisons in sequence, of one
/// level each, and one level more. If values differ by less than about 2^-6 of the bound, any one
/// of them may be taken. ShapeError if the slots after the values hold other numbers.
LATTICINO_API Largest largest(const Array& x, const LookupOptions& options = {});

/// Names of the sets of switching for a context's parameters, the default one first.
LATTICINO_API std::vector<std::string> switching_sets(const Context& context);
/// Predicted errors of apply_lut for `slots` slots (0: all); needs no keys.
LATTICINO_API TableReport table_report(const Context& context,
                                       const std::function<double(double)>& f,
                                       const LookupOptions& options = {}, int slots = 0);

}  // namespace latticino
