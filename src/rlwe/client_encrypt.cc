#include <string>
#include <utility>

#include "crypto/secure_memory.h"
#include "math/errors.h"
#include "rlwe/client.h"
#include "rlwe/secret_poly.h"

namespace latticino::rlwe {
namespace {

// The limbs of the message at `level`. Throws if the message does not have these limbs in Eval.
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

std::vector<FreshPair> encrypt_symmetric(const Constants& constants, Queue& queue,
                                         const SecretKey& secret, std::span<const PolyView> m,
                                         int level, Random& random) {
  require_params("rlwe.encrypt", constants, secret.params().hash());
  const Ring& ring = constants.ring();
  std::vector<PolyView> messages;
  for (const PolyView& x : m) messages.push_back(message_at(constants, x, level));
  const Basis basis = constants.params().basis(level);
  // Secrets first, then the long work: clearing the memory in which they were staged waits for all
  // work that came before.
  const Poly s = secret_poly(queue, ring, basis, secret.coefficients());
  const std::vector<Poly> errors = error_polys(queue, ring, basis, random, m.size());
  std::vector<FreshPair> out(m.size());
  std::vector<Poly> products;
  ExpandUniform expand;
  Dot dot{.parts = 1, .inputs = {{s.view}}, .outputs = {}};
  for (FreshPair& pair : out) {
    pair.seed = random.seed();
    pair.seeded = true;
    for (Poly& part : pair.parts) part = queue.allocate(ring, basis, Domain::Eval);
    expand.items.push_back({.seed = pair.seed, .stream = 0, .out = pair.parts[1].view});
    products.push_back(queue.allocate(ring, basis, Domain::Eval, true));
    dot.outputs.push_back(
        {.terms = {{.input = 0, .factor = pair.parts[1].view}}, .out = {products.back().view}});
  }
  queue.submit(std::move(expand));
  queue.submit(std::move(dot));
  Linear sum;
  for (std::size_t i = 0; i < out.size(); ++i) {
    sum.items.push_back(
        {.terms = {{.x = products[i].view, .small = -1}, {.x = errors[i].view}, {.x = messages[i]}},
         .out = out[i].parts[0].view});
  }
  queue.submit(std::move(sum));
  return out;
}

FreshPair encrypt_symmetric(const Constants& constants, Queue& queue, const SecretKey& secret,
                            const PolyView& m, int level, Random& random) {
  return std::move(
      encrypt_symmetric(constants, queue, secret, std::span(&m, 1), level, random).front());
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
    // Adds the message in the same step. Otherwise two states of a ciphertext would exist whose
    // difference is the message.
    if (h == 0) {
      combine(queue, out.parts[h].view, {{product.view}, {error.view}, {message}});
    } else {
      combine(queue, out.parts[h].view, {{product.view}, {error.view}});
    }
  }
  return out;
}

}  // namespace latticino::rlwe
