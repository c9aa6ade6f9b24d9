// A whole transform between Coeff and Eval in one block: the limb comes from global memory once,
// goes through columns and rows in shared memory, and back. Columns stand in strips of four
// (ntt/columns.cuh): row r of a strip is the 16-byte line r ^ (r / E) mod 8, so that both rounds of
// columns touch all banks; some strips flip further bits of it, so that the vectors that a warp
// reads of its rows do too (docs/lab/variants.md).
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/device/cluster.cuh"
#include "backend/cuda/device/overlap.cuh"
#include "backend/cuda/ntt/args.cuh"
#include "backend/cuda/ntt/columns.cuh"
#include "backend/cuda/ntt/forms.h"
#include "backend/cuda/ntt/rows.cuh"

namespace latticino::cuda {

// KEPT: the block takes several polynomials one after the other, with all twiddles in registers.
template <int LOG_N, bool KEPT_TWIDDLES>
struct BlockShape {
  static constexpr bool kKept = KEPT_TWIDDLES;
  static constexpr int kLogN = LOG_N, kLogRows = log_rows_of(LOG_N), kLogCols = LOG_N - kLogRows;
  using Column = ColumnShape<kLogRows>;
  using Row = RowShape<kLogCols>;
  static_assert(row_threads(LOG_N) == Row::kThreads);

  static constexpr int kLaneColumns = lane_columns(LOG_N);
  static constexpr int kStripStride = strip_stride(LOG_N);
  // The parts of a round that a thread computes one after the other.
  static constexpr int kColumnShares = (1 << LOG_N) / Column::kValues;
  static constexpr int kRowShares = (1 << LOG_N) / Row::kValues;
  // 64 registers per thread, or 128 if twiddles are kept.
  static constexpr int kMaxThreads = LOG_N < 14 ? 512 : 1024;
  static constexpr int kThreads = kRowShares < kMaxThreads ? kRowShares : kMaxThreads;
  static constexpr int kMinBlocks = (kKept ? 512 : 1024) / kThreads;
  static_assert(kColumnShares % kThreads == 0 && kThreads % (kLaneColumns * Column::kThreads) == 0);
  static_assert(!kKept || kRowShares == kThreads);

  // Rows of a warp, and the vectors of a row that a thread has in its narrow round.
  static constexpr int kWarpRows = 32 / Row::kThreads, kVectors = Row::kValues / 4;
  // The bits that a strip flips in the numbers of its lines. Neighbouring threads of a row read
  // vectors of strips that are kVectors apart, which would otherwise lie in the same banks.
  static __device__ __forceinline__ constexpr int flip(int strip) {
    return strip / kVectors % (8 / kWarpRows) * kWarpRows;
  }
  static __device__ __forceinline__ int line(int row) {
    return row ^ (row >> Column::kLogValues & (kLineRows - 1));
  }
};

// A thread's share of a column.
template <class B>
struct BlockColumn {
  using S = typename B::Column;
  int t, column, flip;
  std::uint32_t* words;  // the first word of the column in shared memory

  __device__ __forceinline__ BlockColumn(int t, int column, std::uint32_t* limb)
      : t(t),
        column(column),
        flip(B::flip(column / kLineColumns)),
        words(limb + column / kLineColumns * B::kStripStride + column % kLineColumns) {}
  // Lanes go along kLaneColumns columns on the side of Coeff, and along the columns of a strip on
  // the side of rows.
  static __device__ __forceinline__ BlockColumn wide(int share, std::uint32_t* limb) {
    const int lane = share % B::kLaneColumns, group = share / B::kLaneColumns;
    return {group % S::kThreads, group / S::kThreads * B::kLaneColumns + lane, limb};
  }
  static __device__ __forceinline__ BlockColumn narrow(int share, std::uint32_t* limb) {
    const int lane = share % kLineColumns, group = share / kLineColumns;
    return {group % S::kThreads, group / S::kThreads * kLineColumns + lane, limb};
  }

