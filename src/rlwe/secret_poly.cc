#include "rlwe/secret_poly.h"

#include <vector>

#include "crypto/secure_memory.h"
#include "math/errors.h"

namespace latticino::rlwe {

Poly secret_poly(Queue& queue, const Ring& ring, const Basis& basis,
                 std::span<const std::int64_t> coefficients, Domain domain) {
  const Buffer integers = queue.allocate(coefficients.size_bytes(), true);
  if (!queue.is_dry()) {
    queue.copy_in(integers->data(), coefficients.data(), coefficients.size_bytes());
  }
  Poly poly = queue.allocate(ring, basis, Domain::Coeff, true);
  queue.submit(FromIntegers{{{static_cast<const std::int64_t*>(integers->data()), poly.view}}});
  if (domain != Domain::Coeff) {
    queue.submit(Transform{{{poly.view, poly.view.in(domain)}}});
    poly.view = poly.view.in(domain);
  }
  return poly;
}

Poly secret_poly(Queue& queue, const Ring& ring, const Basis& basis,
                 std::span<const std::int8_t> coefficients, Domain domain) {
  std::vector<std::int64_t> wide(coefficients.begin(), coefficients.end());
  const crypto::ClearOnExit clear(wide);
  return secret_poly(queue, ring, basis, wide, domain);
}

Poly error_poly(Queue& queue, const Ring& ring, const Basis& basis, Random& random) {
  std::vector<std::int64_t> error = random.gaussian(ring.n(), kErrorSigma);
  const crypto::ClearOnExit clear(error);
  return secret_poly(queue, ring, basis, error);
}

void combine(Queue& queue, const PolyView& out, std::initializer_list<Multiple> sum) {
  Linear::Item item;
  for (const Multiple& x : sum) item.terms.push_back({x.view, x.factor, {}, {}});
  item.out = out;
  queue.submit(Linear{{std::move(item)}});
}

Poly secret_product(Queue& queue, const PolyView& x, const PolyView& y, const Basis& basis) {
  Poly product = queue.allocate(*x.ring, basis, Domain::Eval, true);
  Dot dot;
  dot.parts = 1;
  dot.inputs.push_back({x.select(basis)});
  dot.outputs.push_back({{{0, y.select(basis)}}, {product.view}, false});
  queue.submit(std::move(dot));
  return product;
}

void require_params(const char* operation, const Constants& constants, const std::string& hash) {
  if (hash != constants.params().hash()) {
    throw ContextError(operation, "a key of parameters " + hash.substr(0, 16),
                       "one of the context's parameters " + constants.params().hash().substr(0, 16),
                       "use the key that was made for these parameters");
  }
}

}  // namespace latticino::rlwe
