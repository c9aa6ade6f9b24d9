// CKKS -> LWE: SlotToCoeff at the lowest levels, the modulus of the table ring, one key switch to a
// secret that lives in that ring, and extraction of the coefficients of any slots.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ckks/bootstrap/slots_to_coefficients.h"
#include "switch/keys.h"

namespace latticino::switching {

// Where the value of each of `slots` real slots lies. rev reverses the log2(slots) bits of a slot's
// number. The value of slot j is coefficient rev(j) N / (2 slots) in the CKKS ring. In the table
// ring (switch/pack.h) it is leaf rev(j) / packs of pack rev(j) mod packs.
struct SlotOrder {
  SlotOrder(const SwitchParams& params, int slots);
  int position(int slot) const;  // rev
  std::uint32_t coefficient(int slot) const;
  int pack(int slot) const { return position(slot) % packs; }
  int leaf(int slot) const { return position(slot) / packs; }

  int slots, gap;     // gap = N / (2 slots)
  int packs, leaves;  // leaves per pack; packs * leaves = slots
};

// LWE ciphertexts of slots, under s' and modulo the first prime of the table ring. Pack by pack,
// leaf by leaf. The phase of a value x is x fill / (4 bound) of the modulus.
struct Samples {
  std::shared_ptr<const Context> context;
  tfhe::Context::Lwe lwe;
  rlwe::KeyId ckks_key;    // key of the ciphertext that they came from
  std::vector<int> index;  // the slot of each
  int slots = 0;           // number of slots that the ciphertext had
  double bound = 0;
};

class Extractor {
 public:
  // For real slots |x| <= bound. Throws ValueError, ShapeError.
  Extractor(std::shared_ptr<const Context> context, int slots, double bound, bool minimal_keys);

  // x may have any level from input_level() on. `which`: slots without repetition; empty for all.
  Samples extract(const ckks::Evaluator& evaluator, const SwitchKeys& keys,
                  const ckks::Ciphertext& x, std::span<const int> which = {}) const;
  int input_level() const { return to_coefficients_.input_level(); }
  double bound() const { return bound_; }
  std::size_t bytes() const { return to_coefficients_.bytes(); }

 private:
  std::shared_ptr<const Context> context_;
  SlotOrder order_;
  double bound_;
  ckks::bootstrap::SlotsToCoefficients to_coefficients_;
};

}  // namespace latticino::switching
