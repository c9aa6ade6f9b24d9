#include <utility>

#include "math/errors.h"
#include "rlwe/client.h"
#include "rlwe/secret_coefficients.h"

namespace latticino::rlwe {

struct SecretKey::Data {
  std::shared_ptr<const Params> params;
  KeyId id;
  SecretCoefficients dense, sparse;
};

SecretKey::SecretKey(std::unique_ptr<Data> data) : data_(std::move(data)) {}
SecretKey::~SecretKey() = default;
SecretKey::SecretKey(SecretKey&&) noexcept = default;
SecretKey& SecretKey::operator=(SecretKey&&) noexcept = default;

SecretKey SecretKey::generate(std::shared_ptr<const Params> params, Random& random) {
  const int n = params->n(), weight = params->literal().hamming_weight;
  std::vector<std::int8_t> dense =
      weight > 0 ? random.ternary_weight(n, weight) : random.ternary(n);
  const crypto::ClearOnExit clear_dense(dense);
  std::vector<std::int8_t> sparse;
  if (params->bootstrap()) sparse = random.ternary_weight(n, params->bootstrap()->sparse_weight);
  const crypto::ClearOnExit clear_sparse(sparse);
  const KeyId id = fresh_key_id(random);
  return restore(std::move(params), id, dense, sparse);
}

SecretKey SecretKey::restore(std::shared_ptr<const Params> params, const KeyId& id,
                             std::span<const std::int8_t> coefficients,
                             std::span<const std::int8_t> sparse_coefficients) {
  auto data = std::make_unique<Data>();
  const char* const operation = "rlwe.secret_key";
  data->dense = SecretCoefficients({.operation = operation,
                                    .secret = "dense",
                                    .length = params->n(),
                                    .ternary = true,
                                    .weight = params->literal().hamming_weight},
                                   coefficients);
  if (params->bootstrap()) {
    data->sparse = SecretCoefficients({.operation = operation,
                                       .secret = "sparse",
                                       .length = params->n(),
                                       .ternary = true,
                                       .weight = params->bootstrap()->sparse_weight},
                                      sparse_coefficients);
  } else if (!sparse_coefficients.empty()) {
    throw KeyError(operation, "a sparse secret for parameters without bootstrapping", "none",
                   "load a key that was made for these parameters");
  }
  data->params = std::move(params);
  data->id = id;
  return SecretKey(std::move(data));
}

const KeyId& SecretKey::id() const { return data_->id; }
const Params& SecretKey::params() const { return *data_->params; }
std::span<const std::int8_t> SecretKey::coefficients() const {
  return data_->dense.get("rlwe.secret_key");
}

std::span<const std::int8_t> SecretKey::sparse_coefficients() const {
  if (data_->sparse.empty()) {
    throw KeyError("rlwe.secret_key", "a key of parameters without bootstrapping",
                   "a sparse encapsulation secret", "choose a preset that bootstraps");
  }
  return data_->sparse.get("rlwe.secret_key");
}

}  // namespace latticino::rlwe
