#include "ops/check_lwe.h"

#include <bit>
#include <string>

#include "math/errors.h"
#include "math/fourier.h"

namespace latticino {
namespace {

std::string number(const char* what, std::uint64_t x) {
  return std::string(what) + " " + std::to_string(x);
}

void check_modulus(Checker& c, const LweView& v, std::uint32_t modulus, const Label& label) {
  c.require(v.modulus == modulus, label + number(" modulo", v.modulus),
            number("ciphertexts modulo", modulus));
}

void check_dimension(Checker& c, const LweView& v, std::uint64_t dimension, const Label& label) {
  c.require(v.dimension == dimension, label + number(" of dimension", v.dimension),
            number("dimension", dimension));
}

void check_count(Checker& c, std::uint64_t count, std::uint64_t needs, const Label& label) {
  c.require(count == needs, label + number(" with count", count), number("count", needs));
}

// A prime below 2^31, as kernels need it. The parameters check that it is prime.
void check_odd(Checker& c, const LweView& v, const Label& label) {
  c.require(v.modulus % 2 == 1 && v.modulus < (1u << 31), label + number(" modulo", v.modulus),
            "an odd modulus below 2^31");
}

void check_exponents(Checker& c, const LweView& v, const Label& label) {
  c.require((v.modulus & (v.modulus - 1)) == 0 && v.modulus <= (1u << 18),
            label + number(" modulo", v.modulus), "exponents modulo 2N, a power of two");
}

void check_gadget(Checker& c, Gadget g, int bits) {
  c.require(g.log_base >= 1 && g.log_base <= 30 && g.levels >= 1 && g.levels * g.log_base <= bits,
            number("a gadget of levels", g.levels) + number(" in base 2 ^", g.log_base),
            number("at most so many bits in all:", bits));
}

void check_fourier(const char* operation, const fourier::Rotation& rotation) {
  const fourier::Refusal refusal = fourier::refusal(rotation);
  if (refusal.empty()) return;
  throw UnsupportedError(operation, refusal.had + " in FP64", refusal.needs,
                         "set arithmetic to Exact");
}

}  // namespace

void check_record(Checker& c, const LweLinear& op) {
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const LweLinear::Item& item = op.items[i];
    const Label out("out of item", i), label("x of item", i);
    check_odd(c, item.out, out);
    c.require(item.constant < item.out.modulus, number("constant", item.constant),
              "a canonical residue");
    for (const LweLinear::Term& term : item.terms) {
      check_modulus(c, term.x, item.out.modulus, label);
      check_dimension(c, term.x, item.out.dimension, label);
      const bool in_place = term.x.data != nullptr && term.x.data == item.out.data;
      if (term.x.count != 1 || in_place) check_count(c, term.x.count, item.out.count, label);
      c.require(!in_place || term.x.stride == item.out.stride, label + " in place, another stride",
                "the same ciphertexts");
    }
  }
}

void check_record(Checker& c, const LweKeySwitch& op) {
  check_odd(c, op.key, "key");
  check_gadget(c, op.gadget, bit_length(op.key.modulus));
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const LweKeySwitch::Item& item = op.items[i];
    check_modulus(c, item.in, op.key.modulus, Label("in of item", i));
    check_modulus(c, item.out, op.key.modulus, Label("out of item", i));
    check_dimension(c, item.out, op.key.dimension, Label("out of item", i));
    check_count(c, item.out.count, item.in.count, Label("out of item", i));
    check_count(c, op.key.count, std::uint64_t{item.in.dimension} * op.gadget.levels, "key rows");
  }
}

void check_record(Checker& c, const ModSwitch& op) {
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const ModSwitch::Item& item = op.items[i];
    const Label in("in of item", i), out("out of item", i);
    check_odd(c, item.in, in);
    check_exponents(c, item.out, out);
    check_dimension(c, item.out, item.in.dimension, out);
    check_count(c, item.out.count, item.in.count, out);
    c.require(item.in.data != item.out.data || item.in.stride == item.out.stride ||
                  item.in.data == nullptr,
              out + " in place, another stride", "the same ciphertexts");
    c.require(op.log_many >= 0 && (2u << op.log_many) <= item.out.modulus,
              number("log_many", static_cast<std::uint64_t>(op.log_many)),
              number("tables that fit into exponents modulo", item.out.modulus));
  }
}

void check_record(Checker& c, const SampleExtract& op) {
  c.require(op.glwe_dimension >= 1, "a GLWE dimension below 1", "k >= 1");
  const std::uint32_t parts = static_cast<std::uint32_t>(op.glwe_dimension) + 1;
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const SampleExtract::Item& item = op.items[i];
    const Label in("in of item", i), out("out of item", i);
    c.domain(item.in.first, in, {Domain::Coeff});
    c.require(item.in.first.limbs() <= 2, in + " over " + item.in.first.basis().str(),
              "one or two primes");
    c.require(item.in.count % parts == 0, number("polynomials:", item.in.count),
              number("a multiple of", parts));
    check_count(c, item.out.count, std::uint64_t{item.in.count} / parts * item.coefficients.size(),
                out);
    const std::uint32_t n = static_cast<std::uint32_t>(c.ring()->n());
    check_modulus(c, item.out, c.ring()->prime(item.in.first.segment[0].prime), out);
    c.require(op.step != 0 && (op.step & (op.step - 1)) == 0 && op.step <= n,
              number("secrets in X ^", op.step), "a power of two up to N");
    check_dimension(c, item.out, std::uint64_t{parts - 1} * (n / op.step), out);
    for (const std::uint32_t j : item.coefficients) {
      c.require(j < n, number("coefficient", j), number("coefficients below", n));
    }
  }
}

