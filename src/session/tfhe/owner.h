// The holder of a TFHE key (session/keys) for several threads, who refuses what is not its own.
// Server code never includes this file.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "session/keys/tfhe_key_holder.h"
#include "session/owner.h"
#include "session/tfhe/engine.h"

namespace latticino::session {

// May be shared between threads of one process.
class TfheOwner {
 public:
  using ContextPtr = std::shared_ptr<const tfhe::Context>;
  explicit TfheOwner(ContextPtr context);
  TfheOwner(ContextPtr context, tfhe::SecretKey secret);

  const ContextPtr& context() const { return own_.context; }
  const tfhe::SecretKey& secret() const;
  std::string key_id() const { return own_.secret.id().str(); }

  // `bits` 0: single bits; below 0: full messages.
  TfheBatches encrypt(std::span<const std::uint64_t> values, int bits);
  // ContextError for batches of another context.
  std::vector<std::uint64_t> decrypt(const TfheBatches& x) const;
  std::shared_ptr<tfhe::ServerKeys> server_keys(const std::function<void(int, int)>& progress,
                                                bool with_public);

 private:
  OwnProcess process_;
  TfheKeyHolder own_;
  std::mutex mutex_;
};

}  // namespace latticino::session