  // Rows t + T j of the column, or rows E t + j.
  __device__ __forceinline__ std::uint32_t& wide_word(int j) const {
    const int rows = S::kThreads * j, swizzle = rows >> S::kLogValues & (kLineRows - 1);
    return words[kLineColumns * ((rows + t) ^ swizzle ^ flip)];
  }
  __device__ __forceinline__ std::uint32_t& narrow_word(int j) const {
    const int low = (j ^ t ^ flip) & (kLineRows - 1);
    return words[kLineColumns * (S::kValues * t + (j & ~(kLineRows - 1)) + low)];
  }
  __device__ __forceinline__ std::uint32_t coeff(int j) const {
    return ((t + S::kThreads * j) << B::kLogCols) + column;
  }
};

// A thread's share of a row. Lanes run over the rows of a warp first.
template <class B>
struct BlockRow {
  using S = typename B::Row;
  int t, row, line;
  std::uint32_t* limb;

  __device__ __forceinline__ BlockRow(int share, std::uint32_t* limb)
      : t(share % 32 / B::kWarpRows),
        row(share / 32 * B::kWarpRows + share % B::kWarpRows),
        line(B::line(row)),
        limb(limb) {}
  // First of its vectors in Eval.
  __device__ __forceinline__ std::uint32_t vector() const { return row * S::kRowVectors + t; }

  // Column t + T j.
  __device__ __forceinline__ std::uint32_t& wide_word(int j) const {
    const int strips = S::kThreads / kLineColumns * j;
    return limb[(t / kLineColumns + strips) * B::kStripStride +
                kLineColumns * (line ^ B::flip(strips)) + t % kLineColumns];
  }
  // Columns E t + 4 v .. E t + 4 v + 3.
  __device__ __forceinline__ uint4& narrow_vector(int v) const {
    auto* vectors = reinterpret_cast<uint4*>(limb);
    return vectors[(B::kVectors * t + v) * (B::kStripStride / 4) +
                   (line ^ B::flip(B::kVectors * t))];
  }

  __device__ __forceinline__ void read_wide(std::uint32_t (&x)[S::kValues]) const {
#pragma unroll
    for (int j = 0; j < S::kValues; ++j) x[j] = wide_word(j);
  }
  __device__ __forceinline__ void write_wide(const std::uint32_t (&x)[S::kValues]) const {
#pragma unroll
    for (int j = 0; j < S::kValues; ++j) wide_word(j) = x[j];
  }
  __device__ __forceinline__ void read_narrow(std::uint32_t (&x)[S::kValues]) const {
#pragma unroll
    for (int v = 0; v < B::kVectors; ++v) {
      const uint4 w = narrow_vector(v);
      x[4 * v] = w.x, x[4 * v + 1] = w.y, x[4 * v + 2] = w.z, x[4 * v + 3] = w.w;
    }
  }
  __device__ __forceinline__ void write_narrow(const std::uint32_t (&x)[S::kValues]) const {
#pragma unroll
    for (int v = 0; v < B::kVectors; ++v) {
      narrow_vector(v) = make_uint4(x[4 * v], x[4 * v + 1], x[4 * v + 2], x[4 * v + 3]);
    }
  }
};

// Twiddles of a block for one prime, loaded when they are needed.
template <class B>
struct GlobalTwiddles {
  using S = typename B::Column;
  const Shoup* columns;
  const std::uint32_t* rows;
  const RowUnits& units;

  __device__ __forceinline__ GlobalTwiddles(const RingView& ring, const RowView& views,
                                            bool forward, int prime)
      : columns((forward ? ring.column_psi : ring.column_psi_inv) +
                (static_cast<std::size_t>(prime) << B::kLogRows)),
        rows((forward ? views.psi : views.psi_inv) +
             (static_cast<std::size_t>(prime) * kRowWords << B::kLogRows)),
        units((forward ? views.units : views.units_inv)[prime]) {}

