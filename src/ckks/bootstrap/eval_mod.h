// EvalMod on slots: the sine polynomial of sine.h in T_2(y), then double angles and, if the plan
// has one, the arcsine. Bootstrapping and repacking (switch/matvec.h) use it.
#pragma once

#include <optional>
#include <vector>

#include "ckks/bootstrap/sine.h"
#include "ckks/evaluator/evaluator.h"
#include "ckks/polynomial/polynomial.h"

namespace latticino::ckks::bootstrap {

// The scale of EvalMod's input at `level`. With it, T_2(y) and the following elements keep scales
// close to the rescale factors of their levels. The rescale factors of CoeffToSlot are different.
double eval_mod_input_scale(const Params& params, int level);

// The closed form for any |x| <= range_k, right to 2^-40. Among the forms of at most `levels`
// levels it has the fewest products of ciphertexts, and the fewer levels of two such forms. Nothing
// if there are too few levels.
std::optional<SinePolynomial> sine_for_range(int range_k, bool arcsine, int levels);

class EvalMod {
 public:
  // Results are at `output_level`, and inputs are sine.depth() levels above it. The parameter set
  // must have bootstrapping. `before_arcsine`: the scale that the arcsine starts with; 0: the one
  // it ends with.
  EvalMod(const Params& params, SinePolynomial sine, int output_level, double before_arcsine = 0);
  const SinePolynomial& sine() const { return sine_; }
  int input_level() const { return output_level_ + sine_.depth(); }
  int output_level() const { return output_level_; }

  // Slots x / K, |x - 1/4| <= K, real -> sin(2 pi x) / (2 pi), with the scale asked for.
  std::vector<Ciphertext> apply(const Evaluator& evaluator, std::vector<Ciphertext> x,
                                double scale) const;
  // The same for pairs of inputs, all first ones and then all second ones. If the last step joins
  // them, the results are first + i second, one for each pair.
  std::vector<Ciphertext> joined(const Evaluator& evaluator, std::vector<Ciphertext> x,
                                 double scale) const;

 private:
  std::vector<Ciphertext> cosine(const Evaluator& evaluator, const std::vector<Ciphertext>& x,
                                 double scale) const;
  double scale_before_double_angles(double scale) const;
  const Params& params_;
  SinePolynomial sine_;
  int output_level_;
  double before_arcsine_;
  Polynomial cosine_, arcsine_;
};

}  // namespace latticino::ckks::bootstrap
