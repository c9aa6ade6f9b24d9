// The conversion of a tile on integers (backend/cuda/convert/tile_integer.cuh), lane by lane on the
// host, against its definition. The code has no barrier, so lanes can run one after the other.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "backend/cuda/convert/entries.cuh"
#include "backend/cuda/convert/tile_integer.cuh"
#include "math/modulus.h"
#include "ops/conversion.h"
#include "support/ring_support.h"

namespace latticino {
namespace cuda {
alignas(1024) unsigned char tile_memory[232 << 10];
}
namespace {

using test::range;
using Shape6 = cuda::TileShape<8, 8, 1, 512, 2, 1, 6, false, false>;
using Shape3 = cuda::TileShape<8, 8, 1, 512, 2, 1, 3, false, false>;
using Eager6 = cuda::TileShape<8, 8, 1, 512, 2, 1, 6, false, false, false>;
using Eager3 = cuda::TileShape<8, 8, 1, 512, 2, 1, 3, false, false, false>;

// The tables as ConversionTables has them.
struct HostTables {
  explicit HostTables(const BaseConversion& c) {
    for (int i = 0; i < c.to().size(); ++i) {
      const Modulus m = make_modulus(c.ring().prime(c.to().prime(i)));
      const std::uint32_t r2 = pow_mod(2, 64, m);
      target.push_back({m.q, static_cast<std::uint32_t>(m.q_inverse), 0, m.q - 1});
      for (int j = 0; j < c.from().size(); ++j) {
        matrix.push_back(centre(mul_mod(c.matrix(i, j), r2, m), m.q));
      }
    }
    view.target = target.data();
    view.matrix = matrix.data();
    view.sources = static_cast<std::uint16_t>(c.from().size());
    view.targets = static_cast<std::uint16_t>(target.size());
  }
  std::vector<cuda::ConversionTarget> target;
  std::vector<std::int32_t> matrix;
  cuda::ConversionView view;
};

template <class S>
void expect_conversion(int sources, std::uint32_t bound, bool largest) {
  constexpr int kTargets = 3;
  const Ring ring(10, test::ntt_primes(10, sources + kTargets, bound));
  const BaseConversion c(ring, range(0, sources), range(sources, sources + kTargets));
  const HostTables tables(c);
  std::mt19937_64 random(sources);
  std::vector<std::vector<std::uint32_t>> words(sources);  // [row * 4 + column]
  for (int j = 0; j < sources; ++j) {
    for (int r = 0; r < S::kLength; ++r) {
      for (int column = 0; column < 4; ++column) {
        const std::uint32_t q = ring.prime(j);
        words[j].push_back(largest ? q - 1 : static_cast<std::uint32_t>(random() % q));
        cuda::tile_word(j * S::kLimbBytes + cuda::row_byte<S>(r, cuda::source_key(j)) +
                        4 * column) = words[j].back();
      }
    }
  }
  for (int i = 0; i < kTargets; ++i) {
    cuda::IntegerRow row;
    row.load(tables.view, i);
    const cuda::Modulus m{row.target.q, row.target.inv, 0, 0};
    for (int t = 0; t < S::kThreads; ++t) {
      for (int column = 0; column < 4; ++column) {
        std::uint32_t x[S::kValues];
        row.convert<S>(x, 0, t, column, m);
        for (int k = 0; k < S::kValues; ++k) {
          std::uint64_t want = row.target.offset;
          for (int j = 0; j < sources; ++j) {
            want +=
                std::uint64_t{words[j][(t + S::kThreads * k) * 4 + column]} * c.matrix(i, j) % m.q;
          }
          ASSERT_EQ(x[k] % m.q, want % m.q) << sources << " sources, target " << i;
          ASSERT_LT(x[k], 2 * m.q);
        }
      }
    }
  }
}

TEST(TileInteger, IsTheConversion) {
  for (const int sources : {1, 2, 5, 12}) expect_conversion<Shape3>(sources, 1u << 30, false);
  for (const int sources : {13, 17, 24}) expect_conversion<Shape6>(sources, 1u << 30, false);
}

// Every product is reduced by itself: `lazy` of features.h.
TEST(TileInteger, IsTheConversionWithoutLazyReduction) {
  for (const int sources : {1, 5, 12}) expect_conversion<Eager3>(sources, 1u << 31, false);
  for (const int sources : {13, 24}) expect_conversion<Eager6>(sources, 1u << 30, true);
}

// Entries in Coeff: both ways give the same words.
TEST(TileInteger, EntriesAreTheSameWithAndWithoutLazyReduction) {
  const Ring ring(10, test::ntt_primes(10, 15, 1u << 31));
  const BaseConversion c(ring, range(0, 12), range(12, 15));
  const HostTables tables(c);
  std::mt19937_64 random(3);
  constexpr int kStride = 4;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int32_t> y(12 * kStride);
    for (int j = 0; j < 12; ++j) {
      const std::uint32_t q = ring.prime(j);
      y[j * kStride] = centre(round == 0 ? q / 2 : static_cast<std::uint32_t>(random() % q), q);
    }
    for (int i = 0; i < 3; ++i) {
      const cuda::Modulus m{tables.target[i].q, tables.target[i].inv, 0, 0};
      const std::int32_t* row = tables.matrix.data() + 12 * i;
      const std::uint32_t lazy = cuda::convert_entry<true>(y.data(), kStride, row, 12, m);
      ASSERT_EQ(lazy, cuda::convert_entry<false>(y.data(), kStride, row, 12, m));
      std::int64_t want = 0;
      for (int j = 0; j < 12; ++j) {
        want = (want + std::int64_t{y[j * kStride]} % m.q * c.matrix(i, j)) % m.q;
      }
      ASSERT_EQ(lazy, (want + m.q) % m.q);
    }
  }
}

// Sums stay in 64 bits for the largest words, of the largest primes and of the most sources.
TEST(TileInteger, LargestWords) {
  expect_conversion<Shape3>(4, 1u << 31, true);
  expect_conversion<Shape6>(24, 1u << 30, true);
}

}  // namespace
}  // namespace latticino
