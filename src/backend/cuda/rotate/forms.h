// The forms of a blind rotation, their numbers in tuning.h, and the forms that a shape can take.
#pragma once

#include "backend/tuning.h"

namespace latticino::cuda {

// A block holds one or more whole ciphertexts through all steps.
constexpr int kGatheredForm = 0;
// Each ciphertext is spread over 2^log_blocks blocks: up to 8 in exact arithmetic, 16 in FP64.
constexpr int cluster_form(int log_blocks) { return 1 + log_blocks; }
constexpr int kLogMostClusterBlocks = 4;
// The whole batch goes through a step together, in several launches. The number of this form comes
// after those of the exact and of the FP64 forms, so that each number stands for one form.
constexpr int kStepForm = cluster_form(kLogMostClusterBlocks) + 1;
static_assert(kStepForm < Tuning::kVariants);

// Which forms can run a shape, and which of them is the cheapest.
class RotationForms {
 public:
  RotationForms(int form, double cost) : can_run_(1u << form), own_(form), cost_(cost) {}

  // Exact rotations can go by steps in every shape. The rule chooses steps in three cases: if no
  // block holds a ciphertext; if `steps` is the smallest cost; and from N = 2^12 on, where a block
  // has no room for a second ciphertext. There 880 steps over two primes take 11.9, 35.0 and 291 ms
  // for 1, 132 and 1056 ciphertexts on an H200, and gathered ones 44.6, 45.7 and 366 ms (docs/lab).
  // In the first and the last case `gathered` has the cost of steps.
  static RotationForms exact(int log_n, bool gathers, double gathered, double steps) {
    const bool by_cost = gathers && log_n < kFirstStepDegree;
    RotationForms forms(by_cost ? kGatheredForm : kStepForm, gathered);
    forms.can_run_ |= 1u << kStepForm;
    if (gathers) forms.can_run_ |= 1u << kGatheredForm;
    if (by_cost) forms.add(kStepForm, steps);
    return forms;
  }

  void add(int form, double cost) {
    can_run_ |= 1u << form;
    if (cost < cost_) own_ = form, cost_ = cost;
  }
  Tuning::Variants can_run() const { return can_run_; }
  int own() const { return own_; }

 private:
  static constexpr int kFirstStepDegree = 12;

  Tuning::Variants can_run_;
  int own_;
  double cost_;
};

}  // namespace latticino::cuda
