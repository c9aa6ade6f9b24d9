#include "switch/client.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ckks/encoding/client.h"
#include "ckks/encoding/encoder.h"
#include "ckks/encoding/secret_slots.h"
#include "crypto/secure_memory.h"
#include "math/errors.h"
#include "rlwe/secret_poly.h"
#include "switch/matvec.h"

namespace latticino::switching {
namespace {

// s'(X^gap) over all primes of the CKKS ring.
Poly ring_secret(const Context& context, const tfhe::SecretKey& secret) {
  const Ring& ring = context.ckks()->ring();
  std::vector<std::int8_t> wide(static_cast<std::size_t>(ring.n()), 0);
  const crypto::ClearOnExit clear(wide);
  const std::size_t gap = static_cast<std::size_t>(context.params().gap());
  for (std::size_t i = 0; i < secret.glwe().size(); ++i) wide[i * gap] = secret.glwe()[i];
  const Basis all{{0, static_cast<std::uint16_t>(ring.prime_count())}};
  return rlwe::secret_poly(context.queue(), ring, all, wide);
}

std::shared_ptr<const rlwe::EvaluationKeys> packing_keys(const Context& context,
                                                         const tfhe::SecretKey& secret,
                                                         rlwe::Random& random) {
  const auto inner =
      rlwe::SecretKey::restore(context.params().packing(), secret.id(), secret.glwe(), {});
  rlwe::KeyRequest request;
  for (const std::uint32_t g : packing_elements(context.params())) {
    request[{rlwe::KeyKind::Galois, g}] = 0;
  }
  return rlwe::KeyGenerator(context.packing(), context.queue(), inner, random).make(request);
}

}  // namespace

tfhe::SecretKey generate_secret(const SwitchParams& params, rlwe::Random& random) {
  return tfhe::SecretKey::generate(params.tfhe(), random);
}

// Diagonals of s' - 1/2, as halves of 2 s' - 1. In the paper the server rotates them. Here the
// client encrypts them, so there is no noise of rotations, no keys are needed for these, and half
// of every ciphertext is a seed.
MatvecKey make_matvec_key(const Context& context, const rlwe::SecretKey& ckks,
                          const tfhe::SecretKey& secret, const MatvecShape& shape,
                          rlwe::Random& random) {
  constexpr int kMaxBatch = 8;
  const MatvecPlan plan = plan_matvec(context.params(), shape);
  const ckks::Context& target = *context.ckks();
  const Basis basis = target.params().basis(plan.level);
  const auto n = static_cast<std::size_t>(context.params().n()),
             rows = static_cast<std::size_t>(shape.rows),
             columns = static_cast<std::size_t>(plan.diagonals);
  crypto::LockedVector<std::int8_t> slots(static_cast<std::size_t>(shape.slots));
  const std::span<const std::int8_t> bits = secret.glwe();
  MatvecKey key;
  for (std::size_t first = 0; first < columns; first += kMaxBatch) {
    std::vector<Poly> messages;
    std::vector<PolyView> views;
    for (std::size_t d = first; d < std::min(columns, first + kMaxBatch); ++d) {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        const int bit = bits[(i % rows + columns * (i / rows) + d) % n];
        slots[i] = static_cast<std::int8_t>(2 * bit - 1);
      }
      const auto coefficients =
          ckks::embed_secret(target.encoder().transform(), slots, plan.scale / 2);
      messages.push_back(rlwe::secret_poly(context.queue(), target.ring(), basis, coefficients));
      views.push_back(messages.back().view);
    }
    for (rlwe::FreshPair& pair : rlwe::encrypt_symmetric(target.constants(), context.queue(), ckks,
                                                         views, plan.level, random)) {
      key.diagonals.push_back({std::move(pair.parts), pair.seed});
    }
  }
  return key;
}

std::shared_ptr<SwitchKeys> make_switch_keys(const Context& context, const rlwe::SecretKey& ckks,
                                             const tfhe::SecretKey& secret, rlwe::Random& random,
                                             std::span<const MatvecShape> shapes) {
  const SwitchParams& params = context.params();
  const rlwe::Constants& constants = context.ckks()->constants();
  rlwe::require_params("switching.make_keys", constants, ckks.params().hash());
  Queue& queue = context.queue();
  const Ring& ring = context.ckks()->ring();
  const Basis base = params.ckks().basis(0), sparse_basis = params.ckks().encapsulation_basis();
  const Poly inner = ring_secret(context, secret);
  const Basis all = inner.view.basis();
  const Poly dense = rlwe::secret_poly(queue, ring, all, ckks.coefficients());
  const Poly sparse = rlwe::secret_poly(queue, ring, all, ckks.sparse_coefficients());

  auto keys = std::make_shared<SwitchKeys>();
  keys->ckks_id = ckks.id();
  keys->params_hash = params.hash();
  keys->to_ring = rlwe::make_one_digit_key(constants, queue, inner.view, dense.view,
                                           params.lwe_basis(), params.key_aux(), random);
  keys->to_sparse = rlwe::make_one_digit_key(constants, queue, sparse.view, inner.view, base,
                                             sparse_basis.without(base), random);
  keys->tfhe = tfhe::make_server_keys(*context.tfhe(), secret, random);
  keys->packing = packing_keys(context, secret, random);
  for (const MatvecShape& shape : shapes) {
    keys->matvec.emplace(shape, make_matvec_key(context, ckks, secret, shape, random));
  }
  return keys;
}

std::function<void(const ckks::Ciphertext&, std::span<const int>)> shadow_check(
    const rlwe::SecretKey& secret, double bound) {
  return [&secret, bound](const ckks::Ciphertext& x, std::span<const int> which) {
    const std::vector<ckks::Complex> z = ckks::decrypt(secret, {&x, 1}).front();
    for (const int slot : which) {
      const double value = z[static_cast<std::size_t>(slot)].real();
      if (std::abs(value) <= bound) continue;
      throw ValueError("switching.extract",
                       "a value in slot " + std::to_string(slot) + " above the bound",
                       "values within the bound " + std::to_string(bound),
                       "raise the bound, or scale the slots down");
    }
  };
}

}  // namespace latticino::switching
