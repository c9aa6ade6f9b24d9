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

Owner::Owner(ContextPtr context) : own_(of_this_process(std::move(context))) {}

Owner::Owner(ContextPtr context, rlwe::SecretKey secret)
    : own_(of_this_process(std::move(context)), std::move(secret)) {}

const rlwe::SecretKey& Owner::secret() const {
  process_.require("client");
  return own_.secret;
}

Owner::Hold::Hold(Owner& owner)
    : queue_((owner.process_.require("client"), owner.context()->queue().lock())),
      owner_(owner.mutex_) {}

std::vector<ckks::Ciphertext> Owner::encrypt(std::span<const ckks::Plaintext> batch) {
  process_.require("encrypt");
  for (const ckks::Plaintext& x : batch) check(x.context, "encrypt");
  const Hold hold(*this);
  return own_.encrypt(batch);
}

std::vector<std::vector<ckks::Complex>> Owner::decrypt(
    std::span<const ckks::Ciphertext> batch) const {
  process_.require("decrypt");
  for (const ckks::Ciphertext& x : batch) check_own(x, "decrypt");
  return ckks::decrypt(own_.secret, batch);
}

ckks::SharedSlots Owner::decrypt_for_sharing(const ckks::Ciphertext& x,
                                             const rlwe::Flooding& flooding) {
  process_.require("decrypt_for_sharing");
  check_own(x, "decrypt_for_sharing");
  const Hold hold(*this);
  return ckks::decrypt_for_sharing(own_.secret, x, flooding, own_.random);
}

std::shared_ptr<rlwe::PublicKey> Owner::public_key() {
  const Hold hold(*this);
  return std::make_shared<rlwe::PublicKey>(own_.public_key());
}

std::shared_ptr<switching::SwitchKeys> Owner::switch_keys(
    const std::shared_ptr<const switching::Context>& to,
    std::span<const switching::MatvecShape> shapes) {
  check(to->ckks(), "switch_keys");
  const Hold hold(*this);
  const tfhe::SecretKey between = switching::generate_secret(to->params(), own_.random);
  return switching::make_switch_keys(*to, own_.secret, between, own_.random, shapes);
}

void Owner::check_own(const ckks::Ciphertext& x, const char* operation) const {
  check(x.context, operation);
  own_.require_own(x.key, operation);
}

void Owner::check(const ContextPtr& other, const char* operation) const {
  if (other != context()) {
    throw ContextError(operation, "an object of another context", "this client's context",
                       "use the client that was made for that context");
  }
}

KeyMaker::KeyMaker(Owner& owner)
    : owner_(owner),
      generator_(owner.own_.generator()),
      keys_(std::make_shared<rlwe::EvaluationKeys>(owner.own_.secret.id(),
                                                   owner.context()->params().hash())) {}

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
