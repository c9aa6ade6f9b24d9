// The records of TFHE, against schoolbook arithmetic on integers.
#include "conformance/lwe_definitions.h"
#include "math/fourier.h"

namespace latticino::conformance {
namespace {

using exact::Verdict;

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
    // The expected value: (x - centred(x mod q1)) / q1 modulo q0, for word i of polynomial `poly`.
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

struct Matrix {
  std::uint32_t dimension, rows, slots, first, count;
};

// (2 b + sum of the centred mask) modulo 2q in (-q, q], over 2q.
double half_key_body(const std::uint32_t* words, std::size_t dimension, std::uint32_t q) {
  Big x = Big{2} * words[dimension];
  for (std::size_t k = 0; k < dimension; ++k) x += centred(words[k], q);
  const Big rest = x - Big{floor_div(x, Big{2} * q)} * 2 * q;
  return static_cast<double>(static_cast<std::int64_t>(rest > q ? rest - Big{2} * q : rest)) /
         (2.0 * q);
}

// Words of LWE ciphertexts as slots, which an Embed makes integers of.
Case lwe_slots(const Ring& ring, const Basis& basis, const Matrix& m, bool bodies) {
  constexpr std::uint32_t kCount = 5;
  constexpr double kFactor = 1 << 20;
  const std::uint32_t q = ring.prime(0), slots = bodies ? m.rows : m.slots;
  Case c{"LweSlots",
         std::to_string(m.rows) + " rows in " + std::to_string(slots) + " slots" +
             (bodies ? ", bodies" : ""),
         {},
         {}};
  const auto row_of = [=](std::size_t i) {
    return static_cast<std::int32_t>(i % m.rows * 3 % (kCount + 1)) - 1;
  };
  c.build = [=](Side& side) -> Operations {
    LweSlots op;
    op.bodies = bodies;
    const std::uint32_t count = bodies ? 1 : m.count;
    LweSlots::Item item{
        side.input_lwe(q, m.dimension, kCount), {}, nullptr, m.slots, m.first, m.count};
    for (std::uint32_t r = 0; r < m.rows; ++r) item.rows.push_back(row_of(r));
    item.out = side.numbers(std::size_t{2} * slots * count);
    Embed embed;
    for (std::uint32_t d = 0; d < count; ++d) {
      embed.items.push_back({&side.slot_transform(), item.out + std::size_t{2} * slots * d,
                             static_cast<int>(slots), kFactor, 0,
                             side.output(basis, Domain::Coeff)});
    }
    op.items.push_back(std::move(item));
    return {op, embed};
  };
  c.exact = [=](const Observed& seen) {
    Verdict verdict;
    const Batch in{*seen.input_words[0], m.dimension, kCount};
    const std::size_t columns = std::size_t{m.dimension} * m.rows / m.slots;
    const std::uint32_t p = seen.ring->prime(basis.prime(0));
    for (std::size_t d = 0; d < seen.outputs.size(); ++d) {
      std::vector<double> z(2 * std::size_t{slots}, 0.0);
      for (std::size_t i = 0; i < slots; ++i) {
        if (row_of(i) < 0) continue;
        const std::uint32_t* words = in[static_cast<std::size_t>(row_of(i))];
        const std::size_t j = i % m.rows + columns * (i / m.rows) + m.first + d;
        z[2 * i] = bodies ? half_key_body(words, m.dimension, q)
                          : static_cast<double>(centred(words[j % m.dimension], q)) / q;
      }
      for (const std::size_t i : exact::samples(seen.n)) {
        const long double want = exact::coefficient(z, seen.n, i, kFactor);
        const std::int64_t got = centred(seen.outputs[d].limb(basis.prime(0))[i], p);
        verdict.expect("a coefficient of other slots",
                       std::abs(static_cast<long double>(got) - want) <= 0.51L);
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
                             key_switch(q, 70, 2, 1),
                             key_switch(q, 33, 3, 2),
                             key_switch(q, 75, 70, 6),
                             mod_switch(q, two_n, false, 0),
                             mod_switch(q, two_n, true, 0),
                             mod_switch(q, two_n, true, 2),
                             mod_switch(q, two_n, false, 1)};
  const Basis one{{0, 1}}, two{{0, 2}};
  cases.push_back(extract(ring, one, 2));
  cases.push_back(extract(ring, one, 1, 16));
  cases.push_back(lwe_slots(ring, one, {77, 8, 8, 70, 4}, false));
  cases.push_back(lwe_slots(ring, one, {64, 4, 64, 1, 3}, false));
  cases.push_back(lwe_slots(ring, one, {96, 512, 512, 0, 2}, false));
  cases.push_back(lwe_slots(ring, one, {300, 512, 512, 0, 1}, true));
  cases.push_back(lwe_slots(ring, one, {77, 1, 1, 0, 1}, true));
  // Kernels that copy keys three steps ahead use the buffers again from the fourth step on.
  constexpr std::uint32_t kSteps = 5;
  cases.push_back(blind_rotate(ring, one, {2, 2, 1, false, kSteps, 2}));
  cases.push_back(blind_rotate(ring, one, {1, 2, 1, false, 2, 1}));
  cases.push_back(blind_rotate(ring, one, {1, 3, 1, false, kSteps, 5}));
  cases.push_back(blind_rotate(ring, one, {1, 2, 1, false, 7, 1}));
  cases.push_back(blind_rotate(ring, one, {1, 2, 1, true, 2, 2}));
  cases.push_back(blind_rotate(ring, one, {1, 2, 2, false, 1, 2}));
  constexpr BlindRotateArithmetic kFft64 = BlindRotateArithmetic::Fft64;
  const bool fourier = fourier::has_degree(ring.log_n());
  if (fourier) {
    cases.push_back(blind_rotate(ring, one, {2, 2, 1, false, kSteps, 2, kFft64}));
    cases.push_back(blind_rotate(ring, one, {1, 3, 1, false, kSteps, 5, kFft64}));
    cases.push_back(blind_rotate(ring, one, {1, 3, 3, false, kSteps, 3, kFft64}));
    cases.push_back(blind_rotate(ring, one, {2, 2, 2, false, kSteps, 2, kFft64}));
  }
  if (ring.prime_count() >= 2 && ring.prime(0) / 2 < ring.prime(1)) {
    cases.push_back(extract(ring, two, 1));
    cases.push_back(blind_rotate(ring, two, {1, 1, 1, false, kSteps, 2}));
    cases.push_back(blind_rotate(ring, two, {1, 1, 3, false, kSteps, 1}));
    cases.push_back(blind_rotate(ring, two, {1, 2, 3, false, 1, 1}));
    if (fourier) {
      cases.push_back(blind_rotate(ring, two, {1, 1, 1, false, 1, 3, kFft64}));
      cases.push_back(blind_rotate(ring, two, {1, 1, 1, false, kSteps, 3, kFft64}));
      cases.push_back(blind_rotate(ring, two, {1, 2, 1, false, 1, 2, kFft64}));
      cases.push_back(blind_rotate(ring, two, {2, 2, 1, false, 1, 2, kFft64}));
      cases.push_back(blind_rotate(ring, two, {1, 1, 3, false, 1, 3, kFft64}));
      cases.push_back(blind_rotate(ring, two, {1, 1, 3, false, kSteps, 3, kFft64}));
      cases.push_back(blind_rotate(ring, two, {2, 2, 4, false, 1, 1, kFft64}));
    }
  }
  return cases;
}

}  // namespace latticino::conformance
