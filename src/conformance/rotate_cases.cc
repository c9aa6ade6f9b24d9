// BlindRotate against its definition, on integers.
#include <algorithm>
#include <cstdlib>

#include "conformance/lwe_definitions.h"
#include "math/fourier.h"

namespace latticino::conformance {
namespace {

using exact::Verdict;

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
  if (s.fourier()) text.append(", FP64");
  if (s.fourier() && s.group == 1) return text;
  if (s.ternary) return text.append(", ternary");
  return text.append(", group ").append(std::to_string(s.group));
}

// Narrows the digits until sums over one prime are small enough; log2 of the largest sum.
double fit_fourier(Gadget& gadget, int log_n, const RotateShape& s, const Basis& basis,
                   std::uint64_t q) {
  fourier::Rotation shape{log_n, s.k, s.group, false, gadget, basis.size(), q};
  while (!fourier::refusal(shape).empty()) --shape.gadget.log_base;
  gadget = shape.gadget;
  return shape.log_sum();
}

// Checks that the words of `out` are those of `acc`.
void compare(Verdict& verdict, const Schoolbook::Glwe& acc, const std::uint32_t* out,
             std::size_t n) {
  for (std::size_t x = 0; x < acc.size(); ++x) {
    for (std::size_t i = 0; i < n; ++i) {
      verdict.expect("polynomial", static_cast<int>(x), i, out[x * n + i], acc[x][i]);
    }
  }
}

// Checks that the integers of `out` differ from those of `acc` by at most `slack`, modulo q.
void compare_within(Verdict& verdict, const Schoolbook& book, const Schoolbook::Glwe& acc,
                    const std::uint32_t* out, std::size_t n, std::int64_t q, std::int64_t slack) {
  Schoolbook::Glwe got(acc.size());
  for (std::size_t x = 0; x < acc.size(); ++x) got[x].assign(out + x * n, out + (x + 1) * n);
  const int components = static_cast<int>(acc.size()) / book.primes();
  for (int component = 0; component < components; ++component) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t error =
          std::abs(book.integer(got, component, i) - book.integer(acc, component, i));
      verdict.expect("rounding error", component, i, std::min(error, q - error) <= slack, 1);
    }
  }
}

}  // namespace

Case blind_rotate(const Ring& ring, const Basis& basis, const RotateShape& s) {
  std::uint64_t q = 1;
  for (int p = 0; p < basis.size(); ++p) q *= ring.prime(basis.prime(p));
  BlindRotate shape;
  shape.gadget = gadget_for(q, s.levels);
  shape.glwe_dimension = s.k;
  shape.group = s.group;
  shape.ternary = s.ternary;
  shape.arithmetic = s.arithmetic;
  const double log_sum = s.fourier() ? fit_fourier(shape.gadget, ring.log_n(), s, basis, q) : 0;
  const std::uint32_t dimension = s.steps * s.group, parts = s.k + 1;
  const std::uint32_t two_n = 2 * static_cast<std::uint32_t>(ring.n());
  Case c{"BlindRotate", rotate_name(s, basis), {}, {}};
  c.build = [=](Side& side) -> Operations {
    BlindRotate op = shape;
    op.key = side.input_array(basis, Domain::Eval, op.key_index(s.steps, 0, 0, 0));
    const PolyArray copy = side.output_array(basis, Domain::Coeff, op.key.count);
    Transform to_coeff;
    for (std::uint32_t i = 0; i < op.key.count; ++i) to_coeff.items.push_back({op.key[i], copy[i]});
    FourierKey to_fourier;
    if (s.fourier()) {
      double* numbers = side.numbers(std::size_t{op.key.count} * side.ring().n());
      to_fourier.glwe_dimension = s.k;
      to_fourier.levels = s.levels;
      to_fourier.items = {{copy, numbers}};
      op.fourier = numbers;
    }
    for (const std::uint32_t count : {s.count, 1u}) {
      op.items.push_back({side.input_lwe(two_n, dimension, count), side.input(basis, Domain::Coeff),
                          side.output_array(basis, Domain::Coeff, count * parts)});
    }
    if (s.fourier()) return {to_coeff, to_fourier, op};
    return {op, to_coeff};
  };
  constexpr int kLargestSchoolbook = 11;
  const bool rounded = s.fourier() && basis.size() == 2;
  // Digits of a second step may differ by one where the sums of the first are rounded.
  if (ring.log_n() > kLargestSchoolbook || (rounded && s.steps > 1)) return c;
  // Rounding errors of one step over two primes, far below the largest sum's last place.
  const std::int64_t slack = rounded ? std::int64_t{1} << (static_cast<int>(log_sum) - 55) : 0;
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
    if (slack == 0) {
      compare(verdict, acc, out, n);
    } else {
      compare_within(verdict, book, acc, out, n, static_cast<std::int64_t>(q), slack);
    }
    return verdict.text();
  };
  return c;
}

}  // namespace latticino::conformance
