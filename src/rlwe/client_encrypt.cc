#include <string>
#include <utility>

#include "crypto/secure_memory.h"
#include "math/errors.h"
#include "rlwe/client.h"
#include "rlwe/secret_poly.h"

namespace latticino::rlwe {
namespace {

// The message's limbs of `level`; throws unless there are such limbs, in Eval.
PolyView message_at(const Constants& constants, const PolyView& m, int level) {
  const Params& params = constants.params();
  if (level < 0 || level > params.top_level()) {
    throw LevelError("rlwe.encrypt", "level " + std::to_string(level),
                     "0 to " + std::to_string(params.top_level()), "choose a level that exists");
  }
  if (m.ring != &constants.ring()) {
    throw ContextError("rlwe.encrypt", "a message of another ring", "one of this context's ring",
                       "encode it with this context");
  }
  if (m.domain != Domain::Eval || !m.basis().contains(params.basis(level))) {
    throw ShapeError("rlwe.encrypt", m.str(), "Eval over " + params.basis(level).str(),
                     "encode the message at the level of the encryption");
  }
  return m.select(params.basis(level));
}

}  // namespace

FreshPair encrypt_symmetric(const Constants& constants, Queue& queue, const SecretKey& secret,
                            const PolyView& m, int level, Random& random) {
  require_params("rlwe.encrypt", constants, secret.params().hash());
  const PolyView message = message_at(constants, m, level);
  const Ring& ring = constants.ring();
  const Basis basis = constants.params().basis(level);
  FreshPair out;
  out.seed = random.seed();
  out.seeded = true;
  out.parts[1] = queue.allocate(ring, basis, Domain::Eval);
  queue.submit(ExpandUniform{{{out.seed, 0, out.parts[1].view}}});
  const Poly s = secret_poly(queue, ring, basis, secret.coefficients());
  const Poly product = secret_product(queue, out.parts[1].view, s.view, basis);
  const Poly error = error_poly(queue, ring, basis, random);
  out.parts[0] = queue.allocate(ring, basis, Domain::Eval);
  combine(queue, out.parts[0].view, {{product.view, -1}, {error.view}, {message}});
  return out;
}

FreshPair encrypt_public(const Constants& constants, Queue& queue, const PublicKey& key,
                         const PolyView& m, int level, Random& random) {
  require_params("rlwe.encrypt", constants, key.params_hash);
  const Ring& ring = constants.ring();
  if (key.parts[0].view.ring != &ring) {
    throw ContextError("rlwe.encrypt", "a public key of another context with equal parameters",
                       "one of this context",
                       "bring it over with save_public_key and load_public_key");
  }
  const PolyView message = message_at(constants, m, level);
  const Basis basis = constants.params().basis(level);
  std::vector<std::int8_t> ternary = random.ternary(ring.n());
  const crypto::ClearOnExit clear(ternary);
  const Poly v = secret_poly(queue, ring, basis, ternary);
  FreshPair out;
  for (int h = 0; h < 2; ++h) {
    const Poly product = secret_product(queue, key.parts[h].view, v.view, basis);
    const Poly error = error_poly(queue, ring, basis, random);
    out.parts[h] = queue.allocate(ring, basis, Domain::Eval);
    combine(queue, out.parts[h].view, {{product.view}, {error.view}});
  }
  combine(queue, out.parts[0].view, {{out.parts[0].view}, {message}});
  return out;
}

}  // namespace latticino::rlwe
