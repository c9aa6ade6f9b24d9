// A secret key of TFHE with a source of randomness, on a context's device. Server code never
// includes this file.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "session/owner.h"
#include "session/tfhe/engine.h"
#include "tfhe/client.h"

namespace latticino::session {

// May be shared between threads of one process.
class TfheOwner {
 public:
  using ContextPtr = std::shared_ptr<const tfhe::Context>;
  explicit TfheOwner(ContextPtr context);
  TfheOwner(ContextPtr context, tfhe::SecretKey secret);

  const ContextPtr& context() const { return context_; }
  const tfhe::SecretKey& secret() const;
  std::string key_id() const { return secret_.id().str(); }

  // `bits` 0: single bits; below 0: full messages.
  TfheBatches encrypt(std::span<const std::uint64_t> values, int bits);
  // ContextError for batches of another context.
  std::vector<std::uint64_t> decrypt(const TfheBatches& x) const;
  std::shared_ptr<tfhe::ServerKeys> server_keys(const std::function<void(int, int)>& progress,
                                                bool with_public);

 private:
  OwnProcess process_;
  ContextPtr context_;
  rlwe::Random random_;
  tfhe::SecretKey secret_;
  std::mutex mutex_;
};

}  // namespace latticino::session
