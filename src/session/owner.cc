#include "session/owner.h"

#include "math/errors.h"
#include "switch/client.h"

namespace latticino::session {

void OwnProcess::require(const char* operation) const {
  if (crypto::fork_generation() == made_in_) return;
  throw ContextError(operation, "a client in a process forked from the one that made it",
                     "a client of this process",
                     "load the secret key in the child, or decrypt in the parent");
}

Owner::Owner(ContextPtr context)
    : context_(of_this_process(std::move(context))),
      secret_(rlwe::SecretKey::generate(context_->shared_params(), random_)) {}

Owner::Owner(ContextPtr context, rlwe::SecretKey secret)
    : context_(of_this_process(std::move(context))), secret_(std::move(secret)) {}

const rlwe::SecretKey& Owner::secret() const {
  process_.require("client");
  return secret_;
}

Owner::Hold::Hold(Owner& owner)
    : queue_((owner.process_.require("client"), owner.context_->queue().lock())),
      owner_(owner.mutex_) {}

std::vector<ckks::Ciphertext> Owner::encrypt(std::span<const ckks::Plaintext> batch) {
  process_.require("encrypt");
  for (const ckks::Plaintext& x : batch) check(x.context, "encrypt");
  const Hold hold(*this);
  return ckks::encrypt(secret_, batch, random_);
}

std::vector<std::vector<ckks::Complex>> Owner::decrypt(
    std::span<const ckks::Ciphertext> batch) const {
  process_.require("decrypt");
  for (const ckks::Ciphertext& x : batch) check_own(x, "decrypt");
  return ckks::decrypt(secret_, batch);
}

ckks::SharedSlots Owner::decrypt_for_sharing(const ckks::Ciphertext& x,
                                             const rlwe::Flooding& flooding) {
  process_.require("decrypt_for_sharing");
  check_own(x, "decrypt_for_sharing");
  const Hold hold(*this);
  return ckks::decrypt_for_sharing(secret_, x, flooding, random_);
}

std::shared_ptr<rlwe::PublicKey> Owner::public_key() {
  const Hold hold(*this);
  return std::make_shared<rlwe::PublicKey>(
      rlwe::make_public_key(context_->constants(), context_->queue(), secret_, random_));
}

std::shared_ptr<switching::SwitchKeys> Owner::switch_keys(
    const std::shared_ptr<const switching::Context>& to,
    std::span<const switching::MatvecShape> shapes) {
  check(to->ckks(), "switch_keys");
  const Hold hold(*this);
  const tfhe::SecretKey between = switching::generate_secret(to->params(), random_);
  return switching::make_switch_keys(*to, secret_, between, random_, shapes);
}

void Owner::check_own(const ckks::Ciphertext& x, const char* operation) const {
  check(x.context, operation);
  if (x.key != secret_.id()) {
    throw KeyError(operation, "a ciphertext under key " + x.key.str(),
                   "one under this client's key " + secret_.id().str(),
                   "decrypt it with the client that made its keys");
  }
}

void Owner::check(const ContextPtr& other, const char* operation) const {
  if (other != context_) {
    throw ContextError(operation, "an object of another context", "this client's context",
                       "use the client that was made for that context");
  }
}

KeyMaker::KeyMaker(Owner& owner)
    : owner_(owner),
      generator_(owner.context_->constants(), owner.context_->queue(), owner.secret_,
                 owner.random_),
      keys_(std::make_shared<rlwe::EvaluationKeys>(owner.secret_.id(),
                                                   owner.context_->params().hash())) {}

void KeyMaker::make(const rlwe::KeyLabel& label, int level) {
  const Owner::Hold hold(owner_);
  keys_->insert(generator_.make(label, level));
}

ckks::Ciphertext encrypt_public(const rlwe::PublicKey& key, const ckks::Plaintext& x) {
  const ckks::Context& context = *x.context;
  if (key.params_hash != context.params().hash()) {
    throw ContextError("encrypt", "a public key of other parameters", "one of this context's",
                       "use the bundle that was made for this context");
  }
  rlwe::Random random;
  auto pair =
      rlwe::encrypt_public(context.constants(), context.queue(), key, x.poly.view, x.level, random);
  ckks::Ciphertext out{x.context, {}, x.level, x.scale, x.slots, key.id};
  for (Poly& part : pair.parts) out.parts.push_back(std::move(part));
  return out;
}

}  // namespace latticino::session
