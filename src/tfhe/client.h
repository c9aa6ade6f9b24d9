// Code that uses a TFHE secret: generation, encryption, decryption. Server code never includes this
// file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "rlwe/random.h"
#include "tfhe/ciphertext.h"
#include "tfhe/integers.h"
#include "tfhe/server_keys.h"

namespace latticino::tfhe {

// Both keys of a set: `lwe` (n coefficients, binary or ternary) is the key of blind rotations,
// `glwe` (k polynomials, binary) encrypts ciphertexts at rest. Locked memory, cleared at the end.
class SecretKey {
 public:
  static SecretKey generate(std::shared_ptr<const TfheParams> params, rlwe::Random& random);
  // From a file: checks lengths and ranges (KeyError).
  static SecretKey restore(std::shared_ptr<const TfheParams> params, const rlwe::KeyId& id,
                           std::span<const std::int8_t> lwe, std::span<const std::int8_t> glwe);
  ~SecretKey();
  SecretKey(SecretKey&&) noexcept;
  SecretKey& operator=(SecretKey&&) noexcept;
  const rlwe::KeyId& id() const;
  const TfheParams& params() const;
  std::span<const std::int8_t> lwe() const;
  std::span<const std::int8_t> glwe() const;

 private:
  struct Data;
  explicit SecretKey(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// Keys for a server, generated on the queue of the context. `progress`, if given, is called with
// the number of steps of the blind rotation that have their keys, and of all steps.
std::shared_ptr<ServerKeys> make_server_keys(
    const Context& context, const SecretKey& secret, rlwe::Random& random,
    const std::function<void(int done, int steps)>& progress = {});

// A key for the server too, with which it re-randomises ciphertexts.
PublicKey make_public_key(const Context& context, const SecretKey& secret, rlwe::Random& random);

Ciphertext encrypt(const std::shared_ptr<const Context>& context, const SecretKey& secret,
                   std::span<const std::uint32_t> messages, Encoding encoding,
                   rlwe::Random& random);
std::vector<std::uint32_t> decrypt(const SecretKey& secret, const Ciphertext& x);

// Integers of `bits` bits in blocks (tfhe/integers.h).
Integer encrypt_integers(const std::shared_ptr<const Context>& context, const SecretKey& secret,
                         std::span<const std::uint64_t> values, int bits, rlwe::Random& random);
std::vector<std::uint64_t> decrypt_integers(const SecretKey& secret, const Integer& x);

// Phases modulo q, of ciphertexts at rest or (dimension n) of switched ones: for the owner of the
// key only, and for measurements of noise.
std::vector<std::uint32_t> phases(const Context& context, const SecretKey& secret,
                                  const LweView& x);
// (phase - residue of the message that it decodes to) / q, for every ciphertext.
std::vector<double> errors(const SecretKey& secret, const Ciphertext& x);
// The error that key switch and modulus switch add to each ciphertext before a table, in units of
// the torus.
std::vector<double> switch_errors(const SecretKey& secret, const ServerKeys& keys,
                                  const Ciphertext& x);

}  // namespace latticino::tfhe
