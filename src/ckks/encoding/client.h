// The key owner's side, for slots: encrypts batches of plaintexts and decrypts to slots. Like
// rlwe/client.h, no server code includes this file.
#pragma once

#include <span>
#include <vector>

#include "ckks/ciphertext.h"
#include "rlwe/client.h"

namespace latticino::ckks {

// All of them belong to one context. Plaintexts of one level are encrypted together.
std::vector<Ciphertext> encrypt(const rlwe::SecretKey& secret, std::span<const Plaintext> batch,
                                rlwe::Random& random);

// Slots of each ciphertext, for the owner of the key only (rlwe::decrypt says why). Coefficients
// are combined and transformed on the queue of the context, in secret blocks.
std::vector<std::vector<Complex>> decrypt(const rlwe::SecretKey& secret,
                                          std::span<const Ciphertext> batch);

// Slots with noise that hides the ciphertext's own (rlwe::Flooding), and its deviation and cost.
struct SharedSlots {
  std::vector<Complex> values;
  double sigma = 0, bits_lost = 0;
};
SharedSlots decrypt_for_sharing(const rlwe::SecretKey& secret, const Ciphertext& x,
                                const rlwe::Flooding& flooding, rlwe::Random& random);

}  // namespace latticino::ckks
