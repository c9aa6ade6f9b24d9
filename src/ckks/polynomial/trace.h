// What evaluate() computes, step by step, without data: the scale of each intermediate result, and
// what the numbers in it are rounded to. Claims of precision follow these steps.
#pragma once

#include <utility>
#include <vector>

#include "ckks/polynomial/polynomial.h"
#include "params/params.h"

namespace latticino::ckks {

// A number, and the rounded number that evaluate() multiplies by or adds instead of it.
struct RoundedNumber {
  Complex exact = 0, rounded = 0;
};

// factor sum_k a_k b_k + sum_t c_t x_t + constant, and a rescaling. Values are named by numbers: 0
// is the argument y, and i + 1 is the result of step i.
struct EvaluationStep {
  int level = 0;     // level of the result
  double scale = 0;  // scale of the result; 0 if there are no parameters
  double factor = 1;
  // With these parts, a key switch comes before the rescaling.
  std::vector<std::pair<int, int>> products;
  std::vector<std::pair<int, RoundedNumber>> terms;
  RoundedNumber constant;
};

struct EvaluationTrace {
  std::vector<EvaluationStep> steps;  // the last step computes p
  // Coefficients that evaluate() leaves out because they are far smaller than the largest one. The
  // index is that of the coefficient; empty if there are none.
  std::vector<Complex> dropped;
};

// For an argument at the canonical scale of `level`. Without parameters nothing is rounded.
EvaluationTrace trace(const Params* params, int level, const Polynomial& p);

}  // namespace latticino::ckks