  __device__ __forceinline__ WideTwiddles<S> wide() const { return WideTwiddles<S>(columns); }
  // Twiddles for a thread's columns or rows, which all have the same t.
  __device__ __forceinline__ NarrowTwiddles<S> narrow() const {
    return {columns, static_cast<int>(threadIdx.x / kLineColumns % S::kThreads)};
  }
  __device__ __forceinline__ RowTwiddles<typename B::Row> row(const BlockRow<B>& at) const {
    RowTwiddles<typename B::Row> w;
    w.load(rows + at.row * kRowWords, units, at.t);
    return w;
  }

 private:
  static constexpr int kRowWords = row_table_words(B::kLogCols);
};

// The same twiddles, loaded into registers at the beginning. For threads that compute the same part
// of every row transform.
template <class B>
struct RegisterTwiddles {
  WideTwiddles<typename B::Column> kept_wide;
  NarrowTwiddles<typename B::Column> kept_narrow;
  HeldRowTwiddles<typename B::Row> kept_row;

  __device__ __forceinline__ RegisterTwiddles(const RingView& ring, const RowView& views,
                                              bool forward, int prime)
      : RegisterTwiddles(GlobalTwiddles<B>(ring, views, forward, prime),
                         load_modulus(ring.modulus + prime)) {}
  __device__ __forceinline__ RegisterTwiddles(const GlobalTwiddles<B>& from, const Modulus& m)
      : kept_wide(from.wide()),
        kept_narrow(from.narrow()),
        kept_row(from.row(BlockRow<B>(threadIdx.x, nullptr)), m) {}
  __device__ __forceinline__ const auto& wide() const { return kept_wide; }
  __device__ __forceinline__ const auto& narrow() const { return kept_narrow; }
  __device__ __forceinline__ const auto& row(const BlockRow<B>&) const { return kept_row; }
};

// The data that all polynomials of a block have in common.
template <class B>
struct BlockConstants {
  Modulus m;
  InverseDegrees inverse;
  std::conditional_t<B::kKept, RegisterTwiddles<B>, GlobalTwiddles<B>> twiddles;

