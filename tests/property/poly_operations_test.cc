// Identities that hold for every input, on random rings and polynomials.
#include <gtest/gtest.h>

#include "support/ring_support.h"

namespace latticino {
namespace {

using test::range;
using test::Words;

class PolynomialIdentities : public testing::TestWithParam<int> {
 protected:
  PolynomialIdentities() : random_(GetParam()), log_n_(10 + GetParam() % 3) {
    Words primes = test::ntt_primes(log_n_, 2);
    primes.push_back(test::ntt_primes(log_n_, 1, 1u << (22 + GetParam() % 8))[0]);
    ring_ = std::make_unique<Ring>(log_n_, primes);
  }
  Poly random_poly(Domain domain) {
    return test::upload(queue_, *ring_, basis_, domain,
                        test::random_words(*ring_, basis_, random_));
  }
  Poly empty(Domain domain) { return queue_.allocate(*ring_, basis_, domain); }
  Words words(const Poly& p) { return test::download(queue_, p.view); }
  std::uint32_t random_galois() {
    return static_cast<std::uint32_t>(random_() % ring_->n()) * 2 + 1;
  }

  Poly apply(const Poly& x, std::uint32_t g) {
    Poly out = empty(x.view.domain);
    queue_.submit(Automorphism{{{{{x.view, g}}, out.view}}});
    return out;
  }
  Poly to(const Poly& x, Domain domain) {
    Poly out = empty(domain);
    queue_.submit(Transform{{{x.view, out.view}}});
    return out;
  }
  Poly combine(const Poly& x, int a, const Poly& y, int b) {
    Poly out = empty(x.view.domain);
    queue_.submit(Linear{{{{{x.view, a, {}, {}}, {y.view, b, {}, {}}}, out.view, {}, {}}}});
    return out;
  }
  Poly product(const Poly& x, const Poly& y) {
    Poly out = empty(Domain::Eval);
    queue_.submit(Dot{1, {{x.view, {}, {}}}, {{{{0, y.view}}, {out.view, {}, {}}, false}}});
    return out;
  }

  std::mt19937_64 random_;
  int log_n_;
  std::unique_ptr<Ring> ring_;
  Basis basis_ = range(0, 3);
  Queue queue_{make_cpu_backend({})};
};

TEST_P(PolynomialIdentities, AutomorphismsFormAGroup) {
  const std::uint32_t two_n = 2u * ring_->n(), g = random_galois(), h = random_galois();
  for (const Domain domain : {Domain::Coeff, Domain::Eval}) {
    const Poly x = random_poly(domain);
    EXPECT_EQ(words(apply(x, 1)), words(x));
    EXPECT_EQ(words(apply(apply(x, g), h)), words(apply(x, g * h % two_n))) << g << " " << h;
    EXPECT_EQ(words(apply(apply(x, two_n - 1), two_n - 1)), words(x)) << "conjugation";
    std::uint32_t back = 1;  // g^-1 = g^(N/2 - 1), because the order of every element divides N/2
    for (int i = 0; i < ring_->n() / 2 - 1; ++i) back = back * g % two_n;
    EXPECT_EQ(words(apply(apply(x, g), back)), words(x));
  }
}

TEST_P(PolynomialIdentities, AutomorphismsCommuteWithTransformsAndProducts) {
  const std::uint32_t g = random_galois();
  const Poly x = random_poly(Domain::Coeff), y = random_poly(Domain::Coeff);
  EXPECT_EQ(words(to(apply(x, g), Domain::Eval)), words(apply(to(x, Domain::Eval), g)));
  const Poly ex = to(x, Domain::Eval), ey = to(y, Domain::Eval);
  EXPECT_EQ(words(apply(product(ex, ey), g)), words(product(apply(ex, g), apply(ey, g))));
}

TEST_P(PolynomialIdentities, TransformsAreLinearAndInvertible) {
  constexpr Domain kDomains[] = {Domain::Coeff, Domain::Half, Domain::Eval};
  const int a = static_cast<int>(random_()), b = static_cast<int>(random_());
  for (const Domain from : kDomains) {
    const Poly x = random_poly(from), y = random_poly(from);
    for (const Domain via : kDomains) {
      EXPECT_EQ(words(to(to(x, via), from)), words(x));
      EXPECT_EQ(words(to(combine(x, a, y, b), via)), words(combine(to(x, via), a, to(y, via), b)));
      for (const Domain last : kDomains) {
        EXPECT_EQ(words(to(to(x, via), last)), words(to(x, last)));
      }
    }
  }
}

TEST_P(PolynomialIdentities, ProductsAreCommutativeAndDistributive) {
  const Poly x = random_poly(Domain::Eval), y = random_poly(Domain::Eval);
  const Poly z = random_poly(Domain::Eval);
  EXPECT_EQ(words(product(x, y)), words(product(y, x)));
  EXPECT_EQ(words(product(x, combine(y, 1, z, -1))),
            words(combine(product(x, y), 1, product(x, z), -1)));
}

TEST_P(PolynomialIdentities, ConversionCommutesWithColumnTransforms) {
  const BaseConversion table(*ring_, range(0, 2), range(2, 3));
  const Poly x = random_poly(Domain::Coeff);
  const Poly half = to(x, Domain::Half);
  const Poly direct = empty(Domain::Coeff), tile = empty(Domain::Half);
  queue_.submit(Convert{{{&table, x.view.select(range(0, 2)), direct.view.select(range(2, 3))},
                         {&table, half.view.select(range(0, 2)), tile.view.select(range(2, 3))}}});
  queue_.submit(Copy{{{x.view.select(range(0, 2)), direct.view.select(range(0, 2))},
                      {half.view.select(range(0, 2)), tile.view.select(range(0, 2))}}});
  EXPECT_EQ(words(to(tile, Domain::Coeff)), words(direct));
}

TEST_P(PolynomialIdentities, ResultsDoNotDependOnThreads) {
  const Poly x = random_poly(Domain::Coeff);
  const Ring again(log_n_, ring_->primes());
  Queue other(make_cpu_backend({true, 5}));
  const Poly y = test::upload(other, again, basis_, Domain::Coeff, words(x));
  const Poly out = other.allocate(again, basis_, Domain::Eval);
  for (int i = 0; i < 20; ++i) {
    other.submit(Copy{{{{}, out.view}}});
    other.submit(Transform{{{y.view, out.view}}});
    ASSERT_EQ(test::download(other, out.view), words(to(x, Domain::Eval)));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PolynomialIdentities, testing::Range(0, 6));

}  // namespace
}  // namespace latticino
