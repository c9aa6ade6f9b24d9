// The records of TFHE, against schoolbook arithmetic on integers.
#include "conformance/exact.h"
#include "conformance/side.h"

namespace latticino::conformance {
namespace {

using exact::Verdict;
using Operations = std::vector<Operation>;
__extension__ typedef __int128 Big;

std::int64_t floor_div(Big a, Big b) {
  const Big quotient = a / b;
  return static_cast<std::int64_t>(quotient * b > a ? quotient - 1 : quotient);
}

int bits_of(std::uint64_t x) { return x == 0 ? 0 : 1 + bits_of(x / 2); }

// Representative in (-q/2, q/2).
std::int64_t centred(std::uint64_t x, std::uint64_t q) {
  return static_cast<std::int64_t>(x) - (2 * x > q ? static_cast<std::int64_t>(q) : 0);
}

// Digits of a centred integer, most significant first.
std::vector<std::int64_t> digits(std::int64_t x, Gadget g, int bits) {
  const int shift = bits - g.levels * g.log_base;
  const std::int64_t base = std::int64_t{1} << g.log_base;
  std::int64_t y = shift == 0 ? x : floor_div(Big{2} * x + (Big{1} << shift), Big{2} << shift);
  std::vector<std::int64_t> out(g.levels);
  for (int i = g.levels - 1; i > 0; --i) {
    const std::int64_t up = floor_div(Big{y} + base / 2, base);
    out[i] = y - base * up;
    y = up;
  }
  out[0] = y;
  return out;
}

Gadget gadget_for(std::uint64_t q, int levels) {
  return {(bits_of(q) - 3) / levels < 9 ? (bits_of(q) - 3) / levels : 9, levels};
}

// Ciphertexts of a batch as the side laid them out.
struct Batch {
  const Words& words;
  std::size_t dimension, count;
  const std::uint32_t* operator[](std::size_t i) const {
    return count == 1 ? words.data()
                      : words.data() + i * ((words.size() - dimension - 1) / (count - 1));
  }
};

Case linear(std::uint32_t q) {
  constexpr std::uint32_t kDimension = 77, kCount = 5;
  static constexpr std::int32_t kFactors[] = {1, -2, 0x7FFFFFFF, -0x7FFFFFFF - 1};
  Case c{"LweLinear", "modulo " + std::to_string(q), {}, {}};
  c.build = [=](Side& side) -> Operations {
    LweLinear::Item sum;
    for (const std::int32_t factor : kFactors) {
      const std::uint32_t count = factor == -2 ? 1 : kCount;
      sum.terms.push_back({side.input_lwe(q, kDimension, count), factor});
    }
    sum.out = side.output_lwe(q, kDimension, kCount);
    sum.constant = q - 2;
    LweLinear::Item trivial;
    trivial.out = side.output_lwe(q, kDimension, 2);
    trivial.constant = 1;
    const LweView twice = side.output_lwe(q, kDimension, kCount);
    return {LweLinear{{sum, trivial, {{{sum.terms[0].x, 3}}, twice, 0}}},
            LweLinear{{{{{twice, -1}, {sum.out, 1}}, twice, 5}}}};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    for (std::size_t i = 0; i < kCount; ++i) {
      for (std::size_t k = 0; k <= kDimension; ++k) {
        std::uint32_t sum = k == kDimension ? q - 2 : 0;
        for (std::size_t t = 0; t < 4; ++t) {
          const std::size_t count = t == 1 ? 1 : kCount;
          const Batch x{*seen.input_words[t], kDimension, count};
          sum = exact::add(
              sum, exact::mul(x[count == 1 ? 0 : i][k], exact::residue(kFactors[t], q), q), q);
        }
        const Batch out{*seen.output_words[0], kDimension, kCount};
        verdict.expect("sum", 0, k, out[i][k], sum);
      }
    }
    const Batch one{*seen.output_words[1], kDimension, 2};
    verdict.expect("trivial body", 0, kDimension, one[1][kDimension], 1);
    verdict.expect("trivial mask", 0, 3, one[1][3], 0);
    return verdict.text();
  };
  return c;
}

Case key_switch(std::uint32_t q, std::uint32_t out_dimension, std::uint32_t count, int levels) {
  constexpr std::uint32_t kIn = 150;
  const Gadget g = gadget_for(q, levels);
  Case c{"LweKeySwitch",
         std::to_string(count) + " to dimension " + std::to_string(out_dimension) + ", " +
             std::to_string(levels) + " digits",
         {},
         {}};
  c.build = [=](Side& side) -> Operations {
    const LweView key = side.input_lwe(q, out_dimension, kIn * levels);
    const LweView in = side.input_lwe(q, kIn, count);
    return {LweKeySwitch{key, g, {{in, side.output_lwe(q, out_dimension, count)}}}};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const Batch key{*seen.input_words[0], out_dimension, static_cast<std::size_t>(kIn) * levels};
    const Batch in{*seen.input_words[1], kIn, count},
        out{*seen.output_words[0], out_dimension, count};
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<std::uint32_t> sum(out_dimension + 1, 0);
      sum[out_dimension] = in[k][kIn];
      for (std::size_t i = 0; i < kIn; ++i) {
        const std::vector<std::int64_t> d = digits(centred(in[k][i], q), g, bits_of(q));
        for (int j = 0; j < levels; ++j) {
          for (std::size_t w = 0; w <= out_dimension; ++w) {
            sum[w] = exact::add(sum[w],
                                exact::mul(exact::residue(d[j], q), key[i * levels + j][w], q), q);
          }
        }
      }
      for (std::size_t w = 0; w <= out_dimension; ++w)
        verdict.expect("word", 0, w, out[k][w], sum[w]);
    }
    return verdict.text();
  };
  return c;
}

Case mod_switch(std::uint32_t q, std::uint32_t two_n, bool centre, int log_many) {
  constexpr std::uint32_t kDimension = 93, kCount = 4;
  Case c{"ModSwitch",
         "to " + std::to_string(two_n) + (centre ? ", centred, " : ", ") +
             std::to_string(1 << log_many) + " tables",
         {},
         {}};
  c.build = [=](Side& side) -> Operations {
    const LweView in = side.input_lwe(q, kDimension, kCount);
    return {ModSwitch{centre, log_many, {{in, side.output_lwe(two_n, kDimension, kCount)}}}};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const Batch in{*seen.input_words[0], kDimension, kCount};
    const Batch out{*seen.output_words[0], kDimension, kCount};
    const std::int64_t m = two_n >> log_many;
    for (std::size_t k = 0; k < kCount; ++k) {
      Big rests = 0;
      for (std::size_t i = 0; i <= kDimension; ++i) {
        const Big extra = i == kDimension && centre ? rests : 0;
        const Big rounded = floor_div(Big{2} * m * in[k][i] + q + extra, Big{2} * q);
        rests += Big{m} * in[k][i] - rounded * q;
        const Big e = (rounded % m + m) % m;
        verdict.expect("exponent", 0, i, out[k][i], static_cast<std::uint32_t>(e) << log_many);
      }
    }
    return verdict.text();
  };
  return c;
}

Case extract(const Ring& ring, const Basis& basis, int k, std::uint32_t step = 1) {
  const std::uint32_t n = static_cast<std::uint32_t>(ring.n()), parts = k + 1, words = n / step;
  const std::vector<std::uint32_t> coefficients = {0, n - 1, 5, n / 2};
  std::string name = "k = " + std::to_string(k) + " over " + basis.str();
  if (step > 1) name += ", secrets in X^" + std::to_string(step);
  Case c{"SampleExtract", name, {}, {}};
  c.build = [=](Side& side) -> Operations {
    const PolyArray in = side.input_array(basis, Domain::Coeff, 2 * parts);
    const LweView out = side.output_lwe(side.ring().prime(basis.prime(0)), k * words, 8);
    return {SampleExtract{k, {{in, coefficients, out}}, step}};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const std::uint32_t q = seen.ring->prime(basis.prime(0));
    const Words& in = *seen.input_words[0];
    const Batch out{*seen.output_words[0], static_cast<std::size_t>(k) * words, 8};
    // (x - centred(x mod q1)) / q1 modulo q0, of word i of polynomial `poly`.
    const auto value = [&](std::size_t poly, std::size_t i) {
      const std::uint32_t* x = in.data() + poly * basis.size() * n + i;
      if (basis.size() == 1) return x[0];
      const std::uint32_t q1 = seen.ring->prime(basis.prime(1));
      return exact::mul(exact::add(x[0], exact::residue(-centred(x[n], q1), q), q),
                        exact::inverse(q1, q), q);
    };
    for (std::size_t g = 0; g < 2; ++g) {
      for (std::size_t t = 0; t < 4; ++t) {
        const std::size_t j = coefficients[t];
        const std::uint32_t* lwe = out[4 * g + t];
        verdict.expect("body", 0, k * words, lwe[k * words], value(g * parts, j));
        for (std::size_t i = 0; i < static_cast<std::size_t>(k) * words; ++i) {
          const std::size_t poly = g * parts + 1 + i / words, at = i % words * step;
          const std::uint32_t want =
              at <= j ? value(poly, j - at) : exact::negate(value(poly, n + j - at), q);
          verdict.expect("mask", 0, i, lwe[i], want);
        }
      }
    }
    return verdict.text();
  };
  return c;
}

struct RotateShape {
  int k = 1, levels = 2, group = 1;
  bool ternary = false;
  std::uint32_t steps = 2, count = 3;
};

// Blind rotation by its definition, one residue polynomial at a time.
struct Schoolbook {
  const BlindRotate& op;
  const Ring& ring;
  const Basis& basis;
  const Words& key;  // Coeff
  using Poly = std::vector<std::uint32_t>;
  using Glwe = std::vector<Poly>;  // component, prime

