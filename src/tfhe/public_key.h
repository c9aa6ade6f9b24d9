// Encryptions of zero that anyone can make. They re-randomise ciphertexts from outside. Then the
// sender cannot choose the masks before a table, and so has no influence on the rounding errors.
#pragma once

#include <array>
#include <cstdint>

#include "rlwe/random.h"
#include "tfhe/context.h"

namespace latticino::tfhe {

// (b, a_1 .. a_k), Eval: zero under the GLWE key, with the error of the bootstrapping key. The
// masks are ExpandUniform{seed, c - 1} for component c.
struct PublicKey {
  Context::Polys polys;
  std::array<std::uint8_t, 32> seed{};
};

PublicKey allocate_public_key(const Context& context);
void expand_masks(const Context& context, PublicKey& key);

// Deviation of the errors of such an encryption, modulo the ring's modulus, units of 1. The key's
// polynomials times one binary polynomial u are RLWE samples of dimension N, for which the curve
// asks for this much (k N of the secret key's where k = 1).
double public_sigma(const TfheParams& params);
// Variance of an encryption of zero, over that of a bootstrapped ciphertext:
// e u, e_0 and sum_c e_c s_c over the ring's modulus, and the rounding of its second prime.
double public_norm2(const Context& context);

// `count` ciphertexts at rest of 0. Those of N neighbours share one u: each has a uniform mask, and
// together they are one GLWE encryption. UnsupportedError in a recording.
Context::Lwe encrypt_zeros(const Context& context, const PublicKey& key, std::uint32_t count,
                           rlwe::Random& random);

}  // namespace latticino::tfhe
