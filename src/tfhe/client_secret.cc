#include <utility>

#include "rlwe/secret_coefficients.h"
#include "tfhe/client.h"

namespace latticino::tfhe {

struct SecretKey::Data {
  std::shared_ptr<const TfheParams> params;
  rlwe::KeyId id;
  rlwe::SecretCoefficients lwe, glwe;
};

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
  const rlwe::KeyId id = rlwe::fresh_key_id(random);
  return restore(std::move(params), id, lwe, glwe);
}

SecretKey SecretKey::restore(std::shared_ptr<const TfheParams> params, const rlwe::KeyId& id,
                             std::span<const std::int8_t> lwe, std::span<const std::int8_t> glwe) {
  auto data = std::make_unique<Data>();
  data->lwe = rlwe::SecretCoefficients({.operation = "tfhe.secret_key",
                                        .secret = "LWE",
                                        .length = params->lwe_dimension(),
                                        .ternary = params->literal().ternary},
                                       lwe);
  data->glwe = rlwe::SecretCoefficients({.operation = "tfhe.secret_key",
                                         .secret = "GLWE",
                                         .length = params->big_dimension(),
                                         .ternary = false},
                                        glwe);
  data->params = std::move(params);
  data->id = id;
  return SecretKey(std::move(data));
}

const rlwe::KeyId& SecretKey::id() const { return data_->id; }
const TfheParams& SecretKey::params() const { return *data_->params; }
std::span<const std::int8_t> SecretKey::lwe() const { return data_->lwe.get("tfhe.secret_key"); }
std::span<const std::int8_t> SecretKey::glwe() const { return data_->glwe.get("tfhe.secret_key"); }

}  // namespace latticino::tfhe
