// A party that holds a secret key: the key, the randomness of everything that it makes, and the
// context that it computes on. Server code never includes this file.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "math/errors.h"
#include "rlwe/keys.h"
#include "rlwe/random.h"

namespace latticino::session {

// For one thread. Owner and TfheOwner, which threads may share, hold one each.
template <class Context, class SecretKey>
struct KeyHolder {
  using ContextPtr = std::shared_ptr<const Context>;

  // Makes a new key. What must be the same in every run, as a test, takes its randomness from
  // rlwe::Random::insecure_from_seed.
  explicit KeyHolder(ContextPtr on, rlwe::Random source = {})
      : context(std::move(on)),
        random(std::move(source)),
        secret(SecretKey::generate(context->shared_params(), random)) {}
  KeyHolder(ContextPtr on, SecretKey key) : context(std::move(on)), secret(std::move(key)) {}

  // KeyError for objects under another key.
  void require_own(const rlwe::KeyId& key, const char* operation) const {
    if (key == secret.id()) return;
    throw KeyError(operation, "a ciphertext under key " + key.str(),
                   "one under this client's key " + secret.id().str(),
                   "decrypt it with the client that made its keys");
  }

  ContextPtr context;
  rlwe::Random random;
  SecretKey secret;
};

}  // namespace latticino::session
