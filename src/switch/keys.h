// The keys that a server needs to switch, in addition to CKKS keys. Nothing here decrypts.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rlwe/evaluation_keys.h"
#include "switch/context.h"
#include "tfhe/server_keys.h"

namespace latticino::switching {

// How the product of route Matvec (switch/matvec.h) is laid out: `rows` values, a power of two, and
// slots >= rows, so that slots / rows blocks of columns lie side by side.
struct MatvecShape {
  int rows = 0, slots = 0;
  auto operator<=>(const MatvecShape&) const = default;
  // The number of plaintext products, and of ciphertexts of the key. Throws ShapeError for an
  // impossible shape.
  int diagonals(const SwitchParams& params) const;
};

// s' - 1/2 in the slots of fresh ciphertexts under s, in the order in which LweSlots arranges
// masks, with the level and scale of MatvecPlan.
struct MatvecKey {
  std::vector<rlwe::OneDigitKey> diagonals;
  std::size_t bytes() const;
};

// s: the CKKS secret. s': the secret of the table ring, a GLWE secret of TFHE, also seen as
// s'(X^gap) in the CKKS ring. t: the LWE secret of n coefficients.
struct SwitchKeys {
  rlwe::KeyId ckks_id;  // the CKKS secret at the start and at the end
  std::string params_hash;
  rlwe::OneDigitKey to_ring;    // s under s'(X^gap), over lwe_basis() and key_aux()
  rlwe::OneDigitKey to_sparse;  // s'(X^gap) under the sparse CKKS secret, like DenseToSparse
  std::shared_ptr<const tfhe::ServerKeys> tfhe;         // t under s', s' under t
  std::shared_ptr<const rlwe::EvaluationKeys> packing;  // automorphisms of the table ring
  std::map<MatvecShape, MatvecKey> matvec;  // one for each shape that programs have asked for
  std::size_t bytes() const;
};

// Automorphisms of packing: 2^i + 1 for i = 2 .. log2(N').
std::vector<std::uint32_t> packing_elements(const SwitchParams& params);

// Keys of the right shape without data, for dry contexts.
std::shared_ptr<SwitchKeys> allocate_switch_keys(const Context& context,
                                                 std::span<const MatvecShape> shapes = {});
MatvecKey allocate_matvec_key(const Context& context, const MatvecShape& shape);

}  // namespace latticino::switching
