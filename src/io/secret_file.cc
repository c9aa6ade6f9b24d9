#include <algorithm>

#include "crypto/secure_memory.h"
#include "io/files.h"
#include "math/errors.h"

namespace latticino::io {
namespace {

// One byte a coefficient: dense secret, then the sparse one where the parameters bootstrap.
std::size_t coefficients_of(const Params& params) {
  return static_cast<std::size_t>(params.n()) * (params.bootstrap() ? 2 : 1);
}

}  // namespace

void save_secret_key(Sink& sink, const rlwe::SecretKey& key) {
  const Params& params = key.params();
  crypto::LockedVector<std::uint8_t> bytes(key.coefficients().begin(), key.coefficients().end());
  bytes.resize(coefficients_of(params));
  if (params.bootstrap()) {
    const auto sparse = key.sparse_coefficients();
    std::copy(sparse.begin(), sparse.end(), bytes.begin() + params.n());
  }
  Header header;
  header.type = ObjectType::SecretKey;
  header.params_hash = hash_bytes(params.hash());
  header.key = key.id();
  header.payload_bytes = bytes.size();
  Writer writer(sink, header, Encoder());
  writer.payload(bytes);
  writer.finish();
}

void save_secret_key(const std::string& path, const rlwe::SecretKey& key) {
  write_file(
      path, [&](Sink& sink) { save_secret_key(sink, key); }, Access::Secret);
}

rlwe::SecretKey load_secret_key(Source& source, std::shared_ptr<const Params> params) {
  Reader reader(source, ObjectType::SecretKey);
  reader.require_params(*params);
  reader.metadata().finish();
  reader.require_payload(coefficients_of(*params));
  crypto::LockedVector<std::uint8_t> bytes(coefficients_of(*params));
  reader.payload(bytes);
  reader.finish();
  const std::span<const std::int8_t> all(reinterpret_cast<const std::int8_t*>(bytes.data()),
                                         bytes.size());
  const auto n = static_cast<std::size_t>(params->n());
  const rlwe::KeyId id = reader.header().key;
  try {
    return rlwe::SecretKey::restore(std::move(params), id, all.first(n), all.subspan(n));
  } catch (const KeyError& error) {
    refuse(error.what(), "a secret of these parameters");
  }
}

}  // namespace latticino::io
