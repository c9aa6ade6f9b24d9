// Slot-wise matrix products by diagonals (baby-step giant-step, double hoisting; paper 000 Sec. 4).
#pragma once

#include <map>

#include "ckks/evaluator.h"

namespace latticino::ckks {

// y_i = sum_d diag_d[i] * x_(i+d mod slots): diagonal d multiplies the input rotated left by d.
using Diagonals = std::map<int, std::vector<Complex>>;

class LinearTransform {
 public:
  struct Options {
    int level = 0;              // of the input; the result has level - 1
    double plaintext_scale = 0; // 0: the rescale factor of `level` (the scale is kept)
    int baby_steps = 0;         // 0: chosen by counting key products
    int pre_rotation = 0;       // the transform is followed by a rotation by this (absorbed)
    bool hoisted = true;        // false: minimal keys, one rotation by `step` iterated
  };
  LinearTransform(const std::shared_ptr<const Context>& context, const Diagonals& diagonals,
                  int slots, const Options& options);
  ~LinearTransform();
  LinearTransform(LinearTransform&&) noexcept;

  Ciphertext apply(const Evaluator& evaluator, const Ciphertext& x) const;
  std::vector<int> rotations() const;  // all that apply() uses
  std::size_t bytes() const;           // of the encoded diagonals

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace latticino::ckks
