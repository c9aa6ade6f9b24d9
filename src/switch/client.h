// Generation of switching keys, which needs both secrets. Server code never includes this file.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "ckks/ciphertext.h"
#include "rlwe/client.h"
#include "switch/keys.h"
#include "tfhe/client.h"

namespace latticino::switching {

// A secret of switching, drawn independently of the CKKS secret. It is a secret of TFHE: its LWE
// key encrypts the numbers that tables look up, and its GLWE key is that of the ring of tables.
tfhe::SecretKey generate_secret(const SwitchParams& params, rlwe::Random& random);

// The keys that change the secret of a number on its way from CKKS to TFHE and back. Call s the
// CKKS secret, s' the GLWE key of `secret` and t its LWE key. The keys change s to s', s' to t, t
// to s' by a table lookup, and s' to the sparse secret of bootstrapping. CKKS has its own key from
// there to s. The products of `shapes` also need s' encrypted under s. So each secret is encrypted
// under another one, and these encryptions form a circle. Circular security is an assumption here,
// as in every bootstrapping.
std::shared_ptr<SwitchKeys> make_switch_keys(const Context& context, const rlwe::SecretKey& ckks,
                                             const tfhe::SecretKey& secret, rlwe::Random& random,
                                             std::span<const MatvecShape> shapes = {});

// The key of one more product, for SwitchKeys::matvec.
MatvecKey make_matvec_key(const Context& context, const rlwe::SecretKey& ckks,
                          const tfhe::SecretKey& secret, const MatvecShape& shape,
                          rlwe::Random& random);

// For SwitchOptions::shadow: decrypts, and throws a ValueError that names the first slot beyond the
// bound. The secret must outlive it.
std::function<void(const ckks::Ciphertext&, std::span<const int>)> shadow_check(
    const rlwe::SecretKey& secret, double bound);

}  // namespace latticino::switching
