#include <gtest/gtest.h>

#include "backend/cpu/kernels.h"
#include "math/errors.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::Words;

// Stages [from, to) of the network of poly/domain.h, written directly from its description.
void reference_stages(Words& a, const Ring& ring, int prime, int from, int to) {
  const Modulus m = make_modulus(ring.prime(prime));
  const int log_n = ring.log_n();
  for (int s = from; s < to; ++s) {
    const int stride = ring.n() >> (s + 1);
    for (int k = 0; k < 1 << s; ++k) {
      const std::uint32_t w = pow_mod(ring.psi(prime), test::bit_reverse((1u << s) + k, log_n), m);
      for (int i = 2 * stride * k; i < 2 * stride * k + stride; ++i) {
        const std::uint32_t u = a[i], v = mul_mod(a[i + stride], w, m);
        a[i] = add_mod(u, v, m.q);
        a[i + stride] = sub_mod(u, v, m.q);
      }
    }
  }
}

class CpuTransform : public testing::TestWithParam<int> {
 protected:
  CpuTransform() : ring_(GetParam(), primes()), queue_(make_cpu_backend({false, 2})) {}
  Words primes() const {
    Words q = test::ntt_primes(GetParam(), 1);
    q.push_back(test::ntt_primes(GetParam(), 1, 1u << 25)[0]);
    return q;
  }
  Words move(const Words& words, Domain from, Domain to) {
    const Poly in = test::upload(queue_, ring_, basis_, from, words);
    const Poly out = queue_.allocate(ring_, basis_, to);
    queue_.submit(Transform{{{in.view, out.view}}});
    queue_.submit(Transform{{{in.view, in.view.in(to)}}});
    const Words result = test::download(queue_, out.view);
    EXPECT_EQ(test::download(queue_, in.view.in(to)), result) << "in place";
    return result;
  }

  Ring ring_;
  Basis basis_ = test::range(0, 2);
  Queue queue_;
  std::mt19937_64 random_{7};
};

TEST_P(CpuTransform, EvalEntriesAreValues) {
  const Words a = test::random_words(ring_, basis_, random_);
  const Words values = move(a, Domain::Coeff, Domain::Eval);
  for (int limb = 0; limb < 2; ++limb) {
    const Modulus m = make_modulus(ring_.prime(limb));
    for (int i = 0; i < ring_.n(); i += 37) {
      const std::uint32_t x =
          pow_mod(ring_.psi(limb), 2 * test::bit_reverse(i, ring_.log_n()) + 1, m);
      std::uint32_t value = 0;
      for (int k = ring_.n() - 1; k >= 0; --k) {
        value = add_mod(mul_mod(value, x, m), a[limb * ring_.n() + k], m.q);
      }
      ASSERT_EQ(values[limb * ring_.n() + i], value) << "limb " << limb << " entry " << i;
    }
  }
}

TEST_P(CpuTransform, EveryPairOfDomainsFollowsTheNetwork) {
  const Words coeff = test::random_words(ring_, basis_, random_);
  const int split = half_log_rows(ring_.log_n());
  Words state[3] = {coeff, {}, {}};
  for (int limb = 0; limb < 2; ++limb) {
    Words a(coeff.begin() + limb * ring_.n(), coeff.begin() + (limb + 1) * ring_.n());
    reference_stages(a, ring_, limb, 0, split);
    state[1].insert(state[1].end(), a.begin(), a.end());
    reference_stages(a, ring_, limb, split, ring_.log_n());
    state[2].insert(state[2].end(), a.begin(), a.end());
  }
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      EXPECT_EQ(move(state[from], static_cast<Domain>(from), static_cast<Domain>(to)), state[to])
          << name(static_cast<Domain>(from)) << " to " << name(static_cast<Domain>(to));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Degrees, CpuTransform, testing::Values(10, 11, 13));

TEST(CpuTransformLarge, SurvivesAtTheLargestDegree) {
  const Ring ring(17, test::ntt_primes(17, 1));
  Queue queue(make_cpu_backend({}));
  std::mt19937_64 random(3);
  const Basis basis = test::range(0, 1);
  const Words a = test::random_words(ring, basis, random);
  const Poly p = test::upload(queue, ring, basis, Domain::Coeff, a);
  queue.submit(Transform{{{p.view, p.view.in(Domain::Eval)}}});
  const Words values = test::download(queue, p.view);
  const Modulus m = make_modulus(ring.prime(0));
  for (const int i : {0, 1, 4711, ring.n() - 1}) {
    const std::uint32_t x = pow_mod(ring.psi(0), 2 * test::bit_reverse(i, 17) + 1, m);
    std::uint32_t value = 0;
    for (int k = ring.n() - 1; k >= 0; --k) value = add_mod(mul_mod(value, x, m), a[k], m.q);
    EXPECT_EQ(values[i], value);
  }
  queue.submit(Transform{{{p.view.in(Domain::Eval), p.view}}});
  EXPECT_EQ(test::download(queue, p.view), a);
}

TEST(CpuBackend, ARingServesOneKindOfKernels) {
  if (cpu::simd_kernels() == nullptr) GTEST_SKIP() << "no vectorised kernels on this processor";
  const Ring ring(10, test::ntt_primes(10, 1));
  Queue plain(make_cpu_backend({false, 1})), simd(make_cpu_backend({true, 1}));
  const Poly a = plain.allocate(ring, test::range(0, 1), Domain::Coeff);
  const Poly b = simd.allocate(ring, test::range(0, 1), Domain::Coeff);
  plain.submit(Copy{{{{}, a.view}}});
  simd.submit(Copy{{{{}, b.view}}});
  plain.submit(Transform{{{a.view, a.view.in(Domain::Eval)}}});
  EXPECT_THROW(simd.submit(Transform{{{b.view, b.view.in(Domain::Eval)}}}), ContextError);
}

}  // namespace
}  // namespace latticino