  std::size_t n() const { return static_cast<std::size_t>(ring.n()); }
  int primes() const { return basis.size(); }
  std::uint32_t prime(int p) const { return ring.prime(basis.prime(p)); }

  Poly turned(const Poly& x, std::uint32_t e, std::uint32_t q) const {
    Poly y(n());
    for (std::size_t i = 0; i < n(); ++i) {
      const std::size_t from = (i + e) % (2 * n());
      y[i] = from < n() ? x[from] : exact::negate(x[from - n()], q);
    }
    return y;
  }
  Glwe difference(const Glwe& x, std::uint32_t e) const {
    Glwe y = x;
    for (std::size_t c = 0; c < x.size(); ++c) {
      const std::uint32_t q = prime(static_cast<int>(c) % primes());
      const Poly t = turned(x[c], e, q);
      for (std::size_t i = 0; i < n(); ++i)
        y[c][i] = exact::add(t[i], exact::negate(x[c][i], q), q);
    }
    return y;
  }
  std::int64_t integer(const Glwe& x, int component, std::size_t i) const {
    const std::uint32_t a = x[component * primes()][i], q0 = prime(0);
    if (primes() == 1) return centred(a, q0);
    const std::uint32_t q1 = prime(1), b = x[component * primes() + 1][i];
    const std::uint32_t t = exact::mul(exact::add(b, exact::residue(-std::int64_t{a}, q1), q1),
                                       exact::inverse(q0 % q1, q1), q1);
    return centred(a + std::uint64_t{q0} * t, std::uint64_t{q0} * q1);
  }
  // The whole rotation of a table, coefficients prime after prime.
  Glwe rotated(const std::uint32_t* e, const std::uint32_t* table, const RotateShape& s) const {
    const std::uint32_t two_n = 2 * static_cast<std::uint32_t>(n()), dimension = s.steps * s.group;
    Glwe acc((s.k + std::size_t{1}) * primes(), Poly(n(), 0));
    for (int p = 0; p < primes(); ++p) {
      acc[p] = turned({table + p * n(), table + (p + 1) * n()}, e[dimension], prime(p));
    }
    for (std::uint32_t t = 0; t < s.steps; ++t) {
      const Glwe before = acc;
      for (int j = 0; j < op.keys_per_step(); ++j) {
        std::uint32_t turn = 0;
        for (int i = 0; i < s.group; ++i) turn += (j + 1) >> i & 1 ? e[t * s.group + i] : 0;
        if (s.ternary) turn = j == 0 ? e[t] : two_n - e[t];
        turn %= two_n;
        if (op.keys_per_step() == 1) {
          add_product(acc, t, j, difference(before, turn));
          continue;
        }
        Glwe product(acc.size(), Poly(n(), 0));
        add_product(product, t, j, before);
        add(acc, difference(product, turn));
      }
    }
    return acc;
  }
  void add(Glwe& acc, const Glwe& x) const {
    for (std::size_t c = 0; c < acc.size(); ++c) {
      const std::uint32_t q = prime(static_cast<int>(c) % primes());
      for (std::size_t i = 0; i < n(); ++i) acc[c][i] = exact::add(acc[c][i], x[c][i], q);
    }
  }
  // acc += K x.
  void add_product(Glwe& acc, std::uint32_t step, int key_of_step, const Glwe& x) const {
    std::uint64_t q = 1;
    for (int p = 0; p < primes(); ++p) q *= prime(p);
    const int parts = op.glwe_dimension + 1, levels = op.gadget.levels;
    for (int c = 0; c < parts; ++c) {
      std::vector<std::vector<std::int64_t>> d(n());
      for (std::size_t i = 0; i < n(); ++i) d[i] = digits(integer(x, c, i), op.gadget, bits_of(q));
      for (int level = 0; level < levels; ++level) {
        for (int to = 0; to < parts; ++to) {
          const std::uint32_t index = op.key_index(step, key_of_step, c * levels + level, to);
          for (int p = 0; p < primes(); ++p) {
            add_negacyclic(acc[to * primes() + p], d, level,
                           key.data() + (static_cast<std::size_t>(index) * primes() + p) * n(),
                           prime(p));
          }
        }
      }
    }
  }
  // Digits below 2^9 in magnitude: 2^13 products below 2^40 fit 64 bits.
  void add_negacyclic(Poly& acc, const std::vector<std::vector<std::int64_t>>& d, int level,
                      const std::uint32_t* k, std::uint32_t q) const {
    std::vector<std::int64_t> sum(2 * n(), 0);
    for (std::size_t i = 0; i < n(); ++i) {
      const std::int64_t x = d[i][level];
      for (std::size_t j = 0; j < n(); ++j) sum[i + j] += x * k[j];
    }
    for (std::size_t i = 0; i < n(); ++i) {
      acc[i] = exact::add(acc[i], exact::residue((sum[i] - sum[i + n()]) % q, q), q);
    }
  }
};

std::string rotate_name(const RotateShape& s, const Basis& basis) {
  std::string text = "k = " + std::to_string(s.k);
  text.append(", ").append(std::to_string(s.levels)).append(" digits over ").append(basis.str());
  if (s.ternary) return text.append(", ternary");
  return text.append(", group ").append(std::to_string(s.group));
}

Case blind_rotate(const Ring& ring, const Basis& basis, const RotateShape& s) {
  std::uint64_t q = 1;
  for (int p = 0; p < basis.size(); ++p) q *= ring.prime(basis.prime(p));
  BlindRotate shape;
  shape.gadget = gadget_for(q, s.levels);
  shape.glwe_dimension = s.k;
  shape.group = s.group;
  shape.ternary = s.ternary;
  const std::uint32_t dimension = s.steps * s.group, parts = s.k + 1;
  const std::uint32_t two_n = 2 * static_cast<std::uint32_t>(ring.n());
  Case c{"BlindRotate", rotate_name(s, basis), {}, {}};
  c.build = [=](Side& side) -> Operations {
    BlindRotate op = shape;
    op.key = side.input_array(basis, Domain::Eval, op.key_index(s.steps, 0, 0, 0));
    const PolyArray copy = side.output_array(basis, Domain::Coeff, op.key.count);
    Transform to_coeff;
    for (std::uint32_t i = 0; i < op.key.count; ++i) to_coeff.items.push_back({op.key[i], copy[i]});
    for (const std::uint32_t count : {s.count, 1u}) {
      op.items.push_back({side.input_lwe(two_n, dimension, count), side.input(basis, Domain::Coeff),
                          side.output_array(basis, Domain::Coeff, count * parts)});
    }
    return {op, to_coeff};
  };
  constexpr int kLargestSchoolbook = 11;
  if (ring.log_n() > kLargestSchoolbook) return c;
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const Schoolbook book{shape, *seen.ring, basis, *seen.output_words[0]};
    const std::size_t n = seen.n;
    const int primes = basis.size();
    const Batch exponents{*seen.input_words[1], dimension, s.count};
    const Schoolbook::Glwe acc =
        book.rotated(exponents[s.count - 1], seen.input_words[2]->data(), s);
    const std::uint32_t* out =
        seen.output_words[1]->data() + std::size_t(s.count - 1) * parts * primes * n;
    for (std::size_t x = 0; x < acc.size(); ++x) {
      for (std::size_t i = 0; i < n; ++i) {
        verdict.expect("polynomial", static_cast<int>(x), i, out[x * n + i], acc[x][i]);
      }
    }
    return verdict.text();
  };
  return c;
}

}  // namespace

