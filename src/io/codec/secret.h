// Secret keys in files, of either scheme: one byte per coefficient, as they are (version 1) or
// sealed under a key that a passphrase gives (version 3). Internal to src/io.
//
// Metadata of version 3: KDF u32 (1: scrypt, RFC 7914) | log2 of its N u32 | r u32 | p u32 |
// salt 32. Payload: the coefficients under ChaCha20, then a check of 32 bytes (crypto/sealed.h),
// whose context is scheme u32 | params hash 32 | key id 16 | metadata.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "crypto/sealed.h"
#include "crypto/secure_memory.h"
#include "io/container.h"
#include "io/files.h"
#include "math/errors.h"

namespace latticino::io {

Encoder encode_kdf(const Scrypt& kdf);
Scrypt decode_kdf(Decoder& metadata);  // FileError for costs out of range
Encoder seal_context(const Header& header, const Scrypt& kdf);
[[noreturn]] void refuse_seal(bool sealed, bool key_given);

// The coefficients of both parts, one after the other. They are encrypted in place if there is a
// seal.
template <class SecretKey>
void write_secret(Sink& sink, Scheme scheme, const SecretKey& key,
                  std::span<std::uint8_t> coefficients, const SecretSeal* seal) {
  Header header;
  header.type = ObjectType::SecretKey;
  header.scheme = scheme;
  header.params_hash = hash_bytes(key.params().hash());
  header.key = key.id();
  header.payload_bytes = coefficients.size();
  if (seal == nullptr) {
    Writer writer(sink, header, Encoder());
    writer.payload(coefficients);
    writer.finish();
    return;
  }
  header.version = 3;
  header.payload_bytes += kDigestBytes;
  const auto check = crypto::seal(seal->key, seal_context(header, seal->kdf).bytes(), coefficients);
  Writer writer(sink, header, encode_kdf(seal->kdf));
  writer.payload(coefficients);
  writer.payload(check);
  writer.finish();
}

// The first part has `first` of `all` coefficients. `key` opens a seal; it is empty if there is
// none.
template <class SecretKey, class AnyParams>
SecretKey read_secret(Source& source, Scheme scheme, std::shared_ptr<const AnyParams> params,
                      std::size_t first, std::size_t all, std::span<const std::uint8_t> key) {
  Reader reader(source, ObjectType::SecretKey, scheme);
  reader.require_params(*params);
  Decoder metadata = reader.metadata();
  const bool sealed = reader.header().version >= 3;
  Scrypt kdf;
  if (sealed) kdf = decode_kdf(metadata);
  metadata.finish();
  reader.require_payload(all + (sealed ? kDigestBytes : 0));
  if (sealed != (key.size() == crypto::kSealKeyBytes)) refuse_seal(sealed, !key.empty());
  crypto::LockedVector<std::uint8_t> bytes(all);
  crypto::Sha256Digest check{};
  reader.payload(bytes);
  if (sealed) reader.payload(check);
  reader.finish();
  if (sealed && !crypto::open_sealed(key.first<crypto::kSealKeyBytes>(),
                                     seal_context(reader.header(), kdf).bytes(), bytes, check)) {
    throw KeyError("io.read", "a passphrase that does not open this file",
                   "the one it was saved with", "check the passphrase");
  }
  const std::span<const std::int8_t> values(reinterpret_cast<const std::int8_t*>(bytes.data()),
                                            bytes.size());
  const rlwe::KeyId id = reader.header().key;
  try {
    return SecretKey::restore(std::move(params), id, values.first(first), values.subspan(first));
  } catch (const KeyError& error) {
    refuse(error.what(), "a secret of these parameters");
  }
}

}  // namespace latticino::io
