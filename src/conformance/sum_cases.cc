// Linear combinations and sums of products.
#include <algorithm>

#include "conformance/exact.h"
#include "conformance/side.h"

namespace latticino::conformance {
namespace {

using exact::Verdict;
using Operations = std::vector<Operation>;

// Constants of every kind that a kernel may treat on its own: 0, 1, q-1, and random ones.
Words constants(const Ring& ring, const Basis& basis, std::uint64_t salt) {
  Words words;
  for (int k = 0; k < basis.size(); ++k) {
    const std::uint32_t q = ring.prime(basis.prime(k));
    const std::uint64_t r = mix(1000 * salt + k);
    const std::uint32_t special[] = {0, 1, q - 1, q / 2};
    words.push_back(r % 3 == 0 ? special[r / 3 % 4] : static_cast<std::uint32_t>(r % q));
  }
  return words;
}

constexpr std::int32_t kSmall[] = {1, -1, 0, 2, -3, 0x7FFFFFFF, -0x7FFFFFFF - 1};

Case small_combination(const Basis& basis, const Basis& wide, Domain domain) {
  Case c{"Linear", std::string("small integers, ") + name(domain), {}, {}};
  c.build = [=](Side& side) -> Operations {
    Linear::Item item;
    for (const std::int32_t small : kSmall) {
      item.terms.push_back({side.input(wide, domain), small, {}, {}});
    }
    item.out = side.output(basis, domain);
    return {Linear{{item}}};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      const std::uint32_t q = seen.ring->prime(p);
      for (const std::size_t i : exact::positions(seen.n)) {
        std::uint32_t sum = 0;
        for (std::size_t t = 0; t < std::size(kSmall); ++t) {
          sum = exact::add(
              sum, exact::mul(seen.inputs[t].limb(p)[i], exact::residue(kSmall[t], q), q), q);
        }
        verdict.expect("sum", p, i, seen.outputs[0].limb(p)[i], sum);
      }
    }
    return verdict.text();
  };
  return c;
}

// (a + b I) x in the lower half of the indices, (a - b I) x in the upper one, is (a + b X^(N/2)) x.
Case complex_scalar(const Basis& basis) {
  Case c{"Linear", "complex scalar and constant", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    const Ring& ring = side.ring();
    const Words a = constants(ring, basis, 1), b = constants(ring, basis, 2);
    Words lower, upper, rotation;
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      const std::uint32_t q = ring.prime(p), i = exact::power(ring.psi(p), ring.n() / 2, q);
      lower.push_back(exact::add(a[k], exact::mul(b[k], i, q), q));
      upper.push_back(exact::add(a[k], exact::negate(exact::mul(b[k], i, q), q), q));
    }
    const PolyView coeff = side.input(basis, Domain::Coeff),
                   eval = side.output(basis, Domain::Eval);
    const PolyView out = side.output(basis, Domain::Eval), back = side.output(basis, Domain::Coeff);
    return {Transform{{{coeff, eval}}},
            Linear{{{{{eval, 1, lower, upper}, {eval, 1, {}, {}}}, out, lower, upper}}},
            Transform{{{out, back}}}};
  };
  c.exact = [basis](const Observed& seen) {
    Verdict verdict;
    const std::size_t n = seen.ring->n();
    const Words a = constants(*seen.ring, basis, 1), b = constants(*seen.ring, basis, 2);
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      const std::uint32_t q = seen.ring->prime(p);
      const std::uint32_t* x = seen.inputs[0].limb(p);
      for (const std::size_t i : exact::positions(n)) {
        const std::uint32_t shifted = i >= n / 2 ? x[i - n / 2] : exact::negate(x[i + n / 2], q);
        std::uint32_t sum = exact::add(exact::mul(a[k], x[i], q), exact::mul(b[k], shifted, q), q);
        sum = exact::add(sum, x[i], q);
        if (i == 0) sum = exact::add(sum, a[k], q);
        if (i == n / 2) sum = exact::add(sum, b[k], q);
        verdict.expect("coefficient", p, i, seen.outputs[2].limb(p)[i], sum);
      }
    }
    return verdict.text();
  };
  return c;
}

