// The holder of a CKKS key (session/keys) for several threads, who refuses what is not its own.
// Server code never includes this file.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ckks/encoding/client.h"
#include "crypto/random_stream.h"
#include "session/keys/ckks_key_holder.h"
#include "switch/keys.h"

namespace latticino::session {

// The process that made a secret key. Children do not inherit its memory.
class OwnProcess {
 public:
  void require(const char* operation) const;  // ContextError in another process

 private:
  std::uint64_t made_in_ = crypto::fork_generation();
};

// The context that a client is made for. DeviceError in a process forked from the one that made it.
template <class ContextPtr>
ContextPtr of_this_process(ContextPtr context) {
  context->queue().require_own_process("client");
  return context;
}

// May be shared between threads of one process.
class Owner {
 public:
  using ContextPtr = std::shared_ptr<const ckks::Context>;
  explicit Owner(ContextPtr context);
  Owner(ContextPtr context, rlwe::SecretKey secret);

  const ContextPtr& context() const { return own_.context; }
  const rlwe::SecretKey& secret() const;
  std::string key_id() const { return own_.secret.id().str(); }

  std::vector<ckks::Ciphertext> encrypt(std::span<const ckks::Plaintext> batch);
  std::vector<std::vector<ckks::Complex>> decrypt(std::span<const ckks::Ciphertext> batch) const;
  ckks::SharedSlots decrypt_for_sharing(const ckks::Ciphertext& x, const rlwe::Flooding& flooding);
  std::shared_ptr<rlwe::PublicKey> public_key();
  // The secret that links both schemes is used only here, and is cleared at the end of the call.
  std::shared_ptr<switching::SwitchKeys> switch_keys(
      const std::shared_ptr<const switching::Context>& to,
      std::span<const switching::MatvecShape> shapes);

 private:
  friend class KeyMaker;
  // Lock order: the queue before the client. A recorded function holds the queue while it encrypts.
  class Hold {
   public:
    explicit Hold(Owner& owner);

   private:
    std::unique_lock<std::recursive_mutex> queue_;
    std::lock_guard<std::mutex> owner_;
  };
  void check_own(const ckks::Ciphertext& x, const char* operation) const;
  void check(const ContextPtr& other, const char* operation) const;

  OwnProcess process_;
  CkksKeyHolder own_;
  std::mutex mutex_;
};

// Fills a bundle one key at a time, so that a caller can show progress. The owner must outlive it.
class KeyMaker {
 public:
  explicit KeyMaker(Owner& owner);
  void make(const rlwe::KeyLabel& label, int level);
  std::shared_ptr<rlwe::EvaluationKeys> keys() const { return keys_; }

 private:
  Owner& owner_;
  rlwe::KeyGenerator generator_;
  std::shared_ptr<rlwe::EvaluationKeys> keys_;
};

// Encrypts with a public key. ContextError if it belongs to other parameters.
ckks::Ciphertext encrypt_public(const rlwe::PublicKey& key, const ckks::Plaintext& x);

}  // namespace latticino::session
