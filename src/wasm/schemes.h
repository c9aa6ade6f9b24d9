// Functions that the clients of both schemes use. Internal to src/wasm.
#pragma once

#include <memory>
#include <optional>

#include "crypto/random_stream.h"
#include "crypto/scrypt.h"
#include "io/files.h"
#include "io/tfhe_files.h"
#include "wasm/client.h"

namespace latticino::wasm {

// The key that a passphrase makes for a file. Each file that is written has a new salt.
class SealedKey {
 public:
  static SealedKey fresh(Bytes passphrase);
  // None if the file has no seal. If there is a passphrase although the file has no seal: KeyError.
  static std::optional<SealedKey> of_file(Bytes file, io::Scheme scheme, Bytes passphrase);
  io::SecretSeal seal() const { return {kdf_, key()}; }
  crypto::SealKey key() const { return std::span(key_).first<crypto::kSealKeyBytes>(); }

 private:
  SealedKey(Bytes passphrase, const io::Scrypt& kdf);
  io::Scrypt kdf_;
  crypto::ClearingVector<std::uint8_t> key_;
};

// ShapeError unless the shape has so many values.
void require_shape(const Shape& shape, std::size_t size);

std::unique_ptr<Client> make_ckks_client(std::shared_ptr<const Params> params);
std::unique_ptr<Client> load_ckks_client(std::shared_ptr<const Params> params, Bytes file,
                                         Bytes passphrase);
std::unique_ptr<Client> make_tfhe_client(std::shared_ptr<const TfheParams> params);
std::unique_ptr<Client> load_tfhe_client(std::shared_ptr<const TfheParams> params, Bytes file,
                                         Bytes passphrase);

}  // namespace latticino::wasm
