// The coefficients of secret keys, for both schemes. Server code does not include this file.
#pragma once

#include <cstdint>
#include <span>

#include "crypto/random_stream.h"
#include "crypto/secure_memory.h"
#include "rlwe/keys.h"
#include "rlwe/random.h"

namespace latticino::rlwe {

// Binary or ternary coefficients of a secret, in locked memory that is cleared on destruction. A
// process that was forked after they were made may not read them.
class SecretCoefficients {
 public:
  struct Shape {
    const char* operation;  // how messages call the secret, for example "dense"
    const char* secret;
    int length = 0;
    bool ternary = false;  // whether it is ternary; otherwise binary
    int weight = 0;        // number of coefficients that are not 0; 0: any number
  };

  SecretCoefficients() = default;
  SecretCoefficients(SecretCoefficients&&) = default;
  SecretCoefficients& operator=(SecretCoefficients&&) = default;
  // KeyError for coefficients of another shape. No branch and no address depends on one of them.
  SecretCoefficients(const Shape& shape, std::span<const std::int8_t> coefficients);
  bool empty() const { return coefficients_.empty(); }
  std::span<const std::int8_t> get(const char* operation) const;

 private:
  std::uint64_t process_ = crypto::fork_generation();
  crypto::LockedVector<std::int8_t> coefficients_;
};

// Draws the identity of a new secret.
KeyId fresh_key_id(Random& random);

}  // namespace latticino::rlwe
