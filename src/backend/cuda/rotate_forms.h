// The forms of a blind rotation, their numbers in tuning.h, and which of them a shape can take.
#pragma once

#include "backend/tuning.h"

namespace latticino::cuda {

// Blocks carry whole ciphertexts through all steps.
constexpr int kGatheredForm = 0;
// Each ciphertext is spread over 2^log_blocks blocks: up to 8 in exact arithmetic, 16 in FP64.
constexpr int spread_form(int log_blocks) { return 1 + log_blocks; }
constexpr int kLogMostSpreadBlocks = 4;
// The whole batch goes through a step together, in launches. Behind the numbers of both
// arithmetics, so that a number means one form.
constexpr int kStepForm = spread_form(kLogMostSpreadBlocks) + 1;
static_assert(kStepForm < Tuning::kVariants);

// What can run, and the cheapest of it.
class RotationForms {
 public:
  RotationForms(int form, double cost) : can_run_(1u << form), own_(form), cost_(cost) {}

  // Exact rotations can go by steps in every shape, and do by their own rule only where no block
  // holds a ciphertext. `cost`: of gathering, and of what stands in for it.
  static RotationForms exact(bool gathers, double cost) {
    RotationForms forms(gathers ? kGatheredForm : kStepForm, cost);
    forms.can_run_ |= 1u << kStepForm;
    return forms;
  }

  void add(int form, double cost) {
    can_run_ |= 1u << form;
    if (cost < cost_) own_ = form, cost_ = cost;
  }
  Tuning::Variants can_run() const { return can_run_; }
  int own() const { return own_; }

 private:
  Tuning::Variants can_run_;
  int own_;
  double cost_;
};

}  // namespace latticino::cuda