void check_record(Checker& c, const LweSlots& op) {
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const LweSlots::Item& item = op.items[i];
    const Label in("in of item", i);
    const std::uint64_t rows = item.rows.size(), n = item.in.dimension;
    check_odd(c, item.in, in);
    c.require(std::has_single_bit(rows), number("rows:", rows), "a power of two");
    for (const std::int32_t row : item.rows) {
      c.require(row >= -1 && row < static_cast<std::int64_t>(item.in.count),
                "ciphertext " + std::to_string(row), number("-1, or one below", item.in.count));
    }
    if (op.bodies) continue;
    c.require(std::has_single_bit(item.slots) && item.slots >= rows && n * rows % item.slots == 0,
              number("slots:", item.slots),
              "a power of two, at least the rows, with whole columns");
    c.require(item.count > 0 && std::uint64_t{item.first} + item.count <= n * rows / item.slots,
              number("diagonals up to", std::uint64_t{item.first} + item.count),
              number("at least one, at most", n * rows / item.slots));
  }
}

void check_record(Checker& c, const FourierKey& op) {
  c.require(op.glwe_dimension >= 1, "a GLWE dimension below 1", "k >= 1");
  c.require(op.levels >= 1 && op.levels <= 62,
            number("digits:", static_cast<std::uint64_t>(op.levels)), "1 to 62 digits");
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const FourierKey::Item& item = op.items[i];
    const Label in("in of item", i);
    c.domain(item.in.first, in, {Domain::Coeff});
    const Basis basis = item.in.first.basis();
    c.require(basis.size() <= 2, in + " over " + basis.str(), "one or two primes");
    fourier::Rotation shape;  // for sums nothing more is known here
    shape.log_n = c.ring()->log_n();
    shape.glwe_dimension = op.glwe_dimension;
    check_fourier("FourierKey", shape);
    const auto of_key = static_cast<std::uint32_t>(op.polynomials_of_key());
    c.require(item.in.count % of_key == 0, number("polynomials:", item.in.count),
              number("whole keys of", of_key));
  }
}

void check_record(Checker& c, const BlindRotate& op) {
  c.require(op.glwe_dimension >= 1, "a GLWE dimension below 1", "k >= 1");
  c.require(op.group >= 1 && op.group <= 4 && !(op.ternary && op.group != 1),
            number("group", static_cast<std::uint64_t>(op.group)),
            "groups of 1 to 4, ternary secrets in groups of 1");
  const bool fft = op.arithmetic == BlindRotateArithmetic::Fft64;
  c.domain(op.key.first, "key", {Domain::Eval});
  const Basis basis = op.key.first.basis();
  c.require(basis.size() <= 2, "key over " + basis.str(), "one or two primes");
  std::uint64_t q = 1;
  for (int i = 0; i < basis.size(); ++i) q *= c.ring()->prime(basis.prime(i));
  check_gadget(c, op.gadget, bit_length(q));
  if (fft) {
    check_fourier("BlindRotate", {c.ring()->log_n(), op.glwe_dimension, op.group, op.ternary,
                                  op.gadget, basis.size(), q});
  }
  if (basis.size() == 2) {
    const std::uint32_t q0 = c.ring()->prime(basis.prime(0)), q1 = c.ring()->prime(basis.prime(1));
    c.require(q0 / 2 < q1, number("primes", q0) + number(" and", q1),
              "a first prime below twice the second");
  }
  const std::uint32_t parts = static_cast<std::uint32_t>(op.glwe_dimension) + 1;
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const BlindRotate::Item& item = op.items[i];
    const Label out("out of item", i), exponents("exponents of item", i);
    check_modulus(c, item.exponents, 2u * static_cast<std::uint32_t>(c.ring()->n()), exponents);
    c.require(item.exponents.dimension % op.group == 0,
              number("exponents of dimension", item.exponents.dimension),
              "a multiple of the group");
    check_count(c, op.key.count, op.key_index(item.exponents.dimension / op.group, 0, 0, 0),
                "key polynomials");
    c.domain(item.table, Label("table of item", i), {Domain::Coeff});
    c.same_basis(item.table, basis, Label("table of item", i));
    c.domain(item.out.first, out, {Domain::Coeff});
    c.same_basis(item.out.first, basis, out);
    check_count(c, item.out.count, std::uint64_t{item.exponents.count} * parts, out);
  }
}

}  // namespace latticino
