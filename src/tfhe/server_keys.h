// The keys that a server needs to bootstrap. Nothing here can decrypt (tfhe/client.h has the
// secret).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rlwe/keys.h"
#include "tfhe/context.h"
#include "tfhe/public_key.h"

namespace latticino::tfhe {

struct ServerKeys {
  rlwe::KeyId id;
  std::string params_hash;
  // Selectors of the LWE key's bits under the GLWE key, in the order of BlindRotate. The masks are
  // ExpandUniform{seed, stream} with stream = (row of all rows) k + (c - 1) for component c
  // (bootstrap_masks).
  Context::Polys bootstrap;
  std::array<std::uint8_t, 32> bootstrap_seed{};
  // The GLWE key's coefficients under the LWE key: rows of LweKeySwitch. The mask of row r is the
  // first n entries of the expansion (seed, stream r) of the ring's first prime.
  Context::Lwe key_switch;
  std::array<std::uint8_t, 32> key_switch_seed{};

  std::shared_ptr<const PublicKey> public_key;  // may be null

  std::size_t bytes() const {
    return bootstrap.buffer->bytes() + key_switch.buffer->bytes() +
           (public_key == nullptr ? 0 : public_key->polys.buffer->bytes());
  }
  // Includes `fourier` if the context's arithmetic takes it.
  std::size_t device_bytes(const Context& context) const;

  // `bootstrap` through FourierKey: made at the first blind rotation in FP64.
  mutable Buffer fourier;
};

// Keys of the right shape without data, for dry contexts.
std::shared_ptr<ServerKeys> allocate_server_keys(const Context& context, const rlwe::KeyId& id);
// The state after a first bootstrapping. It has `fourier` if the context's arithmetic needs it, so
// a program does not count it as its own memory.
std::shared_ptr<ServerKeys> allocate_used_server_keys(const Context& context);

// Masks of `rows` rows of the bootstrapping key from row `first` on, of all rows in the key's
// order.
ExpandUniform bootstrap_masks(const ServerKeys& keys, int glwe_dimension, std::uint32_t first,
                              std::uint32_t rows);

// A blind rotation without items, in the shape that a set needs. The second form also has the keys,
// and the arithmetic that the context uses for `count` ciphertexts.
BlindRotate blind_rotation(const TfheParams& params);
BlindRotate blind_rotation(const Context& context, const ServerKeys& keys, std::uint32_t count = 1);

// Rotates `table` by each of the next `count` phases of a batch. The results have (k + 1)
// polynomials each, in Coeff.
struct Rotation {
  std::uint32_t count;
  PolyView table;
  PolyArray out;
};
// The exponents for blind rotations, from ciphertexts between operations, by key switch and modulus
// switch. 2^log_many neighbouring positions stay free for several tables.
Context::Lwe exponents_of(const Context& context, const ServerKeys& keys, const LweView& lwe,
                          int log_many = 0);
// Key switch, modulus switch and blind rotation of ciphertexts; 2^log_many neighbouring positions
// stay free for several tables.
void rotate(const Context& context, const ServerKeys& keys, const LweView& lwe,
            std::span<const Rotation> rotations, int log_many);

}  // namespace latticino::tfhe