Case linear_in_place(const Basis& basis) {
  Case c{"Linear", "in place, a batch", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    Linear op;
    const PolyView shared = side.input(basis, Domain::Eval);
    for (int k = 0; k < 3; ++k) {
      const PolyView x = side.in_out(basis, Domain::Eval);
      op.items.push_back({{{shared, 1, constants(side.ring(), basis, k), {}}, {x, -5, {}, {}}},
                          x,
                          k == 1 ? constants(side.ring(), basis, 9) : Words{},
                          {}});
    }
    op.items.push_back(
        {{}, side.output(basis, Domain::Eval), constants(side.ring(), basis, 4), {}});
    op.items.push_back({{}, side.output(basis, Domain::Coeff), {}, {}});
    return {op};
  };
  return c;
}

// Coefficients and constants that are read from memory, beside others; in place as well.
Case stored_scalars(const Basis& basis) {
  Case c{"Linear", "residues in memory", {}, {}};
  const std::uint32_t limbs = basis.size();
  c.build = [=](Side& side) -> Operations {
    std::uint32_t least = side.ring().prime(basis.prime(0));
    for (int k = 1; k < basis.size(); ++k) {
      least = std::min(least, side.ring().prime(basis.prime(k)));
    }
    const PolyView x = side.input(basis, Domain::Eval), y = side.input(basis, Domain::Eval);
    // Residues of every prime.
    const std::uint32_t* factor = side.input_lwe(least, 2 * limbs - 1, 1).ciphertext(0);
    const std::uint32_t* constant = side.input_lwe(least, 2 * limbs - 1, 1).ciphertext(0);
    const PolyView z = side.in_out(basis, Domain::Eval), out = side.output(basis, Domain::Eval);
    return {Linear{{{.terms = {{.x = x, .stored = factor}, {.x = y, .small = -3}},
                     .out = out,
                     .constant_stored = constant},
                    {.terms = {{.x = y, .residues = constants(side.ring(), basis, 3)},
                               {.x = z, .stored = constant}},
                     .out = z}}}};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const std::uint32_t *factor = seen.input_words[2]->data(),
                        *constant = seen.input_words[3]->data();
    const Words known = constants(*seen.ring, basis, 3);
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      const std::uint32_t q = seen.ring->prime(p);
      const std::uint32_t *x = seen.inputs[0].limb(p), *y = seen.inputs[1].limb(p);
      for (const std::size_t i : exact::positions(seen.n)) {
        const std::size_t at = k + (i >= seen.n / 2 ? limbs : 0);
        std::uint32_t sum = exact::add(exact::mul(factor[at], x[i], q), constant[at], q);
        sum = exact::add(sum, exact::mul(exact::residue(-3, q), y[i], q), q);
        verdict.expect("sum", p, i, seen.outputs[1].limb(p)[i], sum);
        sum = exact::add(exact::mul(known[k], y[i], q),
                         exact::mul(constant[at], seen.inputs[2].limb(p)[i], q), q);
        verdict.expect("in place", p, i, seen.outputs[0].limb(p)[i], sum);
      }
    }
    return verdict.text();
  };
  return c;
}

// The terms of output o, which are the inputs that it reads.
std::vector<int> dot_terms(int output, int inputs) {
  std::vector<int> terms;
  for (int i = 0; i < inputs; ++i) {
    if (output == 0 || i % 2 == 0) terms.push_back(i);
  }
  return terms;
}