std::vector<Case> lwe_cases(const Ring& ring) {
  const std::uint32_t q = ring.prime(0), two_n = 2 * static_cast<std::uint32_t>(ring.n());
  std::vector<Case> cases = {linear(q),
                             key_switch(q, 70, 1, 1),
                             key_switch(q, 131, 9, 3),
                             mod_switch(q, two_n, false, 0),
                             mod_switch(q, two_n, true, 0),
                             mod_switch(q, two_n, true, 2),
                             mod_switch(q, two_n, false, 1)};
  const Basis one{{0, 1}}, two{{0, 2}};
  cases.push_back(extract(ring, one, 2));
  cases.push_back(extract(ring, one, 1, 16));
  cases.push_back(blind_rotate(ring, one, {2, 2, 1, false, 3, 2}));
  cases.push_back(blind_rotate(ring, one, {1, 2, 1, false, 2, 1}));
  cases.push_back(blind_rotate(ring, one, {1, 3, 1, false, 2, 5}));
  cases.push_back(blind_rotate(ring, one, {1, 2, 1, true, 2, 2}));
  cases.push_back(blind_rotate(ring, one, {1, 2, 2, false, 1, 2}));
  if (ring.prime_count() >= 2 && ring.prime(0) / 2 < ring.prime(1)) {
    cases.push_back(extract(ring, two, 1));
    cases.push_back(blind_rotate(ring, two, {1, 1, 1, false, 3, 2}));
    cases.push_back(blind_rotate(ring, two, {1, 2, 3, false, 1, 1}));
  }
  return cases;
}

}  // namespace latticino::conformance
