// Every vectorised kernel table against the plain one, entry for entry.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/tail_tables.h"
#include "backend/cpu/tables.h"

namespace latticino::cpu {
namespace {

using Words = std::vector<std::uint32_t>;

// Primes = 1 mod 2^18 of 31, 30, 29 and 25 bits: any N up to 2^17.
const std::vector<std::uint32_t> kPrimes = {2146959361, 1073479681, 537133057, 33292289};

struct Case {
  const CpuKernels* kernels;
  int log_n;
};

class SimdKernels : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().kernels == nullptr) GTEST_SKIP() << "not supported by this processor";
  }
  const CpuKernels& simd() const { return *GetParam().kernels; }
  int n() const { return 1 << GetParam().log_n; }
  // Random residues, with the extremes first.
  Words random(std::uint32_t q) {
    Words x(n());
    for (auto& v : x) v = static_cast<std::uint32_t>(rng_() % q);
    x[0] = q - 1;
    x[1] = 0;
    for (int i = 16; i < 48; ++i) x[i] = q - 1;
    return x;
  }
  std::mt19937_64 rng_{7};
};

TEST_P(SimdKernels, TransformsAgree) {
  const Ring ring(GetParam().log_n, kPrimes);
  const RingTable plain(ring, reference_kernels()), fast(ring, simd());
  for (std::size_t i = 0; i < kPrimes.size(); ++i) {
    const PrimeTable &p = plain.primes[i], &f = fast.primes[i];
    const Words x = random(kPrimes[i]);
    const ShoupFactor scale = make_shoup(x[5], p.modulus);
    const int rows = p.rows(), cols = p.cols();
    Words a(n()), b(n());
    reference_kernels().forward_columns(a.data(), cols, x.data(), cols, cols, p);
    simd().forward_columns(b.data(), cols, x.data(), cols, cols, f);
    EXPECT_EQ(a, b) << "forward_columns";
    reference_kernels().inverse_columns(a.data(), cols, x.data(), cols, cols, scale, p);
    simd().inverse_columns(b.data(), cols, x.data(), cols, cols, scale, f);
    EXPECT_EQ(a, b) << "inverse_columns";
    reference_kernels().forward_rows(a.data(), x.data(), 0, rows, p);
    simd().forward_rows(b.data(), x.data(), 0, rows, f);
    EXPECT_EQ(a, b) << "forward_rows";
    reference_kernels().inverse_rows(a.data(), x.data(), 0, rows, scale, p);
    simd().inverse_rows(b.data(), x.data(), 0, rows, scale, f);
    EXPECT_EQ(a, b) << "inverse_rows";
    // Partial calls: 16 columns into a packed tile, and a few rows from the middle, in place.
    Words ta(16 * rows), tb(16 * rows);
    reference_kernels().forward_columns(ta.data(), 16, x.data() + 16, cols, 16, p);
    simd().forward_columns(tb.data(), 16, x.data() + 16, cols, 16, f);
    EXPECT_EQ(ta, tb) << "forward_columns, 16 of them";
    for (int first : {1, 8}) {
      a = b = x;
      reference_kernels().forward_rows(a.data() + first * cols, a.data() + first * cols, first, 8,
                                       p);
      simd().forward_rows(b.data() + first * cols, b.data() + first * cols, first, 8, f);
      EXPECT_EQ(a, b) << "forward_rows from " << first;
    }
  }
}

