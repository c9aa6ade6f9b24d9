// Generation of switching keys: needs both secrets. Server code never includes this file.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "ckks/ciphertext.h"
#include "rlwe/client.h"
#include "switch/keys.h"
#include "tfhe/client.h"

namespace latticino::switching {

// A secret of switching: that of TFHE, whose GLWE key is the table ring's. Drawn independently of
// the CKKS secret.
tfhe::SecretKey generate_secret(const SwitchParams& params, rlwe::Random& random);

// Encrypts each secret under the next one: s -> s' -> t -> s' -> sparse s (which CKKS switches to
// s); and, for the products of `shapes`, s' under s. The keys form a cycle. Its security is an
// assumption, as for every bootstrapping.
std::shared_ptr<SwitchKeys> make_switch_keys(const Context& context, const rlwe::SecretKey& ckks,
                                             const tfhe::SecretKey& secret, rlwe::Random& random,
                                             std::span<const MatvecShape> shapes = {});

// The key of one more product, for SwitchKeys::matvec.
MatvecKey make_matvec_key(const Context& context, const rlwe::SecretKey& ckks,
                          const tfhe::SecretKey& secret, const MatvecShape& shape,
                          rlwe::Random& random);

// For SwitchOptions::shadow: decrypts and throws ValueError that names the first slot that is
// beyond the bound. The secret must outlive it.
std::function<void(const ckks::Ciphertext&, std::span<const int>)> shadow_check(
    const rlwe::SecretKey& secret, double bound);

}  // namespace latticino::switching
