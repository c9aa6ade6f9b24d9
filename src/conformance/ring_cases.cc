// Cases of the records that need nothing but a ring.
#include <algorithm>

#include "conformance/exact.h"
#include "conformance/side.h"

namespace latticino::conformance {
namespace {

using exact::Verdict;
using Operations = std::vector<Operation>;

constexpr Domain kDomains[] = {Domain::Coeff, Domain::Half, Domain::Eval};

// The Half or Eval entry i of a polynomial, from its coefficients. Half: the column polynomial at
// an odd power of psi^cols (poly/domain.h).
std::uint32_t entry(const std::uint32_t* coefficients, const Ring& ring, int prime, Domain domain,
                    std::uint32_t i) {
  const std::uint32_t q = ring.prime(prime), psi = ring.psi(prime);
  if (domain == Domain::Coeff) return coefficients[i];
  if (domain == Domain::Eval) {
    const std::uint32_t exponent = 2 * exact::reverse_bits(i, ring.log_n()) + 1;
    return exact::evaluate(coefficients, ring.n(), exact::power(psi, exponent, q), q);
  }
  const int log_rows = half_log_rows(ring.log_n());
  const std::uint32_t rows = 1u << log_rows, cols = ring.n() / rows;
  Words column(rows);
  for (std::uint32_t r = 0; r < rows; ++r) column[r] = coefficients[r * cols + i % cols];
  const std::uint64_t exponent = cols * (2ull * exact::reverse_bits(i / cols, log_rows) + 1);
  return exact::evaluate(column.data(), rows, exact::power(psi, exponent, q), q);
}

Case all_transforms(const Basis& basis) {
  Case c{"Transform", "all pairs of domains", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    Transform op;
    for (const Domain from : kDomains) {
      const PolyView in = side.input(basis, from);
      for (const Domain to : kDomains) op.items.push_back({in, side.output(basis, to)});
    }
    return {op};
  };
  c.exact = [basis](const Observed& seen) {
    Verdict verdict;
    const Ring& ring = *seen.ring;
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      for (const std::size_t i : exact::samples(ring.n())) {
        for (int from = 0; from < 3; ++from) {
          const std::uint32_t* coeff = seen.outputs[3 * from].limb(p);
          verdict.expect("coefficients and input", p, i, seen.inputs[from].limb(p)[i],
                         entry(coeff, ring, p, kDomains[from], i));
          for (int to = 1; to < 3; ++to) {
            verdict.expect(name(kDomains[to]), p, i, seen.outputs[3 * from + to].limb(p)[i],
                           entry(coeff, ring, p, kDomains[to], i));
          }
        }
      }
    }
    return verdict.text();
  };
  return c;
}

Case transforms_in_place(const Basis& basis) {
  Case c{"Transform", "in place", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    Transform op;
    for (const Domain from : kDomains) {
      for (const Domain to : kDomains) {
        if (from == to) continue;
        const PolyView view = side.in_out(basis, from, to);
        op.items.push_back({view, view.in(to)});
      }
    }
    return {op};
  };
  return c;
}

// A product that is transformed to Half, alone and next to an item without a product.
Case transforms_of_products(const Basis& basis) {
  Case c{"Transform", "products", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    const PolyView a = side.input(basis, Domain::Eval), b = side.input(basis, Domain::Eval);
    const PolyView half = side.output(basis, Domain::Half);
    const PolyView square = side.output(basis, Domain::Half);
    return {Transform{{{a, half, b},
                       {a, square, a},
                       {b, side.output(basis, Domain::Half)},
                       {b, side.output(basis, Domain::Coeff)}}},
            Transform{{{half, side.output(basis, Domain::Eval)},
                       {square, side.output(basis, Domain::Eval)}}}};
  };
  c.exact = [basis](const Observed& seen) {
    Verdict verdict;
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      const std::uint32_t q = seen.ring->prime(p);
      const std::uint32_t *a = seen.inputs[0].limb(p), *b = seen.inputs[1].limb(p);
      for (const std::size_t i : exact::samples(seen.n)) {
        verdict.expect("product", p, i, seen.outputs[4].limb(p)[i], exact::mul(a[i], b[i], q));
        verdict.expect("square", p, i, seen.outputs[5].limb(p)[i], exact::mul(a[i], a[i], q));
      }
    }
    return verdict.text();
  };
  return c;
}

// Segments that do not touch, with limbs in another order than those of the view next to it.
Case transforms_apart(const Basis& basis) {
  const auto first = static_cast<std::uint16_t>(basis.prime(0));
  const auto last = static_cast<std::uint16_t>(basis.prime(basis.size() - 1));
  const Basis ends{{first, static_cast<std::uint16_t>(first + 1)},
                   {last, static_cast<std::uint16_t>(last + 1)}};
  Case c{"Transform", "limbs apart", {}, {}};
  c.build = [basis, ends](Side& side) -> Operations {
    const PolyView a = side.input(basis, Domain::Coeff).select(ends);
    const PolyView b = side.input(basis, Domain::Eval).select(ends);
    return {
        Transform{{{a, side.output(ends, Domain::Eval)}, {b, side.output(ends, Domain::Half)}}}};
  };
  return c;
}

