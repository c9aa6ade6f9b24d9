#include <cmath>
#include <string>

#include "ckks/encoder.h"
#include "math/errors.h"

namespace latticino::ckks {

Plaintext encode(const std::shared_ptr<const Context>& context, std::span<const Complex> values,
                 int level, double scale, bool extended) {
  const Params& params = context->params();
  if (level < 0 || level > params.top_level()) {
    throw LevelError("ckks.encode", "level " + std::to_string(level),
                     "0 to " + std::to_string(params.top_level()), "choose a level of the set");
  }
  const double bound = std::exp2(params.log_q(level) - 1);
  const std::vector<std::int64_t> integers = context->encoder().embed(values, scale, bound);
  Queue& queue = context->queue();
  Plaintext out{context, {}, level, scale, static_cast<int>(values.size()), extended};
  const Basis basis = extended ? params.extended(level) : params.basis(level);
  out.poly = queue.allocate(context->ring(), basis, Domain::Coeff);
  const Buffer staged = queue.allocate(integers.size() * sizeof(std::int64_t));
  if (!queue.is_dry()) {
    queue.copy_in(staged->data(), integers.data(), integers.size() * sizeof(std::int64_t));
  }
  queue.submit(FromIntegers{{{static_cast<const std::int64_t*>(staged->data()), out.poly.view}}});
  const PolyView eval = out.poly.view.in(Domain::Eval);
  queue.submit(Transform{{{out.poly.view, eval}}});
  out.poly.view = eval;
  return out;
}

namespace {

std::uint64_t power_mod(std::uint64_t x, std::uint64_t e, std::uint64_t q) {
  std::uint64_t r = 1;
  for (x %= q; e != 0; e >>= 1, x = x * x % q) {
    if ((e & 1) != 0) r = r * x % q;
  }
  return r;
}

// Enough leading primes of `basis` to tell integers below 2^62 in size apart, or all of them.
Basis leading_primes(const Ring& ring, const Basis& basis) {
  double bits = 0;
  Basis out;
  for (int i = 0; i < basis.size() && bits < 64; ++i) {
    const auto p = static_cast<std::uint16_t>(basis.prime(i));
    out = out.with(Basis{{p, static_cast<std::uint16_t>(p + 1)}});
    bits += std::log2(ring.prime(p));
  }
  return out;
}

// Centred values from residues (limb after limb) by Garner's mixed radix; modulus below 2^96.
std::vector<double> centred(const Ring& ring, const Basis& basis,
                            const std::vector<std::uint32_t>& residues, double scale) {
  const std::size_t n = static_cast<std::size_t>(ring.n());
  std::vector<__int128> value(n, 0);
  __int128 product = 1;
  for (int i = 0; i < basis.size(); ++i) {
    const std::uint64_t q = ring.prime(basis.prime(i));
    const std::uint64_t inverse = power_mod(static_cast<std::uint64_t>(product % q), q - 2, q);
    for (std::size_t k = 0; k < n; ++k) {
      const std::uint64_t have = static_cast<std::uint64_t>(value[k] % q);
      const std::uint64_t digit = (residues[i * n + k] + q - have) % q * inverse % q;
      value[k] += product * digit;
    }
    product *= q;
  }
  std::vector<double> out(n);
  for (std::size_t k = 0; k < n; ++k) {
    const __int128 v = 2 * value[k] > product ? value[k] - product : value[k];
    out[k] = static_cast<double>(v) / scale;
  }
  return out;
}

}  // namespace

std::vector<Complex> decode(const Plaintext& plaintext) {
  const Context& context = *plaintext.context;
  const Ring& ring = context.ring();
  const Basis basis = leading_primes(ring, plaintext.poly.view.basis());
  const Poly coefficients = context.queue().allocate(ring, basis, Domain::Coeff);
  context.queue().submit(Transform{{{plaintext.poly.view.select(basis), coefficients.view}}});
  std::vector<std::uint32_t> residues(static_cast<std::size_t>(basis.size()) * ring.n());
  context.queue().download(residues.data(), coefficients.view);
  return context.encoder().project(centred(ring, basis, residues, plaintext.scale),
                                   plaintext.slots);
}

}  // namespace latticino::ckks
