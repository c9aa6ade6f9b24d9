// CKKS bootstrapping after paper 000 Sec. 5: sparse-secret encapsulation, exact ModRaise,
// CoeffToSlot, EvalMod with double angles, SlotToCoeff; full and sparse slots.
#pragma once

#include "ckks/evaluator.h"

namespace latticino::ckks {

struct BootstrapOptions {
  int slots = 0;            // 0: N/2
  enum class Message { Complex, Real, MergedReals } message = Message::Complex;
  bool minimal_keys = false;
};

class Bootstrapper {
 public:
  // Builds matrices and plans for a Params with bootstrapping. Works on a dry context as well.
  Bootstrapper(std::shared_ptr<const Context> context, const BootstrapOptions& options = {});
  ~Bootstrapper();
  const BootstrapOptions& options() const;

  // Any level (dropped to 0 first) -> level_after_bootstrap(), same message, canonical scale.
  Ciphertext bootstrap(const Evaluator& evaluator, const Ciphertext& x) const;
  // Two ciphertexts with real slots, refreshed together as real and imaginary part.
  std::pair<Ciphertext, Ciphertext> bootstrap_pair(const Evaluator& evaluator, const Ciphertext& re,
                                                   const Ciphertext& im) const;

  std::size_t bytes() const;  // of encoded matrices
  struct Precision { double mean_bits, max_bits; };
  Precision predicted_precision() const;  // random messages in the unit box

  // Stages, for tests and measurements.
  Ciphertext mod_raise(const Evaluator& evaluator, const Ciphertext& x) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace latticino::ckks