// Several polynomials each way, with the same primes and with others, some of them in place.
Case transforms_of_batches(const Basis& basis) {
  const auto last = static_cast<std::uint16_t>(basis.prime(basis.size() - 1));
  const Basis part{{last, static_cast<std::uint16_t>(last + 1)}};
  Case c{"Transform", "batches", {}, {}};
  c.build = [basis, part](Side& side) -> Operations {
    Transform alike, mixed;
    for (const auto& [from, to] :
         {std::pair(Domain::Coeff, Domain::Eval), std::pair(Domain::Eval, Domain::Coeff)}) {
      for (int i = 0; i < 5; ++i) {
        const PolyView in = i == 1 ? side.in_out(basis, from, to) : side.input(basis, from);
        alike.items.push_back({in, i == 1 ? in.in(to) : side.output(basis, to)});
      }
      for (const Basis& b : {basis, part}) {
        mixed.items.push_back({side.input(b, from), side.output(b, to)});
      }
    }
    return {alike, mixed};
  };
  return c;
}

Case negacyclic_product(const Basis& basis) {
  Case c{"Tensor", "product of polynomials", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    std::array<PolyView, 4> coeff, eval;
    Transform in;
    for (int i = 0; i < 4; ++i) {
      coeff[i] = side.input(basis, Domain::Coeff);
      eval[i] = side.output(basis, Domain::Eval);
      in.items.push_back({coeff[i], eval[i]});
    }
    Tensor::Item item;
    item.pairs = {{{eval[0], eval[1]}, {eval[2], eval[3]}}};
    Transform back;
    for (PolyView& out : item.out) out = side.output(basis, Domain::Eval);
    for (const PolyView& out : item.out) {
      back.items.push_back({out, side.output(basis, Domain::Coeff)});
    }
    return {in, Tensor{{item}}, back};
  };
  c.exact = [basis](const Observed& seen) {
    Verdict verdict;
    const std::size_t n = seen.ring->n();
    // Coefficient i of x y modulo X^N + 1.
    const auto schoolbook = [&](int x, int y, int p, std::size_t i) {
      const std::uint32_t q = seen.ring->prime(p);
      const std::uint32_t *a = seen.inputs[x].limb(p), *b = seen.inputs[y].limb(p);
      std::uint64_t sum = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const std::uint64_t t = exact::mul(a[k], b[(i + n - k) % n], q);
        sum += k <= i ? t : q - t;
      }
      return static_cast<std::uint32_t>(sum % q);
    };
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      for (const std::size_t i : exact::samples(n)) {
        const std::uint32_t want[3] = {
            schoolbook(0, 2, p, i),
            exact::add(schoolbook(0, 3, p, i), schoolbook(1, 2, p, i), seen.ring->prime(p)),
            schoolbook(1, 3, p, i)};
        for (int part = 0; part < 3; ++part) {
          verdict.expect("coefficient", p, i, seen.outputs[7 + part].limb(p)[i], want[part]);
        }
      }
    }
    return verdict.text();
  };
  return c;
}

Case tensor_sums(const Basis& basis, const Basis& wide) {
  Case c{"Tensor", "square, and a sum of products with wider inputs", {}, {}};
  c.build = [=](Side& side) -> Operations {
    Tensor op;
    const std::array<PolyView, 2> a = {side.input(wide, Domain::Eval),
                                       side.input(basis, Domain::Eval)};
    for (int pairs = 1; pairs <= 5; pairs += 4) {  // 1 and 5
      Tensor::Item item;
      item.pairs.push_back({a, a});
      for (int k = 1; k < pairs; ++k) {
        item.pairs.push_back({a, {side.input(wide, Domain::Eval), side.input(wide, Domain::Eval)}});
      }
      for (PolyView& out : item.out) out = side.output(basis, Domain::Eval);
      op.items.push_back(item);
    }
    return {op};
  };
  return c;
}

Case automorphisms(const Basis& basis, Domain domain) {
  Case c{"Automorphism", std::string("one and a sum, ") + name(domain), {}, {}};
  const auto elements = [](const Ring& ring) {
    const auto two_n = 2u * ring.n();
    return std::array<std::uint32_t, 4>{5, two_n - 1, two_n / 2 + 1,
                                        exact::power(5, ring.n() / 8 + 3, two_n)};
  };
  c.build = [=](Side& side) -> Operations {
    Automorphism op{
        {{{{side.input(basis, domain), elements(side.ring())[0]}}, side.output(basis, domain)}}};
    Automorphism::Item sum;
    for (const std::uint32_t g : elements(side.ring())) {
      sum.terms.push_back({side.input(basis, domain), g});
    }
    sum.out = side.output(basis, domain);
    op.items.push_back(sum);
    return {op};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const std::uint64_t n = seen.ring->n();
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      const std::uint32_t q = seen.ring->prime(p);
      for (const std::size_t at : exact::samples(n)) {
        std::uint32_t sum = 0;
        std::size_t term = 1;
        for (const std::uint32_t g : elements(*seen.ring)) {
          const std::uint32_t* x = seen.inputs[term++].limb(p);
          if (domain == Domain::Eval) {
            sum = exact::add(sum, x[exact::source_index(at, g, seen.ring->log_n())], q);
          } else {
            for (std::uint64_t i = 0; i < n; ++i) {  // every i that g sends to `at`
              const std::uint64_t to = i * g % (2 * n);
              if (to % n == at) sum = exact::add(sum, to < n ? x[i] : exact::negate(x[i], q), q);
            }
          }
        }
        verdict.expect("sum", p, at, seen.outputs[1].limb(p)[at], sum);
      }
    }
    return verdict.text();
  };
  return c;
}

