#include "tfhe/table.h"

#include <algorithm>
#include <bit>
#include <string>

#include "math/errors.h"

namespace latticino::tfhe {
namespace {

// Coefficients modulo the LWE modulus q0 on the device. Over two primes they are multiplied by the
// second, which the extraction divides by: 0 modulo it.
Poly upload(const Context& context, const std::vector<std::uint32_t>& coefficients) {
  const Ring& ring = context.ring();
  const Basis basis = context.basis();
  Poly poly = context.queue().allocate(ring, basis, Domain::Coeff);
  if (context.is_dry()) return poly;
  const std::size_t n = coefficients.size();
  std::vector<std::uint32_t> words(n * basis.size(), 0);
  const Modulus m = make_modulus(ring.prime(0));
  const std::uint32_t factor = basis.size() == 2 ? ring.prime(1) % m.q : 1;
  for (std::size_t i = 0; i < n; ++i) words[i] = mul_mod(coefficients[i], factor, m);
  context.queue().upload(poly.view, words.data());
  return poly;
}

void require_shape(const TfheParams& params, std::span<const std::vector<std::uint32_t>> values) {
  const std::uint32_t messages = message_count(params, Encoding::Padded);
  if (!std::has_single_bit(values.size())) {
    throw ShapeError("tfhe.table", std::to_string(values.size()) + " functions", "a power of two",
                     "repeat one of them");
  }
  const std::size_t entries = values[0].size();
  for (const auto& f : values) {
    if (f.size() != entries || !std::has_single_bit(f.size()) || f.size() > messages) {
      throw ShapeError("tfhe.table", std::to_string(f.size()) + " entries",
                       "one per message: a power of two up to " + std::to_string(messages) +
                           ", the same for every function",
                       "list every message");
    }
  }
  // Half a box must have a position for every function.
  if (values.size() * 2 * entries > static_cast<std::size_t>(params.n())) {
    throw ShapeError(
        "tfhe.table", std::to_string(values.size()) + " functions",
        "at most " + std::to_string(static_cast<std::size_t>(params.n()) / (2 * entries)),
        "split them over several tables");
  }
}

}  // namespace

Table make_table(const std::shared_ptr<const Context>& context,
                 std::span<const std::vector<std::uint32_t>> values, Encoding out) {
  const TfheParams& params = context->params();
  require_shape(params, values);
  Table table;
  table.context = context;
  table.log_many = std::countr_zero(values.size());
  table.log_factor = params.plain_bits() - std::countr_zero(values[0].size());
  table.out = out;
  for (const auto& f : values) table.largest.push_back(*std::max_element(f.begin(), f.end()));
  const std::uint32_t n = static_cast<std::uint32_t>(params.n());
  const std::uint32_t box = n / static_cast<std::uint32_t>(values[0].size());
  std::vector<std::uint32_t> coefficients(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t position = i & ~(table.count() - 1), m = (position + box / 2) / box;
    const std::vector<std::uint32_t>& f = values[i - position];
    // Half a box below zero is the negative of the end.
    coefficients[i] = m < f.size() ? encode(params, out, f[m])
                                   : neg_mod(encode(params, out, f[0]), params.lwe_modulus());
  }
  table.polynomial = upload(*context, coefficients);
  return table;
}

Table make_table(const std::shared_ptr<const Context>& context,
                 const std::function<std::uint32_t(std::uint32_t)>& f, Encoding out) {
  std::vector<std::uint32_t> values;
  for (std::uint32_t m = 0; m < message_count(context->params(), Encoding::Padded); ++m) {
    values.push_back(f(m));
  }
  return make_table(context, {&values, 1}, out);
}

Poly constant_polynomial(const Context& context, std::uint32_t c) {
  return upload(context, std::vector<std::uint32_t>(context.params().n(), c));
}

}  // namespace latticino::tfhe
