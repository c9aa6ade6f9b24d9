// Every vectorised table of the FP64 arithmetic against the plain one, bit for bit: random numbers,
// and zeros of both signs, spikes and the largest that a blind rotation has.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "backend/cpu/fourier_kernels.h"
#include "backend/cpu/simd/tail_tables.h"
#include "math/fourier_selector.h"
#include "support/ring_support.h"

namespace latticino::cpu {
namespace {

using Reals = std::vector<double>;

// Compares bits, so that zeros of different signs are different.
std::vector<std::uint64_t> bits(const Reals& x) {
  std::vector<std::uint64_t> out;
  for (const double v : x) out.push_back(std::bit_cast<std::uint64_t>(v));
  return out;
}

class SimdFourierKernels : public testing::TestWithParam<const CpuKernels*> {
 protected:
  void SetUp() override {
    if (GetParam() == nullptr) GTEST_SKIP() << "not supported by this processor";
  }
  const FourierKernels& simd() const { return *GetParam()->fourier; }
  const FourierKernels& plain() const { return reference_fourier_kernels(); }

  static constexpr int kPatterns = 5;
  Reals numbers(std::size_t count, int pattern) {
    Reals x(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double r = static_cast<double>(static_cast<std::int64_t>(rng_()) >> 33);
      x[i] = pattern == 0   ? r
             : pattern == 1 ? (i % 2 == 0 ? 0.0 : -0.0)
             : pattern == 2 ? (i == count / 2 + 5 ? -0x1p40 : 0.0)
             : pattern == 3 ? (i % 3 == 0 ? 0x1p50 : -0x1p50)
                            : std::ldexp(r, static_cast<int>(rng_() % 60) - 50);
    }
    return x;
  }
  // Integers up to modulus / 2 in size, with the largest and zeros.
  Reals accumulator(std::size_t count, double modulus) {
    Reals x(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double r = std::ldexp(static_cast<double>(static_cast<std::int64_t>(rng_())), -64);
      x[i] = i % 11 == 0 ? 0 : std::rint((i % 5 == 0 ? (r < 0 ? -0.5 : 0.5) : r) * modulus);
    }
    return x;
  }
  // Blocks of lanes^2 transformed numbers as matrices, transposed.
  Reals transposed(const Reals& x) const {
    const std::size_t lanes = std::size_t{1} << simd().log_lanes;
    Reals out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t row = i / lanes % lanes, column = i % lanes;
      out[i - row * lanes - column + column * lanes + row] = x[i];
    }
    return out;
  }
  std::mt19937_64 rng_{17};
};

TEST(FourierKeyOrder, HoldsEveryNumberOnce) {
  for (const auto& [rows, parts] : {std::pair{6, 3}, {2, 2}, {1, 2}}) {
    constexpr std::size_t kN = 1024;
    const FourierKeyOrder order{rows, parts};
    std::vector<int> held(rows * parts * kN, 0);
    for (int row = 0; row < rows; ++row) {
      for (int part = 0; part < parts; ++part) {
        for (std::size_t i = 0; i < kN / 2; ++i) {
          ++held.at(order.at(row, part, i));
          ++held.at(order.at(row, part, i) + FourierKeyOrder::kInterleaved);
        }
      }
    }
    EXPECT_EQ(held, std::vector<int>(held.size(), 1)) << rows << " " << parts;
  }
}

TEST_P(SimdFourierKernels, TransformsAgree) {
  for (const int log_n : {10, 11, 12}) {
    const std::vector<fourier::Complex> roots = fourier::roots(log_n);
    const Reals tail = fourier_tail(roots, simd().log_lanes);
    const std::size_t n = std::size_t{1} << log_n;
    ASSERT_EQ(tail.size(), n / 2);
    const FourierTable without{log_n, roots.data(), nullptr};
    const FourierTable table{log_n, roots.data(), tail.data()};
    Prefetch none;
    for (int pattern = 0; pattern < kPatterns; ++pattern) {
      Reals a = numbers(n, pattern), b = a;
      plain().forward(a.data(), a.data() + n / 2, without, none);
      simd().forward(b.data(), b.data() + n / 2, table, none);
      ASSERT_EQ(bits(a), bits(transposed(b))) << log_n << " forward " << pattern;
      plain().inverse(a.data(), a.data() + n / 2, without, none);
      simd().inverse(b.data(), b.data() + n / 2, table, none);
      ASSERT_EQ(bits(a), bits(b)) << log_n << " inverse " << pattern;
    }
  }
}

// Prefetching changes no number. All of the requested memory is fetched, and nothing behind it.
TEST_P(SimdFourierKernels, TransformsFetchAhead) {
  for (const int log_n : {10, 11, 12}) {
    const std::vector<fourier::Complex> roots = fourier::roots(log_n);
    const Reals tail = fourier_tail(roots, simd().log_lanes);
    const std::size_t n = std::size_t{1} << log_n;
    const FourierTable table{log_n, roots.data(), tail.data()};
    for (const std::size_t wanted : {std::size_t{8}, std::size_t{1000}, 18 * n * sizeof(double)}) {
      const std::vector<char> memory(wanted);
      Prefetch none, ahead{memory.data(), memory.data() + wanted, wanted / 9 + 1};
      Reals a = numbers(n, 0), b = a;
      for (int transform = 0; transform < 9; ++transform) {
        ASSERT_LE(ahead.next, ahead.end);
        const auto& of = transform < 5 ? simd().forward : simd().inverse;
        of(a.data(), a.data() + n / 2, table, none);
        of(b.data(), b.data() + n / 2, table, ahead);
        ASSERT_EQ(bits(a), bits(b)) << log_n;
      }
      EXPECT_TRUE(ahead.next == ahead.end || ahead.next == memory.data()) << log_n << " " << wanted;
    }
  }
}

TEST_P(SimdFourierKernels, ProductsAgree) {
  for (const std::size_t n : {1024u, 4096u}) {
    for (const int parts : {2, 3}) {
      for (const int rows : {1, 2, 3, 5}) {
        for (int pattern = 0; pattern < kPatterns; ++pattern) {
          const Reals x = numbers(rows * n, pattern), key = numbers(rows * parts * n, 0);
          Reals a = numbers(parts * n, pattern), b = numbers(parts * n, 0);
          plain().products(a.data(), x.data(), key.data(), rows, parts, n);
          simd().products(b.data(), x.data(), key.data(), rows, parts, n);
          ASSERT_EQ(bits(a), bits(b)) << parts << " " << rows << " " << pattern;
        }
      }
    }
  }
}

TEST_P(SimdFourierKernels, CombinedKeysAgree) {
  for (const int log_n : {10, 12}) {
    const std::size_t n = std::size_t{1} << log_n;
    const auto powers = fourier::unit_powers(log_n);
    const auto exponents = fourier_exponents(log_n, simd().log_lanes);
    const auto in_order = fourier_exponents(log_n, 0);
    const FourierTable table{log_n, nullptr, nullptr, powers.data(), exponents.data()};
    const FourierTable plain_table{log_n, nullptr, nullptr, powers.data(), in_order.data()};
    for (const std::uint32_t e : {0u, 1u, 777u, 2047u}) {
      Reals a(n), b(n);
      plain().selectors(a.data(), plain_table, e);
      simd().selectors(b.data(), table, e);
      Reals halves(a.begin(), a.begin() + n / 2), back = transposed(halves);
      ASSERT_TRUE(std::equal(back.begin(), back.end(), b.begin())) << e;
      halves.assign(a.begin() + n / 2, a.end());
      back = transposed(halves);
      ASSERT_TRUE(std::equal(back.begin(), back.end(), b.begin() + n / 2)) << e;
    }
    for (const auto& [count, polynomials] : {std::pair{3, 4}, {7, 12}, {15, 1}}) {
      for (int pattern = 0; pattern < kPatterns; ++pattern) {
        const Reals x = numbers(count * n, pattern), keys = numbers(count * polynomials * n, 0);
        Reals a(polynomials * n), b = a;
        plain().combine(a.data(), x.data(), keys.data(), count, polynomials, n);
        simd().combine(b.data(), x.data(), keys.data(), count, polynomials, n);
        ASSERT_EQ(bits(a), bits(b)) << count << " " << polynomials << " " << pattern;
      }
    }
  }
}

TEST_P(SimdFourierKernels, RoundedSumsAgree) {
  constexpr std::size_t kN = 1024;
  const std::uint32_t q = test::ntt_primes(10, 1)[0];
  const fourier::Rounding one({10, 2, 1, false, {9, 2}, 1, q});
  const test::Words primes = test::ntt_primes(11, 2, 1u << 27);
  const fourier::Rounding two({11, 1, 1, false, {23, 1}, 2, std::uint64_t{primes[0]} * primes[1]});
  for (int exponent = -2; exponent <= 96; ++exponent) {
    Reals x(kN);
    for (std::size_t i = 0; i < kN; ++i) {
      const double r = std::ldexp(static_cast<double>(static_cast<std::int64_t>(rng_())), -63);
      x[i] = std::ldexp(i % 5 == 0 ? (r < 0 ? -1 : 1) : r, exponent);
      if (i % 7 == 0) x[i] = std::floor(x[i]) + (exponent < 40 ? 0.5 : 0);
    }
    Reals c = accumulator(kN, two.modulus), d = c;
    plain().add_sums(c.data(), x.data(), kN, two);
    simd().add_sums(d.data(), x.data(), kN, two);
    ASSERT_EQ(bits(c), bits(d)) << exponent;
    if (exponent > 50) continue;
    test::Words a(kN), b(kN);
    plain().round_one(a.data(), x.data(), kN, one);
    simd().round_one(b.data(), x.data(), kN, one);
    ASSERT_EQ(a, b) << exponent;
    for (const std::uint32_t word : a) ASSERT_LT(word, q);
  }
}

// Also against digits of integers: what is rounded is the same double.
TEST_P(SimdFourierKernels, RealDigitsAgree) {
  constexpr std::size_t kN = 2048;
  const test::Words primes = test::ntt_primes(11, 2, 1u << 27);
  const std::uint64_t q = std::uint64_t{primes[0]} * primes[1];
  for (const Gadget g : {Gadget{23, 1}, {31, 1}, {11, 2}, {25, 2}, {7, 3}, {1, 4}}) {
    const fourier::Rounding two({11, 1, 1, false, g, 2, q});
    for (const std::uint32_t rotation :
         {0u, 1u, 3u, 777u, 2047u, 2048u, 2049u, 3500u, 4095u, 4096u}) {
      const Reals acc = accumulator(kN, two.modulus);
      Reals a(kN * g.levels), b = a;
      std::vector<double*> pa, pb;
      for (int i = 0; i < g.levels; ++i) {
        pa.push_back(&a[i * kN]);
        pb.push_back(&b[i * kN]);
      }
      plain().real_digits(pa.data(), acc.data(), kN, rotation, g, two);
      simd().real_digits(pb.data(), acc.data(), kN, rotation, g, two);
      ASSERT_EQ(bits(a), bits(b)) << g.log_base << " " << g.levels << " " << rotation;
      for (std::size_t i = 0; i < kN; ++i) {
        const std::size_t from = (i + rotation) % (2 * kN);
        const double turned = from < kN ? acc[from] : -acc[from - kN];
        const double own = rotation < 2 * kN ? acc[i] : 0;
        std::int64_t kept =
            fourier::Rounding::bits(two.difference(turned, own)) - fourier::Rounding::kShiftBits;
        for (int level = g.levels - 1; level >= 0; --level) {
          const auto digit = level > 0 ? static_cast<double>(gadget_take(kept, g.log_base))
                                       : static_cast<double>(kept);
          ASSERT_EQ(a[level * kN + i], digit) << g.log_base << " " << level << " " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, SimdFourierKernels,
                         testing::Values(avx512_kernels(), avx2_kernels()));

}  // namespace
}  // namespace latticino::cpu
