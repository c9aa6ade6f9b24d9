// Slot-wise matrix products by diagonals: baby-step giant-step with double hoisting (Bossuat,
// Mouchet, Troncoso-Pastoriza, Hubaux 2021; paper: Cheddar, Fig. 5).
#pragma once

#include <map>
#include <span>

#include "ckks/evaluator/evaluator.h"

namespace latticino::ckks {

// y_i = sum_d diag_d[i] * x_(i+d mod slots): diagonal d multiplies the input rotated left by d.
using Diagonals = std::map<int, std::vector<Complex>>;

// The same transform for an input that is already rotated left by `r` (the counterpart of
// pre_rotation).
Diagonals for_rotated_input(const Diagonals& diagonals, int r, int slots);

// The scale at which weights are encoded that multiply ciphertexts at `level`. Each level L up to
// the default one has a canonical scale S_L. A ciphertext of that scale shall have the canonical
// scale of the level below after the product. So the weights have the scale rescale_factor(L)
// S_(L-1) / S_L. Above the default level they have rescale_factor(L), and products keep the scale
// of the ciphertext.
double weight_scale(const Params& params, int level);

class LinearTransform {
 public:
  struct Options {
    int level = 0;               // level of the input; the result has level - 1
    double plaintext_scale = 0;  // 0: the default, weight_scale
    int baby_steps = 0;          // a power of two; 0: chosen by counting key products
    int pre_rotation = 0;        // the transform is followed by a rotation by this (absorbed)
    // Whether to divide by P and the rescale factor at once. If false, it divides by one after the
    // other. That is one pass more, but its rounding error is smaller, which matters at small
    // scales.
    bool merged = true;
    // Store diagonals as integers that each apply() expands; hoisted transforms only.
    bool compact = false;
    bool hoisted = true;  // false: minimal keys, with one rotation by `step` that is repeated
  };
  // Throws ShapeError for diagonals of another length than `slots`, LevelError, ValueError.
  LinearTransform(const std::shared_ptr<const Context>& context, const Diagonals& diagonals,
                  int slots, const Options& options);
  // In a dry run: diagonals of these rotations, of which no value is known, nor any short period.
  // ContextError on a queue that computes.
  LinearTransform(const std::shared_ptr<const Context>& context, std::span<const int> rotations,
                  int slots, const Options& options);
  ~LinearTransform();
  LinearTransform(LinearTransform&&) noexcept;
  LinearTransform& operator=(LinearTransform&&) noexcept;

  // Scale x.scale * plaintext_scale / rescale_factor(level). A higher input is brought to `level`.
  Ciphertext apply(const Evaluator& evaluator, const Ciphertext& x) const;
  std::vector<Ciphertext> apply(const Evaluator& evaluator, std::span<const Ciphertext> x) const;
  std::vector<int> rotations() const;  // rotations of all keys that apply() uses
  int level() const;
  double plaintext_scale() const;
  std::size_t bytes() const;  // bytes of the diagonals, as they are stored

 private:
  void fill(const std::shared_ptr<const Context>& context, const Diagonals& given, int slots,
            const Options& options);
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace latticino::ckks
