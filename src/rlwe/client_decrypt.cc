#include <cmath>
#include <string>
#include <vector>

#include "crypto/secure_memory.h"
#include "math/errors.h"
#include "rlwe/centred_crt.h"
#include "rlwe/client.h"
#include "rlwe/secret_poly.h"

namespace latticino::rlwe {
namespace {

// sum_i parts[i] s^i over basis(level), in Coeff (Horner).
Poly phase(const Constants& constants, Queue& queue, const SecretKey& secret,
           std::span<const PolyView> parts, int level) {
  require_params("rlwe.decrypt", constants, secret.params().hash());
  if (parts.empty()) {
    throw ShapeError("rlwe.decrypt", "no parts", "two or three", "pass the parts of a ciphertext");
  }
  const Ring& ring = constants.ring();
  const Basis basis = constants.params().basis(level);
  const Poly s = secret_poly(queue, ring, basis, secret.coefficients());
  Poly sum = queue.allocate(ring, basis, Domain::Eval, true);
  queue.submit(Copy{{{parts.back().select(basis), sum.view}}});
  for (std::size_t i = parts.size() - 1; i-- > 0;) {
    const Poly product = secret_product(queue, sum.view, s.view, basis);
    combine(queue, sum.view, {{product.view}, {parts[i].select(basis)}});
  }
  queue.submit(Transform{{{sum.view, sum.view.in(Domain::Coeff)}}});
  sum.view = sum.view.in(Domain::Coeff);
  return sum;
}

std::vector<double> reconstruct(Queue& queue, const PolyView& x, double scale) {
  if (!(scale > 0) || !std::isfinite(scale)) {
    throw ScaleError("rlwe.decrypt", "scale " + std::to_string(scale), "a positive, finite scale",
                     "pass the ciphertext's scale");
  }
  const std::size_t n = x.ring->n(), limbs = x.limbs();
  std::vector<std::uint32_t> residues(n * limbs), column(limbs);
  const crypto::ClearOnExit clear(residues);
  const crypto::ClearOnExit clear_column(column);
  queue.download(residues.data(), x);
  std::vector<std::uint32_t> primes;
  for (std::size_t i = 0; i < limbs; ++i) {
    primes.push_back(x.ring->prime(x.basis().prime(static_cast<int>(i))));
  }
  const CentredCrt crt(primes);
  std::vector<double> out(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < limbs; ++i) column[i] = residues[i * n + k];
    out[k] = crt.divided(column, scale);
  }
  return out;
}

}  // namespace

std::vector<double> decrypt(const Constants& constants, Queue& queue, const SecretKey& secret,
                            std::span<const PolyView> parts, int level, double scale) {
  return reconstruct(queue, phase(constants, queue, secret, parts, level).view, scale);
}

double Flooding::sigma() const {
  if (!(noise_bound > 0) || !std::isfinite(noise_bound) || queries == 0 || statistical_bits <= 0) {
    throw ValueError("rlwe.decrypt_for_sharing",
                     "noise bound " + std::to_string(noise_bound) + ", " + std::to_string(queries) +
                         " queries, " + std::to_string(statistical_bits) + " bits",
                     "positive values", "state a worst-case noise bound and the number of queries");
  }
  return std::sqrt(12.0 * static_cast<double>(queries)) * std::exp2(0.5 * statistical_bits) *
         noise_bound;
}

double Flooding::bits_lost(int n) const { return std::log2(sigma() / noise_bound * std::sqrt(n)); }

SharedDecryption decrypt_for_sharing(const Constants& constants, Queue& queue,
                                     const SecretKey& secret, std::span<const PolyView> parts,
                                     int level, double scale, const Flooding& flooding,
                                     Random& random) {
  SharedDecryption out;
  out.sigma = flooding.sigma();
  const Params& params = constants.params();
  out.bits_lost = flooding.bits_lost(params.n());
  // Six deviations must stay below Q/2, or the flood wraps around and the result is noise only.
  if (std::log2(out.sigma) + 3.6 > params.log_q(level)) {
    throw ScaleError("rlwe.decrypt_for_sharing",
                     "flooding of 2^" + std::to_string(std::log2(out.sigma)),
                     "less than the modulus 2^" + std::to_string(params.log_q(level)),
                     "decrypt at a higher level or lower the noise bound");
  }
  std::vector<std::int64_t> flood = random.gaussian(params.n(), out.sigma);
  const crypto::ClearOnExit clear(flood);
  const Poly exact = phase(constants, queue, secret, parts, level);
  const Poly noise = secret_poly(queue, constants.ring(), exact.view.basis(), flood, Domain::Coeff);
  combine(queue, exact.view, {{exact.view}, {noise.view}});
  out.coefficients = reconstruct(queue, exact.view, scale);
  return out;
}

}  // namespace latticino::rlwe
