// The Python client: the one class here that holds a secret.
#pragma once

#include <mutex>

#include "bindings.h"
#include "ckks/client.h"
#include "crypto/random_stream.h"
#include "math/errors.h"
#include "rlwe/client.h"
#include "switch/client.h"

namespace latticino::python {

// The process that made a secret key. Children do not inherit its memory.
class OwnProcess {
 public:
  void require(const char* operation) const {
    if (crypto::fork_generation() == made_in_) return;
    throw ContextError(operation, "a client in a process forked from the one that made it",
                       "a client of this process",
                       "load the secret key in the child, or decrypt in the parent");
  }

 private:
  std::uint64_t made_in_ = crypto::fork_generation();
};

// A secret key with a source of randomness, on a context's device. Safe to share between threads.
class Client {
 public:
  explicit Client(ContextPtr context)
      : context_(std::move(context)),
        secret_(rlwe::SecretKey::generate(context_->shared_params(), random_)) {}
  Client(ContextPtr context, rlwe::SecretKey secret)
      : context_(std::move(context)), secret_(std::move(secret)) {}

  const rlwe::SecretKey& secret() const {
    process_.require("client");
    return secret_;
  }

  std::string key_id() const { return secret_.id().str(); }

  std::vector<ckks::Ciphertext> encrypt(const std::vector<ckks::Plaintext>& batch) {
    process_.require("encrypt");
    for (const ckks::Plaintext& x : batch) check(x.context, "encrypt");
    const Hold hold(*this);
    return ckks::encrypt(secret_, batch, random_);
  }

  std::vector<std::vector<ckks::Complex>> decrypt(const std::vector<ckks::Ciphertext>& batch) const {
    process_.require("decrypt");
    for (const ckks::Ciphertext& x : batch) check_own(x, "decrypt");
    return ckks::decrypt(secret_, batch);
  }

  ckks::SharedSlots decrypt_for_sharing(const ckks::Ciphertext& x, const rlwe::Flooding& flooding) {
    process_.require("decrypt_for_sharing");
    check_own(x, "decrypt_for_sharing");
    const Hold hold(*this);
    return ckks::decrypt_for_sharing(secret_, x, flooding, random_);
  }

  std::shared_ptr<rlwe::PublicKey> public_key() {
    const Hold hold(*this);
    return std::make_shared<rlwe::PublicKey>(
        rlwe::make_public_key(context_->constants(), context_->queue(), secret_, random_));
  }

  // Its own secret is needed for nothing else and goes with this call.
  std::shared_ptr<switching::SwitchKeys> switch_keys(
      const std::shared_ptr<const switching::Context>& to,
      const std::vector<switching::MatvecShape>& shapes) {
    check(to->ckks(), "switch_keys");
    const Hold hold(*this);
    const tfhe::SecretKey between = switching::generate_secret(to->params(), random_);
    return switching::make_switch_keys(*to, secret_, between, random_, shapes);
  }

 private:
  friend class KeyMaker;

  // The queue's mutex comes first: recorded bodies hold it while they encrypt.
  class Hold {
   public:
    explicit Hold(Client& client)
        : own_((client.process_.require("client"), true)), queue_(client.context_->queue().lock()), client_(client.mutex_) {}

   private:
    bool own_;
    std::unique_lock<std::recursive_mutex> queue_;
    std::lock_guard<std::mutex> client_;
  };

  void check_own(const ckks::Ciphertext& x, const char* operation) const {
    check(x.context, operation);
    if (x.key != secret_.id()) {
      throw KeyError(operation, "a ciphertext under key " + x.key.str(),
                     "one under this client's key " + secret_.id().str(),
                     "decrypt it with the client that made its keys");
    }
  }

  void check(const ContextPtr& other, const char* operation) const {
    if (other != context_) {
      throw ContextError(operation, "an object of another context", "this client's context",
                         "use the client that was made for that context");
    }
  }

  OwnProcess process_;
  ContextPtr context_;
  rlwe::Random random_;
  rlwe::SecretKey secret_;
  std::mutex mutex_;
};

// Fills one bundle, key by key, so that a caller can show how far it is.
class KeyMaker {
 public:
  explicit KeyMaker(Client& client)
      : client_(client),
        generator_(client.context_->constants(), client.context_->queue(), client.secret_,
                   client.random_),
        keys_(std::make_shared<rlwe::EvaluationKeys>(client.secret_.id(),
                                                     client.context_->params().hash())) {}

  void make(const rlwe::KeyLabel& label, int level) {
    const Client::Hold hold(client_);
    keys_->insert(generator_.make(label, level));
  }
  std::shared_ptr<rlwe::EvaluationKeys> keys() const { return keys_; }

 private:
  Client& client_;
  rlwe::KeyGenerator generator_;
  std::shared_ptr<rlwe::EvaluationKeys> keys_;
};

}  // namespace latticino::python
