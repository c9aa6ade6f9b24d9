#include "session/tfhe/owner.h"

#include "math/errors.h"

namespace latticino::session {

TfheOwner::TfheOwner(ContextPtr context) : own_(of_this_process(std::move(context))) {}

TfheOwner::TfheOwner(ContextPtr context, tfhe::SecretKey secret)
    : own_(of_this_process(std::move(context)), std::move(secret)) {}

const tfhe::SecretKey& TfheOwner::secret() const {
  process_.require("client");
  return own_.secret;
}

TfheBatches TfheOwner::encrypt(std::span<const std::uint64_t> values, int bits) {
  process_.require("encrypt");
  // Locked before the client's own lock, as everywhere.
  const auto queue = context()->queue().lock();
  const std::lock_guard lock(mutex_);
  return own_.encrypt(values, bits);
}

std::vector<std::uint64_t> TfheOwner::decrypt(const TfheBatches& x) const {
  process_.require("decrypt");
  for (const tfhe::Ciphertext& block : x) {
    if (block.context != context()) {
      throw ContextError("decrypt", "an object of another context", "this client's context",
                         "use the client that was made for that context");
    }
  }
  return decrypt_integers(own_.secret, {x});
}

std::shared_ptr<tfhe::ServerKeys> TfheOwner::server_keys(
    const std::function<void(int, int)>& progress, bool with_public) {
  process_.require("server_keys");
  const auto queue = context()->queue().lock();
  const std::lock_guard lock(mutex_);
  return own_.server_keys(progress, with_public);
}

}  // namespace latticino::session
