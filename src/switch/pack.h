// LWE -> CKKS. The constant coefficients of rotated tables are the values. Automorphisms pack them
// into one ciphertext of the table ring (Chen, Dai, Kim, Song, eprint 2020/015), several of these
// become one of the CKKS ring, and half a bootstrapping leaves the values in slots.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "ckks/bootstrap/bootstrap.h"
#include "switch/extract.h"

namespace latticino::switching {

// One pack. Leaf i of `leaves` (a power of two up to N'/2) goes to coefficient i N' / (2 leaves) of
// the result. Coefficients N'/2 + that may hold anything; all others are 0. A missing leaf counts
// as 0.
class RingPacker {
 public:
  explicit RingPacker(std::shared_ptr<const Context> context, int leaves);

  using Pair = std::array<Poly, 2>;  // (b, a), in Eval, in the packing ring
  // `rotated`: a pair (b, a) for each leaf in `at`, in Coeff, in the TFHE ring. It is overwritten.
  Pair pack(const rlwe::EvaluationKeys& keys, const tfhe::Context::Polys& rotated,
            std::span<const int> at) const;

 private:
  struct Merge {
    std::uint32_t galois;
    Poly shift, minus_shift;  // X^(N' / (2 g)) and its negative, in Eval
  };
  using Nodes = std::vector<std::optional<Pair>>;
  Nodes leaves_of(const tfhe::Context::Polys& rotated, std::span<const int> at) const;
  Nodes merged(const rlwe::EvaluationKeys& keys, const Merge& merge, const Nodes& nodes) const;
  std::vector<Pair> turned(const rlwe::EvaluationKeys& keys, std::uint32_t galois,
                           const std::vector<Pair>& x) const;
  Poly monomial(int exponent, int sign) const;

  std::shared_ptr<const Context> context_;
  int leaves_;
  Poly one_;
  std::vector<Merge> merges_;
};

class Packer {
 public:
  // `options`: minimal keys and OverModRaise as in bootstrapping.
  Packer(std::shared_ptr<const Context> context, int slots, const ckks::BootstrapOptions& options);

  // The values of all packs times `largest`, in the slots: level output_level(), canonical scale.
  // Each pack needs at least one leaf. `key` identifies the CKKS secret.
  ckks::Ciphertext to_slots(const ckks::Evaluator& evaluator, const SwitchKeys& keys,
                            const std::vector<std::optional<RingPacker::Pair>>& packs,
                            double largest, const rlwe::KeyId& key) const;
  const SlotOrder& order() const { return order_; }
  const RingPacker& ring() const { return ring_; }
  int output_level() const { return half_.output_level(); }
  std::size_t bytes() const;

 private:
  std::shared_ptr<const Context> context_;
  SlotOrder order_;
  RingPacker ring_;
  std::vector<Poly> monomials_;  // X^(pack gap), in Eval, in the CKKS ring over ring_basis()
  ckks::Bootstrapper half_;
};

}  // namespace latticino::switching
