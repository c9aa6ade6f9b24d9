#include <algorithm>
#include <string>
#include <utility>

#include "crypto/random_stream.h"
#include "crypto/secure_memory.h"
#include "math/errors.h"
#include "rlwe/client.h"

namespace latticino::rlwe {

struct SecretKey::Data {
  std::shared_ptr<const Params> params;
  KeyId id;
  std::uint64_t process = crypto::fork_generation();
  crypto::LockedVector<std::int8_t> coefficients, sparse;
};

namespace {

void require_ternary(std::span<const std::int8_t> x, int n, int weight, const char* what) {
  // Without a branch on a coefficient: every valid key gives the same two numbers where its weight
  // is a parameter.
  std::uint32_t nonzero = 0, outside = 0;
  for (const std::int8_t v : x) {
    nonzero += static_cast<std::uint32_t>(v) & 1;  // of a ternary coefficient
    outside |= static_cast<std::uint32_t>(v * v * v - v);
  }
  if (weight == 0) nonzero = 0;
  crypto::declassify(&nonzero, sizeof nonzero);
  crypto::declassify(&outside, sizeof outside);
  const bool ternary = outside == 0;
  if (x.size() != static_cast<std::size_t>(n) || !ternary ||
      (weight > 0 && nonzero != static_cast<std::uint32_t>(weight))) {
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
std::span<const std::int8_t> SecretKey::coefficients() const {
  crypto::require_same_process("rlwe.secret_key", data_->process);
  return data_->coefficients;
}

std::span<const std::int8_t> SecretKey::sparse_coefficients() const {
  if (data_->sparse.empty()) {
    throw KeyError("rlwe.secret_key", "a key of parameters without bootstrapping",
                   "a sparse encapsulation secret", "choose a preset that bootstraps");
  }
  crypto::require_same_process("rlwe.secret_key", data_->process);
  return data_->sparse;
}

}  // namespace latticino::rlwe
