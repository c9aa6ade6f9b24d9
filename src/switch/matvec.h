// LWE -> CKKS by partial decryption. A plaintext matrix of the masks of LWE ciphertexts times the
// encrypted secret puts their phases into the slots of a ciphertext. EvalMod then removes the
// multiples of the modulus. Rotations of the secret are part of the key, so the product consists of
// plaintext products only (HRF-MatVec; paper: Chameleon, Sec. 4.2).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ckks/bootstrap/eval_mod.h"
#include "ops/slot_transform.h"
#include "switch/keys.h"

namespace latticino::switching {

// The constants of a product, which need no data.
struct MatvecPlan {
  MatvecShape shape;
  int diagonals = 0;
  ckks::bootstrap::SinePolynomial sine;  // range_k: SwitchParams::overflow_range(rows)
  // Levels: that of the key, and that of the result, which is the same as with route Ring.
  int level = 0, output_level = 0;
  double scale = 0;  // of the key, and of the product after rescaling
};
// Throws ShapeError, and ParameterError for a set with too few levels.
MatvecPlan plan_matvec(const SwitchParams& params, const MatvecShape& shape);

// All shapes for so many values: from N' slots (each coefficient of the secret once), or `rows` if
// that is more, up to N/2. More slots need fewer products and fewer ciphertexts in the key, and
// more rotations at the end. There are none for a set with too few levels.
std::vector<MatvecShape> matvec_shapes(const SwitchParams& params, int rows);

class MatvecPacker {
 public:
  MatvecPacker(std::shared_ptr<const Context> context, const MatvecShape& shape);

  // Phases of LWE ciphertexts under s', modulo the first prime of the table ring, times `largest`
  // over the amplitude of tables, in the slots; output_level(), canonical scale. Slot j is
  // ciphertext rows[j], or 0 if that is -1. `key` identifies the CKKS secret.
  ckks::Ciphertext to_slots(const ckks::Evaluator& evaluator, const MatvecKey& keys,
                            const LweView& lwe, std::span<const std::int32_t> rows, double largest,
                            const rlwe::KeyId& key) const;
  // The first half of it, for tests: (I + phase) / K in the slots, with |I| < K.
  ckks::Ciphertext product(const ckks::Evaluator& evaluator, const MatvecKey& keys,
                           const LweView& lwe, std::span<const std::int32_t> rows,
                           const rlwe::KeyId& key) const;

  const MatvecPlan& plan() const { return plan_; }
  int output_level() const { return plan_.output_level; }
  // The variance that product() adds to a phase, in units of the modulus. It comes from the
  // encryption of the key, rounded plaintexts, rescaling and rotations.
  double product_variance() const;

 private:
  std::array<Poly, 2> summed(const MatvecKey& keys, const LweView& lwe,
                             std::span<const std::int32_t> rows) const;
  std::vector<Poly> encoded(const LweView& lwe, std::span<const std::int32_t> rows,
                            std::uint32_t first, std::uint32_t count) const;
  ckks::Plaintext bodies(const LweView& lwe, std::span<const std::int32_t> rows) const;
  const Ring& plaintext_ring() const;

  std::shared_ptr<const Context> context_;
  MatvecPlan plan_;
  ckks::bootstrap::EvalMod reduction_;
  std::unique_ptr<const SlotTransform> transform_;  // of the degree of plaintext_ring()
};

}  // namespace latticino::switching
