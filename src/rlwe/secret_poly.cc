#include "rlwe/secret_poly.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "crypto/secure_memory.h"
#include "math/errors.h"

namespace latticino::rlwe {

namespace {

// Several polynomials, their coefficients one after another.
std::vector<Poly> secret_polys(Queue& queue, const Ring& ring, const Basis& basis,
                               std::span<const std::int64_t> coefficients, std::size_t count,
                               Domain domain) {
  if (queue.recording()) {
    throw UnsupportedError(
        "rlwe.secret_poly", "a recording",
        "a queue that computes now: a replay would use secrets and randomness again",
        "encrypt, decrypt and make keys outside of recorded functions");
  }
  const Buffer integers = queue.allocate(coefficients.size_bytes(), true);
  if (!queue.is_dry()) {
    queue.copy_in(integers->data(), coefficients.data(), coefficients.size_bytes());
  }
  std::vector<Poly> out;
  FromIntegers reduce;
  Transform transform;
  const auto* in = static_cast<const std::int64_t*>(integers->data());
  for (std::size_t i = 0; i < count; ++i) {
    Poly poly = queue.allocate(ring, basis, Domain::Coeff, true);
    reduce.items.push_back({in == nullptr ? nullptr : in + i * ring.n(), poly.view});
    transform.items.push_back({poly.view, poly.view.in(domain)});
    poly.view = poly.view.in(domain);
    out.push_back(std::move(poly));
  }
  queue.submit(std::move(reduce));
  if (domain != Domain::Coeff) queue.submit(std::move(transform));
  return out;
}

}  // namespace

Poly secret_poly(Queue& queue, const Ring& ring, const Basis& basis,
                 std::span<const std::int64_t> coefficients, Domain domain) {
  return std::move(secret_polys(queue, ring, basis, coefficients, 1, domain).front());
}

Poly secret_poly(Queue& queue, const Ring& ring, const Basis& basis,
                 std::span<const std::int8_t> coefficients, Domain domain) {
  std::vector<std::int64_t> wide(coefficients.begin(), coefficients.end());
  const crypto::ClearOnExit clear(wide);
  return secret_poly(queue, ring, basis, wide, domain);
}

std::vector<Poly> error_polys(Queue& queue, const Ring& ring, const Basis& basis, Random& random,
                              std::size_t count) {
  const std::size_t n = ring.n();
  std::vector<std::int64_t> all(n * count);
  const crypto::ClearOnExit clear(all);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> error = random.gaussian(ring.n(), kErrorSigma);
    const crypto::ClearOnExit clear_one(error);
    std::copy(error.begin(), error.end(), all.begin() + static_cast<std::ptrdiff_t>(i * n));
  }
  return secret_polys(queue, ring, basis, all, count, Domain::Eval);
}

Poly error_poly(Queue& queue, const Ring& ring, const Basis& basis, Random& random) {
  return std::move(error_polys(queue, ring, basis, random, 1).front());
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
