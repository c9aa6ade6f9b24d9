// The polynomial of EvalMod: sin(2 pi x) / (2 pi) for x = I + e, |I| <= K, |e| small, as a cosine
// polynomial of low degree followed by r double angles (Han-Ki 2020; Bossuat et al. 2021):
//   y = (x - 1/4) / K,  v_0 = p(y) ~ A cos(2 pi K y / 2^r),  v_i = 2 v_(i-1)^2 - A^(2^i),
// A^(2^r) = 1/(2 pi), so that v_r = sin(2 pi x) / (2 pi). p is even. All constants come from
// + - * / sqrt in double-double arithmetic and are the same bits on every machine.
#pragma once

#include <vector>

#include "params/params.h"

namespace latticino::ckks::bootstrap {

struct SinePolynomial {
  int range_k = 0;
  int double_angles = 0;
  std::vector<double> coefficients;  // Chebyshev c_0 .. c_degree in y; odd ones are 0
  std::vector<double> subtract;      // A^(2^i), i = 1 .. r
  // With the arcsine correction, A = 1 and v_r = sin(2 pi x), and arcsine(v_r) = x mod 1 follows.
  // `arcsine` is the odd Taylor polynomial of arcsin(v) / (2 pi) in the monomial basis; empty
  // without the correction.
  std::vector<double> arcsine;

  int depth() const;
  int arcsine_depth() const;          // levels that the arcsine takes
  std::vector<double> in_t2() const;  // c_0, c_2, ..: the same polynomial of T_2(y)
  double evaluate(double x) const;    // the whole composition, computed in double
};

// Truncated Jacobi-Anger series: the error is nearly uniform over |x| <= K.
SinePolynomial sine_closed_form(int range_k, int double_angles, int degree, bool arcsine);

// Weighted least squares on x = I + e, |e| <= 2^-log_ratio. The weight of I is its density after
// ModRaise under a secret of Hamming weight `weight`, but at least 2^-60. So the polynomial is
// precise where the coefficients are, and the improbable ends have the error.
SinePolynomial sine_least_squares(int range_k, int double_angles, int degree, bool arcsine,
                                  int weight, int log_ratio);

// The polynomial of a parameter set: the closed form if the degree makes it exact to 2^-46, else
// least squares.
SinePolynomial sine_polynomial(const BootstrapLiteral& literal);

// The same with options of a plan: the degree of the arcsine (1: none, 0: the set's) and the ratio
// that messages are raised to (0: the set's). Throws ParameterError for other degrees than 0, 1, 3,
// 5 and 7.
SinePolynomial sine_polynomial(BootstrapLiteral literal, int arcsine, int log_message_ratio);

// The result of EvalMod for x plus any integer, without noise: x minus the error of the sine.
double reduced_exactly(const SinePolynomial& sine, double x);

// Density at I of a sum of weight + 1 independent uniforms on [-1/2, 1/2]: close to the
// distribution of one coefficient's I.
double overflow_density(int weight, double i);

}  // namespace latticino::ckks::bootstrap