TEST_P(SimdKernels, PointwiseKernelsAgree) {
  for (std::uint32_t q : kPrimes) {
    const Modulus m = make_modulus(q);
    std::vector<Words> x, y;
    std::vector<const std::uint32_t*> px, py;
    std::vector<ShoupFactor> c;
    for (int j = 0; j < 19; ++j) {
      x.push_back(random(q));
      y.push_back(random(q));
      c.push_back(make_shoup(j == 0 ? 1 : j == 1 ? q - 1 : j == 2 ? 0 : x[j][9], m));
    }
    for (int j = 0; j < 19; ++j) {
      px.push_back(x[j].data());
      py.push_back(y[j].data());
    }
    Words a(n()), b(n());
    for (int terms : {0, 1, 4, 8, 9, 19}) {
      for (const std::uint32_t* add : {static_cast<const std::uint32_t*>(nullptr), px[3]}) {
        reference_kernels().multiply_accumulate(a.data(), px.data(), py.data(), terms, add, c[5],
                                                n(), m);
        simd().multiply_accumulate(b.data(), px.data(), py.data(), terms, add, c[5], n(), m);
        EXPECT_EQ(a, b) << "multiply_accumulate of " << terms;
      }
      reference_kernels().linear(a.data(), px.data(), c.data(), terms, q - 1, n(), m);
      simd().linear(b.data(), px.data(), c.data(), terms, q - 1, n(), m);
      EXPECT_EQ(a, b) << "linear of " << terms;
    }
    std::vector<std::int32_t> ca(n()), cb(n());
    reference_kernels().centre(ca.data(), px[0], n(), m);
    simd().centre(cb.data(), px[0], n(), m);
    EXPECT_EQ(ca, cb);
    std::vector<std::int64_t> wide(n());
    for (auto& v : wide) v = static_cast<std::int64_t>(rng_());
    wide[0] = INT64_MIN;
    wide[1] = INT64_MAX;
    wide[2] = -1;
    wide[3] = 0;
    reference_kernels().reduce(a.data(), wide.data(), n(), m);
    simd().reduce(b.data(), wide.data(), n(), m);
    EXPECT_EQ(a, b) << "reduce";
  }
}

TEST_P(SimdKernels, ConversionAgrees) {
  const int sources = 17, outputs = static_cast<int>(kPrimes.size());
  std::vector<std::vector<std::int32_t>> y(sources);
  std::vector<const std::int32_t*> py;
  for (auto& limb : y) {
    // The bounds of BaseConversion: 17 products stay below 2^63.
    for (int i = 0; i < n(); ++i)
      limb.push_back(static_cast<std::int32_t>(rng_() % (1u << 30)) - (1 << 29));
    py.push_back(limb.data());
  }
  std::vector<std::int32_t> table(static_cast<std::size_t>(sources) * outputs);
  std::vector<Modulus> moduli;
  for (int i = 0; i < outputs; ++i) {
    moduli.push_back(make_modulus(kPrimes[i]));
    for (int j = 0; j < sources; ++j) {
      table[i * sources + j] = centre(static_cast<std::uint32_t>(rng_() % kPrimes[i]), kPrimes[i]);
    }
  }
  for (int count : {16, n()}) {
    std::vector<Words> a(outputs, Words(count)), b(outputs, Words(count));
    std::vector<std::uint32_t*> pa, pb;
    for (int i = 0; i < outputs; ++i) {
      pa.push_back(a[i].data());
      pb.push_back(b[i].data());
    }
    reference_kernels().convert(pa.data(), py.data(), outputs, sources, count, table.data(),
                                moduli.data());
    simd().convert(pb.data(), py.data(), outputs, sources, count, table.data(), moduli.data());
    EXPECT_EQ(a, b);
  }
}

TEST_P(SimdKernels, GatherAgrees) {
  const int log_cols = GetParam().log_n - GetParam().log_n / 2, cols = 1 << log_cols;
  const Modulus m = make_modulus(kPrimes[0]);
  std::vector<std::uint16_t> reversal(cols);
  for (int i = 0; i < cols; ++i) {
    for (int b = 0; b < log_cols; ++b) reversal[i] |= ((i >> b) & 1) << (log_cols - 1 - b);
  }
  const Words x = random(m.q);
  std::vector<std::uint32_t> all{5, 25, 2u * n() - 1};
  for (std::uint32_t g = 1; g < 32; g += 2) all.push_back(g);
  for (const std::uint32_t galois : all) {
    for (bool accumulate : {false, true}) {
      const std::uint32_t offset = 12345 + 77 * galois;
      Words a(x.begin() + 100, x.begin() + 100 + cols), b = a;
      reference_kernels().gather_row(a.data(), x.data(), cols, reversal.data(), offset, galois,
                                     accumulate, m);
      simd().gather_row(b.data(), x.data(), cols, reversal.data(), offset, galois, accumulate, m);
      EXPECT_EQ(a, b);
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const CpuKernels* k : {avx512_kernels(), avx2_kernels()}) {
    for (int log_n = 10; log_n <= 17; ++log_n) list.push_back({k, log_n});
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(AllSets, SimdKernels, ::testing::ValuesIn(cases()), [](const auto& info) {
  const CpuKernels* k = info.param.kernels;
  return std::string(k == nullptr ? "missing" : k->name) + "_" + std::to_string(info.param.log_n) +
         "_" + std::to_string(info.index);
});

}  // namespace
}  // namespace latticino::cpu
