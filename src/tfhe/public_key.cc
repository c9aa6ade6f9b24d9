#include "tfhe/public_key.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "crypto/secure_memory.h"
#include "params/bounds/security.h"
#include "rlwe/secret_poly.h"

namespace latticino::tfhe {

PublicKey allocate_public_key(const Context& context) {
  const auto parts = static_cast<std::uint32_t>(context.params().glwe_dimension()) + 1;
  return {context.allocate_polys(parts, Domain::Eval), {}};
}

void expand_masks(const Context& context, PublicKey& key) {
  ExpandUniform expand;
  for (std::uint32_t c = 1; c < key.polys.view.count; ++c) {
    expand.items.push_back({.seed = key.seed, .stream = c - 1, .out = key.polys.view[c]});
  }
  context.queue().submit(std::move(expand));
}

double public_sigma(const TfheParams& params) {
  if (params.literal().security == ParamsLiteral::Security::Insecure) {
    return params.literal().glwe_sigma;
  }
  return least_sigma_128(params.n(), params.noise().log_ring_modulus);
}

double public_norm2(const Context& context) {
  const TfheParams& params = context.params();
  const double key = params.literal().glwe_sigma, own = public_sigma(params);
  const double big = params.big_dimension();
  const double variance = (params.n() / 2.0 * key * key + own * own * (1 + big / 2)) *
                          std::exp2(-2 * params.noise().log_ring_modulus);
  const bool fourier = context.in_fourier();
  return (variance + drop_variance(params.noise())) / params.result_variance(fourier);
}

Context::Lwe encrypt_zeros(const Context& context, const PublicKey& key, std::uint32_t count,
                           rlwe::Random& random) {
  const TfheParams& params = context.params();
  const Ring& ring = context.ring();
  const Basis basis = context.basis();
  Queue& queue = context.queue();
  const auto n = static_cast<std::uint32_t>(params.n());
  const double sigma = public_sigma(params);
  Context::Lwe out = context.allocate(static_cast<std::uint32_t>(params.big_dimension()), count);
  if (context.is_dry()) return out;
  for (std::uint32_t first = 0; first < count; first += n) {
    const std::uint32_t some = std::min(n, count - first);
    std::vector<std::int8_t> binary = random.binary(params.n());
    const crypto::ClearOnExit clear_binary(binary);
    const Poly u = rlwe::secret_poly(queue, ring, basis, binary);
    const Context::Polys zero = context.allocate_polys(key.polys.view.count, Domain::Coeff);
    Transform back;
    std::vector<Poly> products;  // must stay until the transform has read them
    for (std::uint32_t c = 0; c < key.polys.view.count; ++c) {
      std::vector<std::int64_t> error = random.gaussian(params.n(), sigma);
      const crypto::ClearOnExit clear_error(error);
      const Poly e = rlwe::secret_poly(queue, ring, basis, error);
      products.push_back(rlwe::secret_product(queue, key.polys.view[c], u.view, basis));
      rlwe::combine(queue, products.back().view, {{products.back().view}, {e.view}});
      back.items.push_back({.in = products.back().view, .out = zero.view[c]});
    }
    queue.submit(std::move(back));
    SampleExtract extract;
    extract.glwe_dimension = params.glwe_dimension();
    std::vector<std::uint32_t> coefficients(some);
    std::iota(coefficients.begin(), coefficients.end(), 0u);
    extract.items.push_back({.in = zero.view,
                             .coefficients = std::move(coefficients),
                             .out = out.view.part(first, some)});
    queue.submit(std::move(extract));
  }
  return out;
}

}  // namespace latticino::tfhe
