// SlotToCoeff at the lowest levels, by itself. It comes before ModRaise, or before other code that
// needs the slots as coefficients modulo q0 (src/switch).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ckks/bootstrap/dft_factors.h"
#include "ckks/linear/linear_transform.h"

namespace latticino::ckks::bootstrap {

// Matrices of a chain of factors, the first one at `level`; each keeps the scale.
std::vector<LinearTransform> encode_factors(const std::shared_ptr<const Context>& context,
                                            std::span<const DftFactor> factors, int level,
                                            bool minimal_keys, bool last_merged);

class SlotsToCoefficients {
 public:
  // Coefficients hold the slots times `ratio`, in units of q0. Throws ParameterError without
  // bootstrapping levels.
  SlotsToCoefficients(const std::shared_ptr<const Context>& context, int slots, double ratio,
                      bool minimal_keys);

  // From any level >= input_level() to level 0 and scale ratio q0. With gap = N / (2 slots),
  // coefficient rev(j) gap is the real part of slot j and coefficient N/2 + rev(j) gap the
  // imaginary part; rev reverses log2(slots) bits. A ciphertext of fewer slots repeats them.
  Ciphertext apply(const Evaluator& evaluator, const Ciphertext& x) const;
  std::vector<Ciphertext> apply(const Evaluator& evaluator, std::span<const Ciphertext> x) const;
  int input_level() const { return factors_.front().level(); }
  std::size_t bytes() const;  // bytes of the encoded matrices

 private:
  int slots_;
  double scale_;
  std::vector<LinearTransform> factors_;
};

}  // namespace latticino::ckks::bootstrap
