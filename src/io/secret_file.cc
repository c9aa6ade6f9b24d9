#include <algorithm>

#include "crypto/secure_memory.h"
#include "io/codec/secret.h"
#include "io/files.h"
#include "io/secret_stream.h"

namespace latticino::io {
namespace {

constexpr std::uint32_t kScrypt = 1;  // kind of the key derivation

// One byte per coefficient: dense secret, then the sparse one where the parameters bootstrap.
std::size_t coefficients_of(const Params& params) {
  return static_cast<std::size_t>(params.n()) * (params.bootstrap() ? 2 : 1);
}

}  // namespace

Encoder encode_kdf(const Scrypt& kdf) {
  Encoder e;
  e.u32(kScrypt);
  e.u32(kdf.log_n);
  e.u32(kdf.r);
  e.u32(kdf.p);
  e.raw(kdf.salt);
  return e;
}

Scrypt decode_kdf(Decoder& metadata) {
  const std::uint32_t kind = metadata.u32();
  Scrypt kdf{metadata.u32(), metadata.u32(), metadata.u32(), {}};
  metadata.raw(kdf.salt);
  // scrypt takes 128 r 2^log_n bytes. More than 1 GiB is refused, whatever a file says.
  const bool bounded = kdf.log_n >= 10 && kdf.log_n <= 20 && kdf.r >= 1 && kdf.r <= 64 &&
                       kdf.p >= 1 && kdf.p <= 16 && kdf.r << kdf.log_n <= 1u << 23;
  if (kind != kScrypt || !bounded) {
    refuse("key derivation " + std::to_string(kind) + " with costs 2^" + std::to_string(kdf.log_n) +
               ", " + std::to_string(kdf.r) + ", " + std::to_string(kdf.p),
           "scrypt with at most 1 GiB");
  }
  return kdf;
}

Encoder seal_context(const Header& header, const Scrypt& kdf) {
  Encoder e;
  e.u32(static_cast<std::uint32_t>(header.scheme));
  e.raw(header.params_hash);
  e.raw(header.key.bytes);
  e.raw(encode_kdf(kdf).bytes());
  return e;
}

void refuse_seal(bool sealed, bool key_given) {
  if (sealed) {
    throw KeyError("io.read", key_given ? "a key of another length" : "no passphrase",
                   "the one that this secret key was saved with",
                   "pass it: passphrase= in Python, derive in C++");
  }
  throw KeyError("io.read", "a passphrase for a secret key that is not encrypted", "none",
                 "load it without a passphrase, and save it again with one");
}

std::optional<Scrypt> secret_key_seal(Source& source, Scheme scheme) {
  const Reader reader(source, ObjectType::SecretKey, scheme);
  if (reader.header().version < 3) return std::nullopt;
  Decoder metadata = reader.metadata();
  return decode_kdf(metadata);
}

void save_secret_key(Sink& sink, const rlwe::SecretKey& key, const SecretSeal* seal) {
  const Params& params = key.params();
  crypto::LockedVector<std::uint8_t> bytes(coefficients_of(params));
  std::copy(key.coefficients().begin(), key.coefficients().end(), bytes.begin());
  if (params.bootstrap()) {
    const auto sparse = key.sparse_coefficients();
    std::copy(sparse.begin(), sparse.end(), bytes.begin() + params.n());
  }
  write_secret(sink, Scheme::Ckks, key, bytes, seal);
}

void save_secret_key(const std::string& path, const rlwe::SecretKey& key, const SecretSeal* seal) {
  write_secret_file(path, [&](Sink& sink) { save_secret_key(sink, key, seal); });
}

rlwe::SecretKey load_secret_key(Source& source, std::shared_ptr<const Params> params,
                                std::span<const std::uint8_t> key) {
  const auto n = static_cast<std::size_t>(params->n());
  const std::size_t all = coefficients_of(*params);
  return read_secret<rlwe::SecretKey>(source, Scheme::Ckks, std::move(params), n, all, key);
}

}  // namespace latticino::io
