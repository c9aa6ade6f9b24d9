#include <algorithm>
#include <string>
#include <utility>

#include "crypto/random_stream.h"
#include "crypto/secure_memory.h"
#include "math/errors.h"
#include "tfhe/client.h"

namespace latticino::tfhe {

struct SecretKey::Data {
  std::shared_ptr<const TfheParams> params;
  rlwe::KeyId id;
  std::uint64_t process = crypto::fork_generation();
  crypto::LockedVector<std::int8_t> lwe, glwe;
};

namespace {

void require_range(std::span<const std::int8_t> x, int length, int least, const char* what) {
  std::uint32_t outside = 0;  // without a branch on a coefficient
  for (const std::int8_t v : x) {
    outside |= static_cast<std::uint32_t>(least < 0 ? v * v * v - v : v * v - v);
  }
  crypto::declassify(&outside, sizeof outside);
  const bool fits = outside == 0;
  if (x.size() != static_cast<std::size_t>(length) || !fits) {
    throw KeyError("tfhe.secret_key",
                   std::to_string(x.size()) + " coefficients of the " + what + " secret",
                   std::to_string(length) + (least < 0 ? " ternary" : " binary") + " coefficients",
                   "load a key that was made for these parameters");
  }
}

}  // namespace

SecretKey::SecretKey(std::unique_ptr<Data> data) : data_(std::move(data)) {}
SecretKey::~SecretKey() = default;
SecretKey::SecretKey(SecretKey&&) noexcept = default;
SecretKey& SecretKey::operator=(SecretKey&&) noexcept = default;

SecretKey SecretKey::generate(std::shared_ptr<const TfheParams> params, rlwe::Random& random) {
  const int n = params->lwe_dimension();
  std::vector<std::int8_t> lwe = params->literal().ternary ? random.ternary(n) : random.binary(n);
  const crypto::ClearOnExit clear_lwe(lwe);
  std::vector<std::int8_t> glwe = random.binary(params->big_dimension());
  const crypto::ClearOnExit clear_glwe(glwe);
  rlwe::KeyId id;
  const rlwe::Seed seed = random.seed();
  std::copy_n(seed.begin(), id.bytes.size(), id.bytes.begin());
  return restore(std::move(params), id, lwe, glwe);
}

SecretKey SecretKey::restore(std::shared_ptr<const TfheParams> params, const rlwe::KeyId& id,
                             std::span<const std::int8_t> lwe, std::span<const std::int8_t> glwe) {
  require_range(lwe, params->lwe_dimension(), params->literal().ternary ? -1 : 0, "LWE");
  require_range(glwe, params->big_dimension(), 0, "GLWE");
  auto data = std::make_unique<Data>();
  data->params = std::move(params);
  data->id = id;
  data->lwe.assign(lwe.begin(), lwe.end());
  data->glwe.assign(glwe.begin(), glwe.end());
  return SecretKey(std::move(data));
}

const rlwe::KeyId& SecretKey::id() const { return data_->id; }
const TfheParams& SecretKey::params() const { return *data_->params; }
std::span<const std::int8_t> SecretKey::lwe() const {
  crypto::require_same_process("tfhe.secret_key", data_->process);
  return data_->lwe;
}
std::span<const std::int8_t> SecretKey::glwe() const {
  crypto::require_same_process("tfhe.secret_key", data_->process);
  return data_->glwe;
}

}  // namespace latticino::tfhe
