// What the clients of both schemes have in common: a context, a secret key and the key's file.
// Internal to src/wasm.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "wasm/schemes.h"

namespace latticino::wasm {

// `Scheme` has the types Params, Context, SecretKey and Holder (session/keys), the name kName, the
// kind of files kFiles, and read_secret.
template <class Scheme>
class SchemeClient : public Client {
 public:
  using ParamsPtr = std::shared_ptr<const typename Scheme::Params>;
  using SecretKey = typename Scheme::SecretKey;

  // If there is no `secret`, makes a new one.
  SchemeClient(const ParamsPtr& params, std::optional<SecretKey> secret)
      : SchemeClient(std::move(secret),
                     Scheme::Context::create(params, std::make_shared<Queue>(make_cpu_backend(
                                                         {.simd = false, .threads = 1})))) {}

  std::string scheme() const override { return Scheme::kName; }
  std::string key_id() const override { return own_.secret.id().str(); }

  void save_secret(io::Sink& sink, Bytes passphrase) override {
    const SealedKey key = SealedKey::fresh(passphrase);
    const io::SecretSeal seal = key.seal();
    io::save_secret_key(sink, own_.secret, &seal);
  }

 protected:
  const typename Scheme::Params& params() const { return own_.context->params(); }

  typename Scheme::Holder own_;

 private:
  SchemeClient(std::optional<SecretKey> secret,
               const std::shared_ptr<const typename Scheme::Context>& context)
      : own_(secret ? typename Scheme::Holder(context, std::move(*secret))
                    : typename Scheme::Holder(context)) {}
};

// Loads the secret key of a file, as Client::load does.
template <class Scheme>
typename Scheme::SecretKey secret_of_file(
    const std::shared_ptr<const typename Scheme::Params>& params, Bytes file, Bytes passphrase) {
  const auto key = SealedKey::of_file(file, Scheme::kFiles, passphrase);
  io::MemorySource source(file);
  return Scheme::read_secret(source, params, key ? Bytes(key->key()) : Bytes());
}

}  // namespace latticino::wasm
