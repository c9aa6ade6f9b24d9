// Secret keys in files, of either scheme: one byte a coefficient. Internal to src/io.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "crypto/secure_memory.h"
#include "io/container.h"
#include "math/errors.h"

namespace latticino::io {

// The coefficients of both parts, one after the other.
template <class SecretKey>
void write_secret(Sink& sink, Scheme scheme, const SecretKey& key,
                  std::span<const std::uint8_t> coefficients) {
  Header header;
  header.type = ObjectType::SecretKey;
  header.scheme = scheme;
  header.params_hash = hash_bytes(key.params().hash());
  header.key = key.id();
  header.payload_bytes = coefficients.size();
  Writer writer(sink, header, Encoder());
  writer.payload(coefficients);
  writer.finish();
}

// `first` of `all` coefficients are the first part's.
template <class SecretKey, class AnyParams>
SecretKey read_secret(Source& source, Scheme scheme, std::shared_ptr<const AnyParams> params,
                      std::size_t first, std::size_t all) {
  Reader reader(source, ObjectType::SecretKey, scheme);
  reader.require_params(*params);
  reader.metadata().finish();
  reader.require_payload(all);
  crypto::LockedVector<std::uint8_t> bytes(all);
  reader.payload(bytes);
  reader.finish();
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
