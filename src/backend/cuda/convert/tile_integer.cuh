// The conversion of a tile without matrix units, to measure what those gain (features.h). A lane
// itself sums the words of one target's column, and reduces the sum (LAZY) or every product.
#pragma once

#include <cstdint>

#include "backend/cuda/convert/tile_shape.cuh"

namespace latticino::cuda {

struct IntegerRow {
  ConversionTarget target;
  const std::int32_t* matrix;
  int sources;

  __device__ __forceinline__ void load(const ConversionView& table, int row) {
    target = table.target[row];
    matrix = table.matrix + row * table.sources;
    sources = table.sources;
  }

  // Rows t + T j of column `column` of a strip, in [0, 2q) as from the matrix units. A 64-bit sum
  // has room for two products of a source (below 2^31) and a residue. Then fold_sum() has to make
  // it smaller.
  template <class S>
  __device__ __forceinline__ void convert(std::uint32_t (&x)[S::kValues], std::uint32_t strip,
                                          int t, int column, const Modulus& m) const {
    if constexpr (!S::kLazy) return convert_eagerly<S>(x, strip, t, column, m);
    std::uint64_t sum[S::kValues] = {};
#pragma unroll 1
    for (int j = 0; j < sources; ++j) {
      // The matrix units divide by 2^64 on the way, so the table has entries times 2^64, centred.
      // Here redc() of the sum divides by 2^32 only. redc() of the entry is the other division.
      const std::uint32_t w = canonical(redc(static_cast<std::int64_t>(__ldg(matrix + j)), m), m);
      const std::uint32_t base =
          strip + j * S::kLimbBytes + row_byte<S>(t, source_key(j)) + 4 * column;
      const bool full = j % 2 == 1 || j + 1 == sources;
#pragma unroll
      for (int k = 0; k < S::kValues; ++k) {
        sum[k] += static_cast<std::uint64_t>(tile_word(row_from<S>(base, S::kThreads * k))) * w;
        if (full) sum[k] = fold_sum(sum[k], m.q);
      }
    }
#pragma unroll
    for (int k = 0; k < S::kValues; ++k) x[k] = canonical(redc(sum[k], m), m) + target.offset;
  }

 private:
  template <class S>
  __device__ __forceinline__ void convert_eagerly(std::uint32_t (&x)[S::kValues],
                                                  std::uint32_t strip, int t, int column,
                                                  const Modulus& m) const {
#pragma unroll
    for (int k = 0; k < S::kValues; ++k) x[k] = 0;
#pragma unroll 1
    for (int j = 0; j < sources; ++j) {
      const std::uint32_t w = canonical(redc(static_cast<std::int64_t>(__ldg(matrix + j)), m), m);
      const std::uint32_t base =
          strip + j * S::kLimbBytes + row_byte<S>(t, source_key(j)) + 4 * column;
#pragma unroll
      for (int k = 0; k < S::kValues; ++k) {
        x[k] = add_mod(x[k], mul_mod(tile_word(row_from<S>(base, S::kThreads * k)), w, m), m.q);
      }
    }
#pragma unroll
    for (int k = 0; k < S::kValues; ++k) x[k] += target.offset;
  }
};

}  // namespace latticino::cuda