Case dot(const Basis& basis, const Basis& wide, int parts, int inputs, bool accumulate) {
  Case c{"Dot",
         std::to_string(parts) + " parts, " + std::to_string(inputs) + " inputs" +
             (accumulate ? ", accumulated" : ""),
         {},
         {}};
  c.build = [=](Side& side) -> Operations {
    Dot op;
    op.parts = parts;
    op.inputs.resize(inputs);
    for (auto& input : op.inputs) {
      for (int part = 0; part < parts; ++part) input[part] = side.input(wide, Domain::Eval);
    }
    for (int o = 0; o < 2; ++o) {
      Dot::Output output;
      for (const int i : dot_terms(o, inputs)) {
        output.terms.push_back({i, side.input(basis, Domain::Eval)});
      }
      for (int part = 0; part < parts; ++part) {
        output.out[part] =
            accumulate ? side.in_out(basis, Domain::Eval) : side.output(basis, Domain::Eval);
      }
      output.accumulate = accumulate;
      op.outputs.push_back(output);
    }
    return {op};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    // The factors come after the inputs.
    std::size_t next = static_cast<std::size_t>(parts) * inputs;
    for (int o = 0; o < 2; ++o) {
      const std::vector<int> terms = dot_terms(o, inputs);
      for (int k = 0; k < basis.size(); ++k) {
        const int p = basis.prime(k);
        const std::uint32_t q = seen.ring->prime(p);
        for (int part = 0; part < parts; ++part) {
          for (const std::size_t i : exact::positions(seen.n)) {
            std::uint32_t sum = accumulate ? seen.inputs[next + terms.size() + part].limb(p)[i] : 0;
            for (std::size_t t = 0; t < terms.size(); ++t) {
              sum = exact::add(sum,
                               exact::mul(seen.inputs[parts * terms[t] + part].limb(p)[i],
                                          seen.inputs[next + t].limb(p)[i], q),
                               q);
            }
            verdict.expect("sum", p, i, seen.outputs[parts * o + part].limb(p)[i], sum);
          }
        }
      }
      next += terms.size() + (accumulate ? parts : 0);
    }
    return verdict.text();
  };
  return c;
}

Case dot_bases(const Basis& basis, const Basis& some) {
  Case c{"Dot", "outputs over different primes", {}, {}};
  c.build = [=](Side& side) -> Operations {
    Dot op;
    op.parts = 1;
    op.inputs.push_back({side.input(basis, Domain::Eval), {}, {}});
    for (const Basis& b : {some, basis, basis, some, basis}) {
      op.outputs.push_back(
          {{{0, side.input(b, Domain::Eval)}}, {side.output(b, Domain::Eval), {}, {}}, false});
    }
    return {op};
  };
  return c;
}
Case dot_in_place(const Basis& basis) {
  Case c{"Dot", "outputs over their own inputs", {}, {}};
  c.build = [basis](Side& side) -> Operations {
    Dot op;
    for (int o = 0; o < 2; ++o) {
      op.inputs.push_back({side.in_out(basis, Domain::Eval), side.in_out(basis, Domain::Eval), {}});
      op.outputs.push_back({{{o, side.input(basis, Domain::Eval)}}, op.inputs[o], o == 1});
    }
    return {op};
  };
  return c;
}

// Squares and products, once and twice, with terms and a constant of one and of two halves.
Case tensor_combination(const Basis& basis, const Basis& wide) {
  Case c{"Tensor", "with a linear combination", {}, {}};
  c.build = [=](Side& side) -> Operations {
    const Ring& ring = side.ring();
    const auto pair = [&](const Basis& b) -> std::array<PolyView, 2> {
      return {side.input(b, Domain::Eval), side.input(b, Domain::Eval)};
    };
    const std::array<PolyView, 2> a = pair(basis), b = pair(wide), x = pair(wide), y = pair(basis);
    Tensor op;
    for (int i = 0; i < 3; ++i) {
      Tensor::Item& item = op.items.emplace_back();
      item.pairs.push_back({a, i == 1 ? a : b});
      for (PolyView& out : item.out) out = side.output(basis, Domain::Eval);
      item.factor = i == 2 ? 1 : 2;
      if (i == 1) continue;
      item.terms.push_back({x, constants(ring, basis, 1), {}});
      item.terms.push_back({y, constants(ring, basis, 2), constants(ring, basis, 3)});
      item.constant = constants(ring, basis, 4);
      if (i == 2) item.constant_upper = constants(ring, basis, 5);
    }
    return {op};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const auto& in = seen.inputs;
    Words word[6];
    for (int s = 1; s < 6; ++s) word[s] = constants(*seen.ring, basis, s);
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      const std::uint32_t q = seen.ring->prime(p);
      for (const std::size_t i : exact::positions(seen.n)) {
        const bool upper = i >= seen.n / 2;
        const auto at = [&](int v) { return in[v].limb(p)[i]; };
        const auto product = [&](int v, int w) { return exact::mul(at(v), at(w), q); };
        const auto rest = [&](int h) {
          return exact::add(exact::mul(at(4 + h), word[1][k], q),
                            exact::mul(at(6 + h), word[upper ? 3 : 2][k], q), q);
        };
        const std::uint32_t d[3] = {product(0, 2), exact::add(product(0, 3), product(1, 2), q),
                                    product(1, 3)};
        for (int h = 0; h < 3; ++h) {
          const std::uint32_t more = h < 2 ? rest(h) : 0;
          const std::uint32_t one = exact::add(d[h], more, q), two = exact::add(d[h], one, q);
          const auto expect = [&](int out, std::uint32_t value, int constant) {
            if (h == 0) value = exact::add(value, word[constant][k], q);
            verdict.expect("sum", p, i, seen.outputs[out].limb(p)[i], value);
          };
          expect(h, two, 4);
          expect(6 + h, one, upper ? 5 : 4);
        }
        verdict.expect("square", p, i, seen.outputs[3].limb(p)[i],
                       exact::add(product(0, 0), product(0, 0), q));
      }
    }
    return verdict.text();
  };
  return c;
}

