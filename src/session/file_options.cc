#include "session/file_options.h"

#include "math/errors.h"

namespace latticino::session {

io::Signer signer_of(const FileSigner& sign) {
  if (!sign) return {};
  return [sign](io::Message message) {
    const FileSignature made = sign(message);
    return io::Signature{made.public_key, made.bytes};
  };
}

io::Verifier verifier_of(const FileVerifier& verify) {
  if (!verify) return {};
  return [verify](io::Message message, const std::optional<io::Signature>& signature) {
    std::optional<FileSignature> given;
    if (signature) given = FileSignature{signature->public_key, signature->bytes};
    verify(message, given);
  };
}

DerivedKey::DerivedKey(const DeriveKey& derive, const io::Scrypt& costs) {
  std::vector<std::uint8_t> made = derive({costs.log_n, costs.r, costs.p, costs.salt});
  bytes_.assign(made.begin(), made.end());
  crypto::secure_clear(made.data(), made.size());
  if (bytes_.size() != crypto::kSealKeyBytes) {
    throw ValueError("secret key", std::to_string(bytes_.size()) + " bytes of key", "64",
                     "derive it with scrypt");
  }
}

}  // namespace latticino::session
