#include <algorithm>

#include "crypto/secure_memory.h"
#include "io/files.h"
#include "io/secret_codec.h"

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
  write_secret(sink, Scheme::Ckks, key, bytes);
}

void save_secret_key(const std::string& path, const rlwe::SecretKey& key) {
  write_file(
      path, [&](Sink& sink) { save_secret_key(sink, key); }, Access::Secret);
}

rlwe::SecretKey load_secret_key(Source& source, std::shared_ptr<const Params> params) {
  const auto n = static_cast<std::size_t>(params->n());
  const std::size_t all = coefficients_of(*params);
  return read_secret<rlwe::SecretKey>(source, Scheme::Ckks, std::move(params), n, all);
}

}  // namespace latticino::io
