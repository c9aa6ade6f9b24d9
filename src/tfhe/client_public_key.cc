// Generation of a public key.
#include <vector>

#include "crypto/secure_memory.h"
#include "rlwe/secret_poly.h"
#include "tfhe/client.h"
#include "tfhe/secret_lwe.h"

namespace latticino::tfhe {

PublicKey make_public_key(const Context& context, const SecretKey& secret, rlwe::Random& random) {
  require_params("tfhe.make_public_key", secret.params(), context.params());
  Queue& queue = context.queue();
  const Ring& ring = context.ring();
  const Basis basis = context.basis();
  const auto n = static_cast<std::size_t>(context.params().n());
  PublicKey key = allocate_public_key(context);
  key.seed = random.seed();
  expand_masks(context, key);
  std::vector<Poly> secrets;
  Dot masks;
  masks.parts = 1;
  Dot::Output body;
  for (std::uint32_t c = 1; c < key.polys.view.count; ++c) {
    secrets.push_back(rlwe::secret_poly(queue, ring, basis, secret.glwe().subspan((c - 1) * n, n)));
    body.terms.push_back({.input = static_cast<int>(c) - 1, .factor = secrets.back().view});
    masks.inputs.push_back({key.polys.view[c]});
  }
  body.out[0] = key.polys.view[0];
  masks.outputs.push_back(std::move(body));
  queue.submit(std::move(masks));
  std::vector<std::int64_t> error =
      random.gaussian(static_cast<int>(n), context.params().literal().glwe_sigma);
  const crypto::ClearOnExit clear(error);
  const Poly e = rlwe::secret_poly(queue, ring, basis, error);
  rlwe::combine(queue, key.polys.view[0], {{e.view}, {key.polys.view[0], -1}});
  return key;
}

}  // namespace latticino::tfhe
