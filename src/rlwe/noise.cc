#include "rlwe/noise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "math/errors.h"
#include "rlwe/secret_poly.h"

namespace latticino::rlwe {
namespace {

double log_product(const Params& params, const Basis& basis) {
  double sum = 0;
  for (int i = 0; i < basis.size(); ++i) sum += std::log2(params.ring_primes()[basis.prime(i)]);
  return sum;
}

// N sigma^2 / 12 * terms * 2^(2 log_ratio)
double error_term(const Params& params, int terms, double log_ratio) {
  return params.n() * kErrorSigma * kErrorSigma / 12 * terms * std::exp2(2 * log_ratio);
}

double rounding_term(int primes, double norm) { return primes * (1 + norm) / 12; }

int sparse_weight(const Params& params) {
  if (!params.bootstrap()) {
    throw ParameterError("rlwe.noise", params.name() + " without bootstrapping",
                         "parameters with bootstrapping", "choose a preset that bootstraps");
  }
  return params.bootstrap()->sparse_weight;
}

}  // namespace

Noise measure_noise(const Constants& constants, Queue& queue, const SecretKey& secret,
                    std::span<const PolyView> parts, int level, const PolyView& expected) {
  const Basis basis = constants.params().basis(level);
  const Poly b = queue.allocate(constants.ring(), basis, Domain::Eval, true);
  combine(queue, b.view, {{parts[0].select(basis)}, {expected.select(basis), -1}});
  std::vector<PolyView> shifted(parts.begin(), parts.end());
  shifted[0] = b.view;
  Noise noise;
  for (const double e : decrypt(constants, queue, secret, shifted, level, 1.0)) {
    noise.deviation += e * e;
    noise.largest = std::max(noise.largest, std::abs(e));
  }
  noise.deviation = std::sqrt(noise.deviation / constants.params().n());
  return noise;
}

double secret_norm(const Params& params) {
  const int weight = params.literal().hamming_weight;
  return weight > 0 ? weight : 2.0 * params.n() / 3;
}

double fresh_symmetric_variance() { return kErrorSigma * kErrorSigma; }

double fresh_public_variance(const Params& params) {
  return kErrorSigma * kErrorSigma * (1 + 2.0 * params.n() / 3 + secret_norm(params));
}

double rescale_variance(const Params& params, int level) {
  return rounding_term(params.leaving(level).size(), secret_norm(params));
}

double key_switch_variance(const Params& params, int level) {
  return params.key_switch_variance(level, false);
}

double key_switch_rescale_variance(const Params& params, int level) {
  return params.key_switch_variance(level, true);
}

double to_sparse_variance(const Params& params) {
  const int weight = sparse_weight(params);
  const Basis base = params.basis(0), aux = params.encapsulation_basis().without(base);
  return error_term(params, base.size(), log_product(params, base) - log_product(params, aux)) +
         rounding_term(aux.size(), weight);
}

double from_sparse_variance(const Params& params) {
  sparse_weight(params);
  const double log_ratio =
      log_product(params, params.basis(0)) - log_product(params, params.aux_basis());
  return error_term(params, 1, log_ratio) + rounding_term(params.alpha(), secret_norm(params));
}

}  // namespace latticino::rlwe
