#include <cmath>
#include <string>
#include <vector>

#include "crypto/secure_memory.h"
#include "math/centred_crt.h"
#include "math/errors.h"
#include "rlwe/client.h"
#include "rlwe/secret_poly.h"

namespace latticino::rlwe {
namespace {

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
  // From here on, branches depend on the decrypted value.
  crypto::declassify(residues.data(), residues.size() * sizeof(std::uint32_t));
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

std::vector<Poly> phases(const Constants& constants, Queue& queue, const SecretKey& secret,
                         std::span<const std::vector<PolyView>> ciphertexts, int level) {
  require_params("rlwe.decrypt", constants, secret.params().hash());
  const Ring& ring = constants.ring();
  const Basis basis = constants.params().basis(level);
  const Poly s = secret_poly(queue, ring, basis, secret.coefficients());
  std::vector<Poly> out;
  Transform transform;
  for (const std::vector<PolyView>& parts : ciphertexts) {
    if (parts.empty()) {
      throw ShapeError("rlwe.decrypt", "no parts", "two or three",
                       "pass the parts of a ciphertext");
    }
    Poly sum = queue.allocate(ring, basis, Domain::Eval, true);
    if (parts.size() == 1) queue.submit(Copy{{{.x = parts[0].select(basis), .out = sum.view}}});
    for (std::size_t i = parts.size() - 1; i-- > 0;) {  // Horner's rule
      const PolyView high = i + 2 == parts.size() ? parts.back() : sum.view;
      const Poly product = secret_product(queue, high, s.view, basis);
      combine(queue, sum.view, {{product.view}, {parts[i].select(basis)}});
    }
    transform.items.push_back({.in = sum.view, .out = sum.view.in(Domain::Coeff)});
    sum.view = sum.view.in(Domain::Coeff);
    out.push_back(std::move(sum));
  }
  queue.submit(std::move(transform));
  return out;
}

std::vector<double> decrypt(const Constants& constants, Queue& queue, const SecretKey& secret,
                            std::span<const PolyView> parts, int level, double scale) {
  const std::vector<PolyView> one(parts.begin(), parts.end());
  return reconstruct(queue, phases(constants, queue, secret, {&one, 1}, level)[0].view, scale);
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

FloodedPhase flooded_phase(const Constants& constants, Queue& queue, const SecretKey& secret,
                           std::span<const PolyView> parts, int level, const Flooding& flooding,
                           Random& random) {
  FloodedPhase out;
  out.sigma = flooding.sigma();
  const Params& params = constants.params();
  out.bits_lost = flooding.bits_lost(params.n());
  // Six deviations must stay below Q/2. Otherwise the flood wraps around, and the result is only
  // noise.
  if (std::log2(out.sigma) + 3.6 > params.log_q(level)) {
    throw ScaleError("rlwe.decrypt_for_sharing",
                     "flooding of 2^" + std::to_string(std::log2(out.sigma)),
                     "less than the modulus 2^" + std::to_string(params.log_q(level)),
                     "decrypt at a higher level or lower the noise bound");
  }
  std::vector<std::int64_t> flood = random.gaussian(params.n(), out.sigma);
  const crypto::ClearOnExit clear(flood);
  const std::vector<PolyView> one(parts.begin(), parts.end());
  out.phase = std::move(phases(constants, queue, secret, {&one, 1}, level)[0]);
  const PolyView& exact = out.phase.view;
  const Poly noise = secret_poly(queue, constants.ring(), exact.basis(), flood, Domain::Coeff);
  combine(queue, exact, {{exact}, {noise.view}});
  return out;
}

SharedDecryption decrypt_for_sharing(const Constants& constants, Queue& queue,
                                     const SecretKey& secret, std::span<const PolyView> parts,
                                     int level, double scale, const Flooding& flooding,
                                     Random& random) {
  const FloodedPhase flooded =
      flooded_phase(constants, queue, secret, parts, level, flooding, random);
  return {reconstruct(queue, flooded.phase.view, scale), flooded.sigma, flooded.bits_lost};
}

}  // namespace latticino::rlwe
