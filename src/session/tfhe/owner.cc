#include "session/tfhe/owner.h"

#include "math/errors.h"

namespace latticino::session {

TfheOwner::TfheOwner(ContextPtr context)
    : context_(of_this_process(std::move(context))),
      secret_(tfhe::SecretKey::generate(context_->shared_params(), random_)) {}

TfheOwner::TfheOwner(ContextPtr context, tfhe::SecretKey secret)
    : context_(of_this_process(std::move(context))), secret_(std::move(secret)) {}

const tfhe::SecretKey& TfheOwner::secret() const {
  process_.require("client");
  return secret_;
}

TfheBatches TfheOwner::encrypt(std::span<const std::uint64_t> values, int bits) {
  process_.require("encrypt");
  // Locked before the client's own lock, as everywhere.
  const auto queue = context_->queue().lock();
  const std::lock_guard lock(mutex_);
  if (bits > 0) return encrypt_integers(context_, secret_, values, bits, random_).blocks;
  TfheBatches out = {tfhe::encrypt(context_, secret_, as_messages(values),
                                   encoding_of(context_->params(), bits), random_)};
  if (bits == 0) out[0].largest = 1;
  return out;
}

std::vector<std::uint64_t> TfheOwner::decrypt(const TfheBatches& x) const {
  process_.require("decrypt");
  for (const tfhe::Ciphertext& block : x) {
    if (block.context != context_) {
      throw ContextError("decrypt", "an object of another context", "this client's context",
                         "use the client that was made for that context");
    }
  }
  return decrypt_integers(secret_, {x});
}

std::shared_ptr<tfhe::ServerKeys> TfheOwner::server_keys(
    const std::function<void(int, int)>& progress, bool with_public) {
  process_.require("server_keys");
  const auto queue = context_->queue().lock();
  const std::lock_guard lock(mutex_);
  auto keys = make_server_keys(*context_, secret_, random_, progress);
  if (with_public) {
    keys->public_key =
        std::make_shared<const tfhe::PublicKey>(make_public_key(*context_, secret_, random_));
  }
  return keys;
}

}  // namespace latticino::session