// Factors of a subring beside whole ones, and some that lack primes of the outputs, whose inputs
// then need not have them.
Case dot_repeating(const Basis& basis, const Basis& some) {
  Case c{"Dot", "factors that repeat or lack primes", {}, {}};
  c.build = [=](Side& side) -> Operations {
    Dot op;
    for (const Basis& b : {some, basis, basis}) {
      op.inputs.push_back({side.input(b, Domain::Eval), side.input(b, Domain::Eval), {}});
    }
    const PolyView lacking = side.subring_input(some, Domain::Eval);
    const PolyView repeating = side.subring_input(basis, Domain::Eval);
    const PolyView whole = side.input(basis, Domain::Eval);
    const PolyView whole_lacking = side.input(some, Domain::Eval);
    const auto output = [&](std::vector<Dot::Term> terms) {
      op.outputs.push_back(
          {std::move(terms),
           {side.output(basis, Domain::Eval), side.output(basis, Domain::Eval), {}},
           false});
    };
    output({{0, lacking}, {1, repeating}, {2, whole}});
    output({{2, repeating}, {0, whole_lacking}});
    output({{0, lacking}});
    return {op};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const auto& in = seen.inputs;
    for (int k = 0; k < basis.size(); ++k) {
      const int p = basis.prime(k);
      const std::uint32_t q = seen.ring->prime(p);
      for (int part = 0; part < 2; ++part) {
        for (const std::size_t i : exact::positions(seen.n)) {
          const auto term = [&](int input, int factor, std::size_t at) {
            const std::uint32_t* f = in[factor].limb(p);
            return f == nullptr ? 0u : exact::mul(in[2 * input + part].limb(p)[i], f[at], q);
          };
          const std::uint32_t first =
              exact::add(term(0, 6, i / 4), exact::add(term(1, 7, i / 4), term(2, 8, i), q), q);
          verdict.expect("sum", p, i, seen.outputs[part].limb(p)[i], first);
          verdict.expect("sum", p, i, seen.outputs[2 + part].limb(p)[i],
                         exact::add(term(2, 7, i / 4), term(0, 9, i), q));
          verdict.expect("term", p, i, seen.outputs[4 + part].limb(p)[i], term(0, 6, i / 4));
        }
      }
    }
    return verdict.text();
  };
  return c;
}

}  // namespace

std::vector<Case> linear_cases(const Basis& basis, const Basis& wide) {
  return {small_combination(basis, wide, Domain::Eval),
          small_combination(basis, basis, Domain::Half),
          complex_scalar(basis),
          linear_in_place(basis),
          stored_scalars(basis),
          tensor_combination(basis, wide)};
}

std::vector<Case> dot_cases(const Ring& ring, const Basis& basis, const Basis& wide) {
  std::vector<Case> cases = {dot(basis, wide, 2, 3, false), dot(basis, basis, 1, 13, true),
                             dot(basis, basis, 3, 1, true), dot_in_place(basis)};
  const PrimeRange first = basis.run(0);
  const Basis some{{first.begin, std::uint16_t(first.begin + 1)}};
  cases.push_back(dot_bases(basis, some));
  if (ring.log_n() >= 12) cases.push_back(dot_repeating(basis, some));
  return cases;
}

}  // namespace latticino::conformance
