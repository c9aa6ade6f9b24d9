// CKKS bootstrapping (paper: Cheddar, Sec. 2.2 and 5): sparse-secret encapsulation, exact ModRaise,
// CoeffToSlot, EvalMod with double angles, SlotToCoeff; full and sparse slots.
// docs/bootstrapping.md explains the steps, the constants and the precision formulas.
#pragma once

#include <span>
#include <utility>

#include "ckks/evaluator/evaluator.h"

namespace latticino::ckks {

struct BootstrapOptions {
  int slots = 0;  // 0: N/2
  enum class Message {
    Complex,
    Real,         // the imaginary part is removed at the end, with its error
    MergedReals,  // bootstrap_pair: two real vectors as real and imaginary part
  } message = Message::Complex;
  // Minimal keys: one baby and one giant rotation key per factor, which is slower.
  bool minimal_keys = false;
  // SlotToCoeff comes first, at the lowest levels, before ModRaise. It takes input_level() levels
  // of its input, where limbs are few, and the result has as many levels more. Messages with large
  // coefficients lose no precision.
  bool slot_to_coeff_first = false;
  // OverModRaise: one more CoeffToSlot factor. It is applied before the raised ciphertext is
  // multiplied by a key, so it costs no level (over_raise.h).
  bool over_mod_raise = false;
  // r: coefficients of size 1 (slots, with SlotToCoeff first) are raised to q0 / 2^r, or to the
  // next integer scale-up below it. For a larger r, the sine loses less of large coefficients, and
  // the noise is larger. 0: the set's, or the best one with SlotToCoeff first. ParameterError if q0
  // / 2^r is below the scale.
  int log_message_ratio = 0;
  // Degree of the arcsine polynomial that ends EvalMod: 3, 5 or 7, which take 2, 3 and 3 levels; 1
  // for none; 0: the set's. output_level() is as many levels lower; ParameterError below level 1.
  int arcsine = 0;
  // Half bootstrapping: from ModRaise to EvalMod, for coefficients that other code made
  // (src/switch). For real messages, and bootstrap_half alone.
  bool half = false;
};

class Bootstrapper {
 public:
  // Builds matrices and plans for parameters with bootstrapping. Works on a dry context as well.
  // Throws ParameterError for parameters without it, ShapeError for a wrong slot count.
  explicit Bootstrapper(std::shared_ptr<const Context> context,
                        const BootstrapOptions& options = {});
  ~Bootstrapper();
  Bootstrapper(Bootstrapper&&) noexcept;
  const BootstrapOptions& options() const;

  // The same message at output_level(), at its canonical scale. The input may have any level from
  // input_level() on, and is dropped to that level first. Slots |z| <= 1, and every coefficient of
  // the message is at most 1 in size (a vector of constants has one such coefficient). The
  // ciphertext may have fewer slots than the plan.
  Ciphertext bootstrap(const Evaluator& evaluator, const Ciphertext& x) const;
  // Each result has the same words as if it had been computed alone. Up to kMaxBatch ciphertexts
  // run together and share launches of kernels. More of them need more scratch memory.
  std::vector<Ciphertext> bootstrap(const Evaluator& evaluator,
                                    std::span<const Ciphertext> x) const;
  static constexpr std::size_t kMaxBatch = 4;
  // Two ciphertexts with real slots, refreshed together as real and imaginary part.
  std::pair<Ciphertext, Ciphertext> bootstrap_pair(const Evaluator& evaluator, const Ciphertext& re,
                                                   const Ciphertext& im) const;
  // Several of such pairs: all first results, and all second ones.
  std::pair<std::vector<Ciphertext>, std::vector<Ciphertext>> bootstrap_pairs(
      const Evaluator& evaluator, std::span<const Ciphertext> re,
      std::span<const Ciphertext> im) const;

  // Half bootstrapping. Input: (b, a) over the primes of level 0, in Eval, under the sparse secret
  // of `key`. The coefficients hold real numbers z_j times `ratio`, in units of q0, where
  // SlotsToCoefficients puts them; coefficients of imaginary parts may hold anything. Result: slots
  // z_j at output_level(), at the canonical scale. EvalMod is made for |z_j| ratio up to
  // 2^-log_message_ratio.
  Ciphertext bootstrap_half(const Evaluator& evaluator, const std::array<Poly, 2>& low,
                            const rlwe::KeyId& key, double ratio) const;

  // The lowest level of inputs: 0, or the levels of SlotToCoeff if it comes first.
  int input_level() const;
  // level_after_bootstrap() and those levels, minus the levels of an arcsine that the set does not
  // have.
  int output_level() const;
  std::size_t bytes() const;  // bytes of encoded matrices
  // -log2 of the mean error, and of the largest error over all slots of 20 runs.
  struct Precision {
    double mean_bits, max_bits;
  };
  // For random messages in the unit box, or for the given slots, as many as the plan has. The
  // latter includes what structured messages lose in the sine (docs/bootstrapping.md, Precision).
  Precision predicted_precision(std::span<const Complex> message = {}) const;

  // Stages, for tests and measurements. After coeff_to_slot: (I + m/q0) / K in the slots, real and
  // imaginary halves as two ciphertexts (full slots) or one of twice the slots.
  Ciphertext mod_raise(const Evaluator& evaluator, const Ciphertext& x) const;
  std::vector<Ciphertext> coeff_to_slot(const Evaluator& evaluator, const Ciphertext& x) const;
  std::vector<Ciphertext> eval_mod(const Evaluator& evaluator, std::vector<Ciphertext> x) const;
  // Takes both halves, or their sum re + i im as one ciphertext.
  Ciphertext slot_to_coeff(const Evaluator& evaluator, const std::vector<Ciphertext>& x) const;
  // A coefficient m of the level-0 message is m * message_ratio() after ModRaise, in units of q0.
  // EvalMod gets this number plus the integer.
  double message_ratio() const;
  // With this ratio, the sine without an arcsine loses as much of a coefficient of size 1.
  double sine_ratio() const;
  const BootstrapNoise& noise() const;

 private:
  struct Plan;
  using Pair = std::array<Poly, 2>;  // (b, a)
  using Span = std::span<const Ciphertext>;
  // The same stages for several ciphertexts that run together. Halves: first all real ones; then
  // all imaginary ones, if they are needed and are ciphertexts of their own.
  void require(const Evaluator& evaluator, const Ciphertext& x) const;
  std::vector<Pair> raised_parts(const Evaluator& evaluator, std::span<const Pair> low,
                                 const Ciphertext& like) const;
  std::vector<Ciphertext> raised_sparse(const Evaluator& evaluator, std::span<const Pair> low,
                                        const rlwe::KeyId& key) const;
  std::vector<Ciphertext> raised(const Evaluator& evaluator, Span x) const;
  std::vector<Ciphertext> split(const Evaluator& evaluator, std::vector<Ciphertext> x) const;
  std::vector<Ciphertext> refreshed_halves(const Evaluator& evaluator, Span x, bool join) const;
  std::vector<Ciphertext> back(const Evaluator& evaluator, Span halves, std::size_t count) const;
  std::vector<Ciphertext> refresh(const Evaluator& evaluator, Span x) const;
  std::vector<Ciphertext> bootstrap_batch(const Evaluator& evaluator, Span x) const;
  std::vector<Ciphertext> bootstrap_pair_batch(const Evaluator& evaluator, Span re, Span im) const;
  std::unique_ptr<Plan> plan_;
};

}  // namespace latticino::ckks
