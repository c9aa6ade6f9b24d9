// The CUDA kernels that work entry by entry, against the CPU reference: equal in every bit.
#include <climits>

#include "crypto/gaussian.h"
#include "unit/cuda/pair.h"

namespace latticino {
namespace {

const Basis kWide{{0, 3}, {4, 7}, {8, 12}};
const Basis kSome{{1, 3}, {5, 6}, {9, 12}};

class CudaElementwise : public CudaPair {
 protected:
  void use(int log_n) { use_ring(log_n, mixed_primes(log_n, 5, 5, 2)); }
};

Linear::Term term(const PolyView& x, std::int32_t small) { return {x, small, {}, {}}; }

TEST_F(CudaElementwise, LinearMixesAllKindsOfCoefficients) {
  for (const int log_n : {10, 12}) {
    use(log_n);
    for (const Fill fill : {Fill::Random, Fill::Extreme}) {
      const Twin x = poly(kWide, Domain::Eval, fill), y = poly(kSome, Domain::Eval, fill);
      const Twin z = poly(kSome, Domain::Eval, fill), out = poly(kSome, Domain::Eval);
      const Twin other = poly(kSome, Domain::Eval);
      const auto lower = residues(kSome, fill), upper = residues(kSome, fill);
      const auto constant = residues(kSome, fill), constant_upper = residues(kSome);
      expect_equal(
          [&](int s) {
            Linear op;
            op.items.push_back({{{x.view[s], 1, lower, upper},
                                 {y.view[s], 1, upper, {}},
                                 term(z.view[s], INT_MIN),
                                 term(x.view[s], INT_MAX),
                                 term(y.view[s], -1)},
                                out.view[s],
                                constant,
                                constant_upper});
            op.items.push_back({{{y.view[s], 1, lower, upper}}, other.view[s], lower, {}});
            return Operation(op);
          },
          {out, other});
    }
  }
}

TEST_F(CudaElementwise, LinearInPlace) {
  use(11);
  for (const Domain domain : {Domain::Coeff, Domain::Half, Domain::Eval}) {
    const Twin x = poly(kSome, domain), y = poly(kSome, domain);
    expect_equal(
        [&](int s) {
          return Operation(
              Linear{{{{term(y.view[s], -1), term(x.view[s], 3)}, x.view[s], {}, {}}}});
        },
        {x});
  }
}

// More terms and constants than one launch can hold; the aliased term comes last.
TEST_F(CudaElementwise, LinearOverSeveralLaunches) {
  use(10);
  std::vector<Twin> xs;
  for (int i = 0; i < 61; ++i) xs.push_back(poly(kSome, Domain::Eval, Fill::Extreme));
  std::vector<std::vector<std::uint32_t>> factors;
  for (int i = 0; i < 61; ++i) factors.push_back(residues(kSome));
  const Twin zero = poly(kSome, Domain::Eval);
  expect_equal(
      [&](int s) {
        Linear op;
        op.items.push_back({{}, zero.view[s], {}, {}});
        Linear::Item& item = op.items.emplace_back();
        for (int i = 0; i < 61; ++i)
          item.terms.push_back({xs[i].view[s], 1, factors[i], factors[60 - i]});
        item.out = xs[60].view[s];
        item.constant = factors[7];
        return Operation(op);
      },
      {xs[60], zero});
}

TEST_F(CudaElementwise, ManyLimbsShareOneLaunchOrSplit) {
  use_ring(10, mixed_primes(10, 70, 70, 0));
  const Basis all{{0, 140}};
  const Twin x = poly(all, Domain::Eval), out = poly(all, Domain::Eval);
  const auto lower = residues(all), upper = residues(all);
  expect_equal(
      [&](int s) {
        return Operation(Linear{{{{{x.view[s], 1, lower, upper}}, out.view[s], upper, lower}}});
      },
      {out});
}

TEST_F(CudaElementwise, TensorSumsAndSquares) {
  for (const int log_n : {10, 13}) {
    use(log_n);
    for (const Fill fill : {Fill::Random, Fill::Extreme}) {
      std::vector<Twin> in;
      for (int i = 0; i < 6; ++i) in.push_back(poly(i % 2 ? kSome : kWide, Domain::Eval, fill));
      const Twin o[] = {poly(kSome, Domain::Eval), poly(kSome, Domain::Eval),
                        poly(kSome, Domain::Eval), poly(kSome, Domain::Eval),
                        poly(kSome, Domain::Eval), poly(kSome, Domain::Eval)};
      expect_equal(
          [&](int s) {
            const auto pair = [&](int a, int b) {
              return Tensor::Pair{{in[a].view[s], in[a + 1].view[s]},
                                  {in[b].view[s], in[b + 1].view[s]}};
            };
            Tensor op;
            op.items.push_back({{pair(0, 0)}, {o[0].view[s], o[1].view[s], o[2].view[s]}});
            op.items.push_back({{}, {o[3].view[s], o[4].view[s], o[5].view[s]}});
            for (int k = 0; k < 23; ++k) op.items[1].pairs.push_back(pair(k % 5, (k + 2) % 5));
            return Operation(op);
          },
          {o[0], o[1], o[2], o[3], o[4], o[5]});
    }
  }
}

// More pairs, terms and constants than one launch can hold.
TEST_F(CudaElementwise, TensorWithALinearCombination) {
  for (const int log_n : {10, 13}) {
    use(log_n);
    for (const Fill fill : {Fill::Random, Fill::Extreme}) {
      std::vector<Twin> in, out;
      for (int i = 0; i < 8; ++i) in.push_back(poly(i % 2 ? kSome : kWide, Domain::Eval, fill));
      for (int i = 0; i < 9; ++i) out.push_back(poly(kSome, Domain::Eval));
      std::vector<std::vector<std::uint32_t>> words;
      for (int i = 0; i < 24; ++i) words.push_back(residues(kSome, fill));
      expect_equal(
          [&](int s) {
            const auto both = [&](int k) {
              return std::array<PolyView, 2>{in[k % 7].view[s], in[k % 7 + 1].view[s]};
            };
            Tensor op;
            for (int i = 0; i < 3; ++i) {
              Tensor::Item& item = op.items.emplace_back();
              for (int h = 0; h < 3; ++h) item.out[h] = out[3 * i + h].view[s];
              for (int k = 0; k < (i == 2 ? 23 : 1 + i); ++k) {
                item.pairs.push_back({both(k), both(i * k)});
              }
              item.factor = i == 1 ? 1 : 2;
              for (int k = 0; k < 11 * i; ++k) {
                item.terms.push_back(
                    {both(k), words[k], k % 2 == 0 ? std::vector<std::uint32_t>{} : words[k + 1]});
              }
              item.constant = words[23];
              if (i > 0) item.constant_upper = words[20];
            }
            return Operation(op);
          },
          out);
    }
  }
}

TEST_F(CudaElementwise, DotSharesInputs) {
  use(10);
  for (int parts = 1; parts <= 3; ++parts) {
    for (const int outputs : {1, 2, 7}) {
      for (const Fill fill : {Fill::Random, Fill::Extreme}) {
        std::vector<Twin> in, factors, out;
        for (int i = 0; i < 3 * parts; ++i) in.push_back(poly(kWide, Domain::Eval, fill));
        for (int i = 0; i < 4; ++i)
          factors.push_back(poly(i % 2 ? kSome : kWide, Domain::Eval, fill));
        for (int i = 0; i < outputs * parts; ++i) out.push_back(poly(kSome, Domain::Eval, fill));
        expect_equal(
            [&](int s) {
              Dot op;
              op.parts = parts;
              for (int i = 0; i < 3; ++i) {
                auto& input = op.inputs.emplace_back();
                for (int p = 0; p < parts; ++p) input[p] = in[i * parts + p].view[s];
              }
              for (int o = 0; o < outputs; ++o) {
                auto& output = op.outputs.emplace_back();
                output.accumulate = o % 2 == 1;
                for (int p = 0; p < parts; ++p) output.out[p] = out[o * parts + p].view[s];
                // One input twice, and more rows than a launch can hold.
                const int terms = o == 1 ? 50 : 4;
                for (int t = 0; t < terms; ++t) {
                  output.terms.push_back({(o + t) % 3, factors[(o * t) % 4].view[s]});
                }
              }
              return Operation(op);
            },
            out);
      }
    }
  }
}

TEST_F(CudaElementwise, DotInPlaceOverSeveralLaunches) {
  use(10);
  std::vector<Twin> in, factors;
  for (int i = 0; i < 100; ++i) in.push_back(poly(kSome, Domain::Eval));
  for (int i = 0; i < 50; ++i) factors.push_back(poly(kSome, Domain::Eval));
  expect_equal(
      [&](int s) {
        Dot op;
        for (int i = 0; i < 50; ++i)
          op.inputs.push_back({in[2 * i].view[s], in[2 * i + 1].view[s], {}});
        auto& output = op.outputs.emplace_back();
        for (int i = 0; i < 50; ++i) output.terms.push_back({i, factors[i].view[s]});
        output.out = {in[98].view[s], in[99].view[s], {}};
        return Operation(op);
      },
      {in[98], in[99]});
}

TEST_F(CudaElementwise, AutomorphismsInEvalAndCoeff) {
  for (const int log_n : {10, 11, 13}) {
    use(log_n);
    const std::uint32_t two_n = 2u << log_n;
    const std::uint32_t some[] = {
        1, 3, 5, 25, two_n - 1, two_n / 2 + 1, two_n / 2 - 1, 12345 % two_n};
    for (const Domain domain : {Domain::Eval, Domain::Coeff}) {
      const Twin x = poly(kWide, domain, Fill::Extreme), y = poly(kSome, domain);
      std::vector<Twin> out;
      for (int i = 0; i < 9; ++i) out.push_back(poly(kSome, domain));
      expect_equal(
          [&](int s) {
            Automorphism op;
            for (int i = 0; i < 8; ++i)
              op.items.push_back({{{x.view[s], some[i]}}, out[i].view[s]});
            Automorphism::Item& sum = op.items.emplace_back();
            sum.out = out[8].view[s];
            for (std::uint32_t k = 0; k < 70; ++k) {
              sum.terms.push_back({k % 3 ? x.view[s] : y.view[s], (2 * k * k + 1) % two_n});
            }
            return Operation(op);
          },
          out);
    }
  }
}

TEST_F(CudaElementwise, ModRaiseIsExact) {
  use(10);
  const Basis target{{2, 12}};
  for (const Basis& from : {Basis{{0, 1}}, Basis{{0, 2}}, Basis{{4, 5}, {11, 12}}}) {
    for (const Fill fill : {Fill::Random, Fill::Extreme}) {
      const Twin x = poly(from, Domain::Coeff, fill), out = poly(target, Domain::Coeff);
      expect_equal([&](int s) { return Operation(ModRaise{{{x.view[s], out.view[s]}}}); }, {out});
    }
  }
}

TEST_F(CudaElementwise, IntegersOfAllSizes) {
  use(10);
  const int n = ring().n();
  std::vector<std::int64_t> values(n);
  for (auto& v : values) v = static_cast<std::int64_t>(random_()) >> (random_() % 64);
  const std::int64_t edges[] = {
      0, 1, -1, INT64_MIN, INT64_MAX, INT64_MIN + 1, 1LL << 32, -(1LL << 32), -(1LL << 31)};
  std::copy(std::begin(edges), std::end(edges), values.begin());
  const Twin out = poly(kWide, Domain::Coeff);
  const std::int64_t* device[2];
  for (int s = 0; s < 2; ++s) {
    void* p = backend_[s]->allocate(8 * n);
    backend_[s]->copy_in(p, values.data(), 8 * n);
    owned_[s].emplace_back(p, 8 * n);
    device[s] = static_cast<const std::int64_t*>(p);
  }
  expect_equal([&](int s) { return Operation(FromIntegers{{{device[s], out.view[s]}}}); }, {out});
}

TEST_F(CudaElementwise, ExpandsSeedsInEveryDomain) {
  for (const int log_n : {10, 13}) {
    use(log_n);
    ExpandUniform::Item item;
    for (int i = 0; i < 32; ++i) item.seed[i] = static_cast<std::uint8_t>(7 * i + 250);
    item.stream = 0xfedcba9876543210;
    for (const Domain domain : {Domain::Coeff, Domain::Half, Domain::Eval}) {
      const Twin a = poly(kWide, domain), b = poly(kSome, domain);
      expect_equal(
          [&](int s) {
            ExpandUniform op{{item, item}};
            op.items[0].out = a.view[s];
            op.items[1].out = b.view[s];
            op.items[1].stream = 1;
            return Operation(op);
          },
          {a, b});
    }
  }
}

// More items than one launch takes, from two seeds.
TEST_F(CudaElementwise, SamplesErrors) {
  std::vector<std::uint8_t> seeds(64);
  for (std::uint8_t& x : seeds) x = static_cast<std::uint8_t>(random_());
  for (const int log_n : {10, 13}) {
    use(log_n);
    const std::uint8_t* device[2];
    for (int s = 0; s < 2; ++s) {
      void* p = backend_[s]->allocate(seeds.size());
      backend_[s]->copy_in(p, seeds.data(), seeds.size());
      owned_[s].emplace_back(p, seeds.size());
      device[s] = static_cast<const std::uint8_t*>(p);
    }
    std::vector<Twin> out;
    for (int i = 0; i < 83; ++i) out.push_back(poly(i % 2 == 0 ? kWide : kSome, Domain::Coeff));
    for (const double sigma : {0.5, 3.19, 4.0}) {
      const crypto::GaussianTable table(sigma);
      expect_equal(
          [&](int s) {
            SampleGaussian op{&table, {}};
            for (std::size_t i = 0; i < out.size(); ++i) {
              op.items.push_back({device[s] + i % 2 * 32, ~std::uint64_t{0} - i, out[i].view[s]});
            }
            return Operation(op);
          },
          out);
    }
  }
}

TEST_F(CudaElementwise, CopiesAndClears) {
  use(11);
  std::vector<Twin> in, out;
  for (int i = 0; i < 60; ++i) {
    in.push_back(poly(kSome, Domain::Half));
    out.push_back(poly(kSome, Domain::Half));
  }
  expect_equal(
      [&](int s) {
        Copy op;
        for (int i = 0; i < 60; ++i) {
          op.items.push_back({i % 7 == 0 ? PolyView{} : in[i].view[s], out[i].view[s]});
        }
        return Operation(op);
      },
      out);
}

}  // namespace
}  // namespace latticino
