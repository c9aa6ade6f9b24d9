// What the holder of a CKKS key makes and reads. Server code never includes this file.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ckks/ciphertext.h"
#include "rlwe/client.h"
#include "session/keys/key_holder.h"

namespace latticino::session {

struct CkksKeyHolder : KeyHolder<ckks::Context, rlwe::SecretKey> {
  using KeyHolder::KeyHolder;

  std::vector<ckks::Ciphertext> encrypt(std::span<const ckks::Plaintext> batch);
  ckks::Ciphertext encrypt(const std::vector<ckks::Complex>& slots, int level, double scale);
  // The slots, or the coefficients in units of the scale. Neither checks whose ciphertext x is.
  std::vector<ckks::Complex> decrypt(const ckks::Ciphertext& x) const;
  std::vector<double> coefficients(const ckks::Ciphertext& x) const;

  rlwe::KeyGenerator generator();
  // Exactly the keys that a program asks for (DryRun::request).
  std::shared_ptr<rlwe::EvaluationKeys> keys(const rlwe::KeyRequest& request);
  rlwe::PublicKey public_key();
};

// Encodes rows of slots, all of one size, and encrypts them with what `encrypt` uses: a secret key
// or a public one. It takes 16 rows at a time, which limits memory.
std::vector<ckks::Ciphertext> encrypt_rows(
    const std::shared_ptr<const ckks::Context>& context,
    std::span<const std::vector<ckks::Complex>> rows, int level, double scale,
    const std::function<std::vector<ckks::Ciphertext>(std::span<const ckks::Plaintext>)>& encrypt);

}  // namespace latticino::session
