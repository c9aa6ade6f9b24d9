// Every vectorised table of TFHE kernels against the plain one, at the extremes too.
#include <gtest/gtest.h>

#include <random>

#include "backend/cpu/lwe_kernels.h"
#include "backend/cpu/simd/tail_tables.h"
#include "support/ring_support.h"

namespace latticino::cpu {
namespace {

using test::Words;

class SimdLweKernels : public testing::TestWithParam<const CpuKernels*> {
 protected:
  void SetUp() override {
    if (GetParam() == nullptr) GTEST_SKIP() << "not supported by this processor";
  }
  const LweKernels& simd() const { return *GetParam()->lwe; }
  const LweKernels& plain() const { return reference_lwe_kernels(); }
  Words random(std::size_t n, std::uint32_t q) {
    Words x(n);
    for (auto& v : x) v = static_cast<std::uint32_t>(rng_() % q);
    for (std::size_t i = 0; i < 16 && i < n; ++i) x[i] = q - 1 - static_cast<std::uint32_t>(i % 2);
    for (std::size_t i = 16; i < 48 && i < n; ++i) x[i] = i % 2 ? q / 2 : 0;
    return x;
  }
  Words mirrored(std::size_t n, std::uint32_t q) {
    Words x(2 * n + kMirrorTail, 0);
    plain().add_mirrored(x.data(), random(n, q).data(), n, q);
    return x;
  }
  std::mt19937_64 rng_{11};
};

TEST_P(SimdLweKernels, DigitsAgree) {
  constexpr int kN = 1024;
  const Words wide = test::ntt_primes(11, 2), narrow = test::ntt_primes(11, 2, 1u << 27);
  for (const Words& q : {wide, narrow}) {
    for (const int primes : {1, 2}) {
      DigitTable t{kN, primes, {q[0], q[1]}, {}, {}, 0};
      t.bits = bit_length(primes == 1 ? q[0] : std::uint64_t{q[0]} * q[1]);
      const Modulus m1 = make_modulus(q[1]);
      t.inverse = make_shoup(inverse_mod(q[0] % q[1], m1), m1);
      const Words x[2] = {mirrored(kN, q[0]), mirrored(kN, q[1])};
      const std::uint32_t* px[2] = {x[0].data(), x[1].data()};
      for (const Gadget g : {Gadget{9, 2}, Gadget{7, 3}, Gadget{23, 1}, Gadget{3, 5}, Gadget{13, 2},
                             Gadget{9, 3}, Gadget{13, 4}}) {
        if (g.levels * g.log_base > t.bits) continue;
        t.gadget = g;
        for (const std::uint32_t rotation : {0u, 1u, 777u, 1024u, 1500u, 2047u, 2048u}) {
          Words a(kN * g.levels * primes), b = a;
          std::vector<std::uint32_t*> pa, pb;
          for (int i = 0; i < g.levels * primes; ++i) {
            pa.push_back(a.data() + i * kN);
            pb.push_back(b.data() + i * kN);
          }
          plain().rotated_digits(pa.data(), px, rotation, t);
          simd().rotated_digits(pb.data(), px, rotation, t);
          EXPECT_EQ(a, b) << g.log_base << " " << g.levels << " " << primes << " " << rotation;
          std::vector<double> r(kN * g.levels), s = r;
          std::vector<double*> pr, ps;
          for (int i = 0; i < g.levels; ++i) {
            pr.push_back(r.data() + i * kN);
            ps.push_back(s.data() + i * kN);
          }
          plain().rotated_real_digits(pr.data(), px, rotation, t);
          simd().rotated_real_digits(ps.data(), px, rotation, t);
          EXPECT_EQ(r, s) << g.log_base << " " << g.levels << " " << primes << " " << rotation;
          for (std::size_t i = 0; i < r.size(); ++i) {  // the same digits modulo the first prime
            ASSERT_EQ(from_signed(static_cast<std::int32_t>(r[i]), q[0]),
                      a[i / kN * primes * kN + i % kN]);
          }
        }
      }
    }
  }
}

TEST_P(SimdLweKernels, SumsAndProductsAgree) {
  constexpr std::size_t kN = 1024;
  for (const std::uint32_t q : {test::ntt_primes(10, 1)[0], 12289u}) {
    const Modulus m = make_modulus(q);
    Words a = mirrored(kN, q), b = a;
    const Words y = random(kN, q);
    plain().add_mirrored(a.data(), y.data(), kN, q);
    simd().add_mirrored(b.data(), y.data(), kN, q);
    EXPECT_EQ(a, b);
    for (const int outputs : {2, 3, 4, 5}) {
      for (const int rows : {1, 4, 6, 9}) {
        std::vector<Words> d, k;
        std::vector<const std::uint32_t*> pd, pk;
        for (int i = 0; i < rows; ++i) d.push_back(random(kN, q));
        for (int i = 0; i < rows * outputs; ++i) k.push_back(random(kN, q));
        for (Words& x : d) std::fill(x.begin(), x.begin() + 16, q / 2);  // largest magnitude
        for (const Words& x : d) pd.push_back(x.data());
        for (const Words& x : k) pk.push_back(x.data());
        Words s(outputs * kN), t = s;
        std::vector<std::uint32_t*> ps, pt;
        for (int c = 0; c < outputs; ++c) {
          ps.push_back(s.data() + c * kN);
          pt.push_back(t.data() + c * kN);
        }
        plain().row_products(ps.data(), outputs, pd.data(), pk.data(), rows, kN, m);
        simd().row_products(pt.data(), outputs, pd.data(), pk.data(), rows, kN, m);
        EXPECT_EQ(s, t) << outputs << " " << rows;
      }
    }
  }
}

TEST_P(SimdLweKernels, KeySwitchRowsAgree) {
  const std::uint32_t q = test::ntt_primes(10, 1)[0];
  const Modulus m = make_modulus(q);
  const std::vector<char> memory(5000);
  for (const std::size_t words : {5u, 16u, 77u, 725u}) {
    std::vector<Words> rows;
    Prefetch none, ahead{memory.data(), memory.data() + memory.size(), 2100};
    const std::uint32_t* p[8];
    std::int32_t factors[8] = {-8, 7, 0, 1, -1, (1 << 20), -(1 << 20), 3};
    for (int i = 0; i < 8; ++i) rows.push_back(random(words, q));
    for (int i = 0; i < 8; ++i) p[i] = rows[i].data();
    std::vector<std::int64_t> s(words, 0), t(words, 0);
    Words a = random(words, q), b = a;
    for (int round = 0; round < 2; ++round) {
      for (int more = 0; more < 3; ++more) {
        plain().multiply_add_rows(s.data(), p, factors, 8 - more, words, none);
        simd().multiply_add_rows(t.data(), p, factors, 8 - more, words, ahead);
        ASSERT_LE(ahead.next, ahead.end);
      }
      plain().reduce_sums(a.data(), s.data(), words, m);
      simd().reduce_sums(b.data(), t.data(), words, m);
      EXPECT_EQ(a, b) << words;
      EXPECT_EQ(t, std::vector<std::int64_t>(words, 0));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, SimdLweKernels, testing::Values(avx512_kernels(), avx2_kernels()));

}  // namespace
}  // namespace latticino::cpu
