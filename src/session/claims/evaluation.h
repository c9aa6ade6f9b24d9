// What the evaluation of a polynomial adds to its values. It follows the steps of the evaluation
// (ckks/polynomial/trace.h). Each step adds the error of a rescaling, and a number in it is rounded
// when it is encoded. How much both matter depends on how much the result depends on that step.
// That is little for values within -1 to 1, and much for values outside: the rounding of c in c x^3
// is multiplied by x^3.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "ckks/polynomial/trace.h"
#include "params/params.h"

namespace latticino::session {

// A polynomial in the monomial or the Chebyshev basis, of y = (2x - lower - upper) / (upper -
// lower).
struct Series {
  std::span<const std::complex<double>> coefficients;
  bool chebyshev = false;
  double lower = -1, upper = 1;
};

class Evaluation {
 public:
  using Complex = std::complex<double>;

  // Every step adds the error `added`, and no number is rounded. `mapping`: the error of y.
  explicit Evaluation(const Series& p, double added = 0, double mapping = 0);
  // The evaluation of p for arrays of `slots` slots, from a canonical scale at `level` on.
  Evaluation(const Params& params, int level, const ckks::Polynomial& p, int slots);

  // The errors at one y.
  struct Point {
    Complex slope;  // slope of the result, with respect to y
    double noise;   // root mean square of what the steps add
    // From rounded and from missing coefficients: the same whenever the value is the same.
    Complex off;
  };
  Point at(Complex y) const;
  // The error of the product that brings the interval to [-1, 1]; 0 if there is none.
  double mapping() const { return mapping_; }
  // Equal for equal evaluations.
  std::uint64_t name() const { return name_; }

 private:
  explicit Evaluation(ckks::EvaluationTrace trace, bool chebyshev);

  ckks::EvaluationTrace trace_;
  bool chebyshev_;
  std::vector<double> added_;  // errors added by each step
  double mapping_ = 0;
  std::uint64_t name_ = 0;
};

// The series in the variable that is mapped to [-1, 1].
std::complex<double> evaluated(const Series& p, std::complex<double> y);

}  // namespace latticino::session
