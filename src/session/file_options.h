// Translates the options of the public file functions into those of src/io.
#pragma once

#include <vector>

#include "crypto/secure_memory.h"
#include "io/files.h"
#include "io/secret_stream.h"
#include "latticino/files.h"
#include "math/errors.h"
#include "rlwe/random.h"

namespace latticino::session {

io::Signer signer_of(const FileSigner& sign);
io::Verifier verifier_of(const FileVerifier& verify);

template <class Body>
void write_signed(const std::string& path, const FileSigner& sign, const Body& body) {
  io::write_file(path, [&](io::Sink& sink) {
    sink.signer = signer_of(sign);
    body(sink);
  });
}
class VerifiedFile : public io::FileSource {
 public:
  VerifiedFile(const std::string& path, const FileVerifier& verify) : FileSource(path) {
    verifier = verifier_of(verify);
  }
};

// A key that `derive` has made. It is cleared at the end. ValueError if it has another length.
class DerivedKey {
 public:
  DerivedKey(const DeriveKey& derive, const io::Scrypt& costs);
  crypto::SealKey key() const { return crypto::SealKey(bytes_.data(), crypto::kSealKeyBytes); }

 private:
  crypto::LockedVector<std::uint8_t> bytes_;
};

// Saves with a new salt, or unsealed if there is no `derive`.
template <class SecretKey>
void save_secret(const std::string& path, const SecretKey& secret, const DeriveKey& derive) {
  if (!derive) return io::save_secret_key(path, secret);
  io::Scrypt costs;
  rlwe::Random random;
  costs.salt = random.seed();
  const DerivedKey key(derive, costs);
  const io::SecretSeal seal{costs, key.key()};
  io::save_secret_key(path, secret, &seal);
}

// `load` reads the secret key from a source, with what opens the seal.
template <class Load>
auto load_secret(const std::string& path, io::Scheme scheme, const DeriveKey& derive, Load load) {
  std::optional<io::Scrypt> costs;
  {
    io::SecretFileSource source(path);
    costs = io::secret_key_seal(source, scheme);
  }
  io::SecretFileSource source(path);
  if (!derive) return load(source, std::span<const std::uint8_t>());
  if (!costs) {
    throw KeyError("load_client", "a passphrase for a secret key that is not encrypted", "none",
                   "load it without one, and save it again with one");
  }
  const DerivedKey key(derive, *costs);
  return load(source, std::span<const std::uint8_t>(key.key()));
}

}  // namespace latticino::session