  __device__ __forceinline__ BlockConstants(const RingView& ring, const RowView& rows, bool forward,
                                            int prime)
      : m(load_modulus(ring.modulus + prime)),
        inverse(ring.inverse[prime]),
        twiddles(ring, rows, forward, prime) {}
};

// coefficient(i) returns a coefficient below q.
template <class B, class Coefficient>
__device__ __forceinline__ void block_forward(const BlockConstants<B>& c,
                                              const Coefficient& coefficient, std::uint32_t* out,
                                              std::uint32_t* limb) {
  using Column = typename B::Column;
  using Row = typename B::Row;
  const auto& wide = c.twiddles.wide();
#pragma unroll 1
  for (int share = threadIdx.x; share < B::kColumnShares; share += B::kThreads) {
    const auto at = BlockColumn<B>::wide(share, limb);
    std::uint32_t x[Column::kValues];
#pragma unroll
    for (int j = 0; j < Column::kValues; ++j) x[j] = coefficient(at.coeff(j));
    wide.forward(x, c.m);
#pragma unroll
    for (int j = 0; j < Column::kValues; ++j) at.wide_word(j) = x[j];
  }
  __syncthreads();
  const auto& narrow = c.twiddles.narrow();
#pragma unroll 1
  for (int share = threadIdx.x; share < B::kColumnShares; share += B::kThreads) {
    const auto at = BlockColumn<B>::narrow(share, limb);
    std::uint32_t x[Column::kValues];
#pragma unroll
    for (int j = 0; j < Column::kValues; ++j) x[j] = at.narrow_word(j);
    narrow.forward(x, c.m);
#pragma unroll
    for (int j = 0; j < Column::kValues; ++j) at.narrow_word(j) = fold(x[j], c.m.q);
  }
  __syncthreads();
#pragma unroll 1
  for (int share = threadIdx.x; share < B::kRowShares; share += B::kThreads) {
    const BlockRow<B> at(share, limb);
    const auto& twiddles = c.twiddles.row(at);
    std::uint32_t x[Row::kValues];
    at.read_wide(x);
    twiddles.forward_wide(x, c.m);
    at.write_wide(x);
    __syncwarp();
    at.read_narrow(x);
    twiddles.forward_narrow(x, c.m);
#pragma unroll
    for (int j = 0; j < Row::kValues; ++j) x[j] = fold(x[j], c.m.q);
    store_eval<Row>(x, out, at);
  }
}

// put(i, x) stores coefficient i.
template <class B, class Put>
__device__ __forceinline__ void block_inverse(const BlockConstants<B>& c, const std::uint32_t* in,
                                              const Put& put, std::uint32_t* limb) {
  using Column = typename B::Column;
  using Row = typename B::Row;
#pragma unroll 1
  for (int share = threadIdx.x; share < B::kRowShares; share += B::kThreads) {
    const BlockRow<B> at(share, limb);
    const auto& twiddles = c.twiddles.row(at);
    std::uint32_t x[Row::kValues];
    load_eval<Row>(x, in, at);
    twiddles.inverse_narrow(x, c.m);
    at.write_narrow(x);
    __syncwarp();
    at.read_wide(x);
    twiddles.template inverse_wide<false>(x, c.inverse.cols, c.m);
    at.write_wide(x);
  }
  __syncthreads();
  const auto& narrow = c.twiddles.narrow();
#pragma unroll 1
  for (int share = threadIdx.x; share < B::kColumnShares; share += B::kThreads) {
    const auto at = BlockColumn<B>::narrow(share, limb);
    std::uint32_t x[Column::kValues];
#pragma unroll
    for (int j = 0; j < Column::kValues; ++j) x[j] = at.narrow_word(j);
    narrow.inverse(x, c.m);
#pragma unroll
    for (int j = 0; j < Column::kValues; ++j) at.narrow_word(j) = x[j];
  }
  __syncthreads();
  const auto& wide = c.twiddles.wide();
#pragma unroll 1
  for (int share = threadIdx.x; share < B::kColumnShares; share += B::kThreads) {
    const auto at = BlockColumn<B>::wide(share, limb);
    std::uint32_t x[Column::kValues];
#pragma unroll
    for (int j = 0; j < Column::kValues; ++j) x[j] = at.wide_word(j);
    wide.inverse(x, c.inverse.rows, c.inverse.last, c.m);
#pragma unroll
    for (int j = 0; j < Column::kValues; ++j) put(at.coeff(j), x[j]);
  }
}

// Grid: (polynomials, limbs). If twiddles are kept, a block takes every gridDim.x-th polynomial,
// and all polynomials have the same primes.
template <class B, bool FORWARD>
__device__ __forceinline__ void transform_limbs(const TransformArgs& a) {
  std::uint32_t* shared = dynamic_shared();
  const int place = blockIdx.y;
  if (place >= item_of(a, blockIdx.x).limbs) return;
  const BlockLimb first = limb_of(a, blockIdx.x, place);
  const BlockConstants<B> constants(a.ring, a.rows, FORWARD, first.prime);
  const auto transform = [&](const BlockLimb& limb) {
    if constexpr (FORWARD) {
      const auto coefficient = [&](std::uint32_t i) { return global(limb.in)[i]; };
      block_forward<B>(constants, coefficient, limb.out, shared);
    } else {
      const auto put = [&](std::uint32_t i, std::uint32_t x) { global(limb.out)[i] = x; };
      block_inverse<B>(constants, limb.in, put, shared);
    }
  };
  wait_for_previous();
  if constexpr (B::kKept) {
#pragma unroll 1
    for (std::uint32_t poly = blockIdx.x; poly < a.count; poly += gridDim.x) {
      if (poly + gridDim.x >= a.count) allow_next();
      transform(limb_of(a, poly, place));
      __syncthreads();  // all threads have read this polynomial from shared memory
    }
  } else {
    allow_next();
    transform(first);
  }
}

}  // namespace latticino::cuda
