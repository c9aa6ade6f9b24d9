#include <algorithm>
#include <string>
#include <utility>

#include "crypto/secure_memory.h"
#include "math/errors.h"
#include "rlwe/client.h"

namespace latticino::rlwe {

struct SecretKey::Data {
  std::shared_ptr<const Params> params;
  KeyId id;
  crypto::LockedVector<std::int8_t> coefficients, sparse;
};

namespace {

void require_ternary(std::span<const std::int8_t> x, int n, int weight, const char* what) {
  const auto nonzero = std::count_if(x.begin(), x.end(), [](int v) { return v != 0; });
  const bool ternary = std::all_of(x.begin(), x.end(), [](int v) { return -1 <= v && v <= 1; });
  if (x.size() != static_cast<std::size_t>(n) || !ternary || (weight > 0 && nonzero != weight)) {
    throw KeyError("rlwe.secret_key",
                   std::to_string(x.size()) + " coefficients of the " + what + " secret",
                   std::to_string(n) + " ternary coefficients" +
                       (weight > 0 ? " of weight " + std::to_string(weight) : ""),
                   "load a key that was made for these parameters");
  }
}

}  // namespace

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
  KeyId id;
  const Seed seed = random.seed();
  std::copy_n(seed.begin(), id.bytes.size(), id.bytes.begin());
  return restore(std::move(params), id, dense, sparse);
}

SecretKey SecretKey::restore(std::shared_ptr<const Params> params, const KeyId& id,
                             std::span<const std::int8_t> coefficients,
                             std::span<const std::int8_t> sparse_coefficients) {
  const int n = params->n();
  require_ternary(coefficients, n, params->literal().hamming_weight, "dense");
  if (params->bootstrap()) {
    require_ternary(sparse_coefficients, n, params->bootstrap()->sparse_weight, "sparse");
  } else if (!sparse_coefficients.empty()) {
    throw KeyError("rlwe.secret_key", "a sparse secret for parameters without bootstrapping",
                   "none", "load a key that was made for these parameters");
  }
  auto data = std::make_unique<Data>();
  data->params = std::move(params);
  data->id = id;
  data->coefficients.assign(coefficients.begin(), coefficients.end());
  data->sparse.assign(sparse_coefficients.begin(), sparse_coefficients.end());
  return SecretKey(std::move(data));
}

const KeyId& SecretKey::id() const { return data_->id; }
const Params& SecretKey::params() const { return *data_->params; }
std::span<const std::int8_t> SecretKey::coefficients() const { return data_->coefficients; }

std::span<const std::int8_t> SecretKey::sparse_coefficients() const {
  if (data_->sparse.empty()) {
    throw KeyError("rlwe.secret_key", "a key of parameters without bootstrapping",
                   "a sparse encapsulation secret", "choose a preset that bootstraps");
  }
  return data_->sparse;
}

}  // namespace latticino::rlwe