Case integers(const Basis& basis) {
  Case c{"FromIntegers", "two polynomials", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    const std::int64_t *a = side.integers(), *b = side.integers();
    return {FromIntegers{
        {{a, side.output(basis, Domain::Coeff)}, {b, side.output(basis, Domain::Coeff)}}}};
  };
  c.exact = [basis](const Observed& seen) {
    Verdict verdict;
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      const std::vector<std::int64_t>& values = (*seen.integers)[1];
      for (const std::size_t i : exact::positions(values.size())) {
        verdict.expect("residue", p, i, seen.outputs[1].limb(p)[i],
                       exact::residue(values[i], seen.ring->prime(p)));
      }
    }
    return verdict.text();
  };
  return c;
}

Case mod_raise(const Basis& from, const Basis& to) {
  Case c{"ModRaise", std::to_string(from.size()) + " primes", {}, {}};
  c.build = [=](Side& side) -> Operations {
    return {ModRaise{{{side.input(from, Domain::Coeff), side.output(to, Domain::Coeff)},
                      {side.input(from, Domain::Coeff), side.output(to, Domain::Coeff)}}}};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const std::vector<std::uint32_t> q = exact::primes(*seen.ring, from);
    const BigUint modulus = product(q);
    for (const std::size_t i : exact::positions(seen.n)) {
      std::vector<std::uint32_t> residues;
      residues.reserve(from.size());
      for (int k = 0; k < from.size(); ++k) {
        residues.push_back(seen.inputs[0].limb(from.prime(k))[i]);
      }
      BigUint x = exact::reconstruct(residues, q), twice = x;
      twice += x;
      const bool negative = twice > modulus;
      if (negative) {
        BigUint magnitude = modulus;
        magnitude -= x;
        x = magnitude;
      }
      for (int k = 0; k < to.size(); ++k) {
        const int p = to.prime(k);
        const std::uint32_t r = x.mod(seen.ring->prime(p));
        verdict.expect("residue", p, i, seen.outputs[0].limb(p)[i],
                       negative ? exact::negate(r, seen.ring->prime(p)) : r);
      }
    }
    return verdict.text();
  };
  return c;
}

Case copies(const Basis& basis) {
  Case c{"Copy", "copy and clear", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    const PolyView x = side.input(basis, Domain::Half);
    return {Copy{{{x, side.output(basis, Domain::Half)}, {{}, side.output(basis, Domain::Eval)}}}};
  };
  c.exact = [basis](const Observed& seen) {
    Verdict verdict;
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      for (std::size_t i = 0; i < seen.n; ++i) {
        verdict.expect("copy", p, i, seen.outputs[0].limb(p)[i], seen.inputs[0].limb(p)[i]);
        verdict.expect("clear", p, i, seen.outputs[1].limb(p)[i], 0);
      }
    }
    return verdict.text();
  };
  return c;
}

}  // namespace

std::vector<Case> linear_cases(const Basis& basis, const Basis& wide);
std::vector<Case> dot_cases(const Ring& ring, const Basis& basis, const Basis& wide);
std::vector<Case> slot_cases(const Basis& basis);
std::vector<Case> seed_cases(const Basis& basis);

std::vector<Case> ring_cases(const Ring& ring, const Basis& basis) {
  const Basis wide{
      {static_cast<std::uint16_t>(basis.prime(0)), static_cast<std::uint16_t>(ring.prime_count())}};
  std::vector<Case> cases = {all_transforms(basis),
                             transforms_in_place(basis),
                             transforms_of_products(basis),
                             transforms_of_batches(basis),
                             negacyclic_product(basis),
                             tensor_sums(basis, wide),
                             automorphisms(basis, Domain::Eval),
                             automorphisms(basis, Domain::Coeff),
                             integers(basis),
                             copies(basis)};
  if (basis.size() >= 3) cases.push_back(transforms_apart(basis));
  const auto first = static_cast<std::uint16_t>(basis.prime(0));
  for (const int count : {1, 2}) {
    if (basis.size() < count) continue;
    const Basis from{{first, static_cast<std::uint16_t>(first + count)}};
    cases.push_back(mod_raise(from, basis));
  }
  for (const auto& more : {linear_cases(basis, wide), dot_cases(ring, basis, wide),
                           slot_cases(basis), seed_cases(basis)}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace latticino::conformance
