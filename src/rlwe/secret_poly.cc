#include "rlwe/secret_poly.h"

#include <utility>
#include <vector>

#include "crypto/gaussian.h"
#include "crypto/secure_memory.h"
#include "math/errors.h"

namespace latticino::rlwe {

namespace {

// Not allowed in recordings: a replay would use the same secrets and randomness again.
void refuse_recording(const Queue& queue) {
  if (!queue.recording()) return;
  throw UnsupportedError(
      "rlwe.secret_poly", "a recording",
      "a queue that computes now: a replay would use secrets and randomness again",
      "encrypt, decrypt and make keys outside of recorded functions");
}

const crypto::GaussianTable& error_table() {
  static const crypto::GaussianTable kTable(kErrorSigma);
  return kTable;
}

}  // namespace

Poly secret_poly(Queue& queue, const Ring& ring, const Basis& basis,
                 std::span<const std::int64_t> coefficients, Domain domain) {
  refuse_recording(queue);
  const Buffer integers = queue.allocate(coefficients.size_bytes(), true);
  if (!queue.is_dry()) {
    queue.copy_in(integers->data(), coefficients.data(), coefficients.size_bytes());
  }
  Poly poly = queue.allocate(ring, basis, Domain::Coeff, true);
  queue.submit(
      FromIntegers{{{.in = static_cast<const std::int64_t*>(integers->data()), .out = poly.view}}});
  if (domain != Domain::Coeff)
    queue.submit(Transform{{{.in = poly.view, .out = poly.view.in(domain)}}});
  poly.view = poly.view.in(domain);
  return poly;
}

Poly secret_poly(Queue& queue, const Ring& ring, const Basis& basis,
                 std::span<const std::int8_t> coefficients, Domain domain) {
  std::vector<std::int64_t> wide(coefficients.begin(), coefficients.end());
  const crypto::ClearOnExit clear(wide);
  return secret_poly(queue, ring, basis, wide, domain);
}

std::vector<Poly> error_polys(Queue& queue, const Ring& ring, const Basis& basis, Random& random,
                              std::size_t count) {
  refuse_recording(queue);
  std::vector<std::uint8_t> fresh(32);
  const crypto::ClearOnExit clear(fresh);
  const Buffer seed = queue.allocate(fresh.size(), true);
  if (!queue.is_dry()) {
    random.error_seed(std::span<std::uint8_t, 32>(fresh));
    queue.copy_in(seed->data(), fresh.data(), fresh.size());
  }
  std::vector<Poly> out;
  SampleGaussian sample{.table = &error_table(), .items = {}};
  Transform transform;
  const auto* key = static_cast<const std::uint8_t*>(seed->data());
  for (std::size_t i = 0; i < count; ++i) {
    Poly poly = queue.allocate(ring, basis, Domain::Coeff, true);
    sample.items.push_back({.seed = key, .index = i, .out = poly.view});
    transform.items.push_back({.in = poly.view, .out = poly.view.in(Domain::Eval)});
    poly.view = poly.view.in(Domain::Eval);
    out.push_back(std::move(poly));
  }
  queue.submit(std::move(sample));
  queue.submit(std::move(transform));
  return out;
}

Poly error_poly(Queue& queue, const Ring& ring, const Basis& basis, Random& random) {
  return std::move(error_polys(queue, ring, basis, random, 1).front());
}

void combine(Queue& queue, const PolyView& out, std::initializer_list<Multiple> sum) {
  Linear::Item item;
  for (const Multiple& x : sum) item.terms.push_back({.x = x.view, .small = x.factor});
  item.out = out;
  queue.submit(Linear{{std::move(item)}});
}

Poly secret_product(Queue& queue, const PolyView& x, const PolyView& y, const Basis& basis) {
  Poly product = queue.allocate(*x.ring, basis, Domain::Eval, true);
  Dot dot;
  dot.parts = 1;
  dot.inputs.push_back({x.select(basis)});
  dot.outputs.push_back(
      {.terms = {{.input = 0, .factor = y.select(basis)}}, .out = {product.view}});
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
