// Negacyclic transforms of the short polynomials of TFHE. One or two warps compute one. A
// polynomial is rows x columns as everywhere (device/layout.h). Of T = rows threads, thread t holds
// columns t, t + T, ... in the column stages, and row t in the row stages. In between, and while
// the digits of a step wait for the key, the polynomial is in a slot of shared memory.
#pragma once

#include <cstdint>

#include "backend/cuda/device/barrier.cuh"
#include "backend/cuda/device/tables.h"
#include "backend/cuda/ntt/core.cuh"

namespace latticino::cuda {

template <int LOG_N>
struct BlindShape {
  static constexpr int kLogN = LOG_N, kN = 1 << LOG_N;
  static constexpr int kLogRows = log_rows_of(LOG_N), kLogCols = LOG_N - kLogRows;
  static constexpr int kRows = 1 << kLogRows, kCols = 1 << kLogCols;
  static constexpr int kThreads = kRows;          // threads of a polynomial, T
  static constexpr int kColumns = kCols / kRows;  // columns per thread: 1 or 2
  static constexpr int kRowVectors = kCols / 4;   // 16-byte vectors of a row
  static constexpr int kVectors = kRowVectors;    // the same number per thread
  // Threads per block, limited by registers.
  static constexpr int kMaxThreads = LOG_N == 10 ? 576 : 384;
  static_assert(kColumns >= 1 && kThreads % 32 == 0);

  // The vector of a slot with entries 4g .. 4g + 3 of row r. Eight neighbouring lanes touch all
  // banks, whether they go along a row (logical or Eval order) or down the rows.
  static __device__ __forceinline__ std::uint32_t slot(std::uint32_t r, std::uint32_t g) {
    return r * kRowVectors + ((g & ~7u) | ((g ^ g >> 3 ^ r) & 7));
  }
  // The group of four neighbours that is p-th in a row of an Eval limb.
  static __device__ __forceinline__ std::uint32_t eval_group(std::uint32_t p) {
    return logical_index(Domain::Eval, 4 * p, LOG_N) / 4;
  }
};

// Twiddles of one prime and direction in shared memory, N words: those of the column stages (the
// first `rows` entries of the table), then those of the row stages, by stage and block, with the
// rows of all threads side by side.
template <class S>
struct BlindTwiddles {
  const std::uint32_t* words;

  static __device__ __forceinline__ void fill(std::uint32_t* words, const std::uint32_t* table,
                                              int thread, int threads) {
    for (int i = thread; i < S::kN; i += threads) {
      int from = i;
      if (i >= S::kRows) {
        const int k = i / S::kRows, r = i % S::kRows;  // k - 1 = (2^stage - 1) + block
        const int stage = 31 - __clz(k);
        from = ((S::kRows + r) << stage) + k - (1 << stage);
      }
      words[i] = __ldg(table + from);
    }
  }

  struct Row {
    const std::uint32_t* first;
    __device__ __forceinline__ std::uint32_t operator[](int i) const { return first[i * S::kRows]; }
  };
  __device__ __forceinline__ const std::uint32_t* columns() const { return words + 1; }
  __device__ __forceinline__ Row row(int t) const { return {words + S::kRows + t}; }
};

// A barrier for the threads of one polynomial: one warp, or two warps with a named barrier.
template <class S>
__device__ __forceinline__ void sync_unit(int barrier) {
  if constexpr (S::kThreads == 32) {
    __syncwarp();
  } else {
    sync_threads(barrier, S::kThreads);
  }
}

template <class S>
using Columns = std::uint32_t[S::kColumns][S::kRows];

template <class S>
__device__ __forceinline__ std::uint32_t* column_word(std::uint32_t* slot, int t, int column,
                                                      int row) {
  const std::uint32_t c = t + S::kThreads * column;
  return slot + 4 * S::slot(row, c / 4) + c % 4;
}

template <class S>
__device__ __forceinline__ void load_row(std::uint32_t (&x)[S::kCols], const std::uint32_t* slot,
                                         int t) {
#pragma unroll
  for (int g = 0; g < S::kRowVectors; ++g) {
    const uint4 v = reinterpret_cast<const uint4*>(slot)[S::slot(t, g)];
    x[4 * g] = v.x, x[4 * g + 1] = v.y, x[4 * g + 2] = v.z, x[4 * g + 3] = v.w;
  }
}

// Transforms columns, words below 2q, and stores them in the slot, canonical and in Eval.
template <class S>
__device__ __forceinline__ void blind_forward(Columns<S>& x, std::uint32_t* slot,
                                              const BlindTwiddles<S>& w, int t, int barrier,
                                              const Modulus& m) {
#pragma unroll
  for (int c = 0; c < S::kColumns; ++c) {
    forward_stages<S::kRows / 2>(x[c], w.columns(), m);
#pragma unroll
    for (int r = 0; r < S::kRows; ++r) *column_word<S>(slot, t, c, r) = x[c][r];
  }
  sync_unit<S>(barrier);
  std::uint32_t y[S::kCols];
  load_row<S>(y, slot, t);
  forward_stages<S::kCols / 2>(y, w.row(t), m);
#pragma unroll
  for (int g = 0; g < S::kRowVectors; ++g) {
    reinterpret_cast<uint4*>(slot)[S::slot(t, g)] =
        make_uint4(fold(y[4 * g], m.q), fold(y[4 * g + 1], m.q), fold(y[4 * g + 2], m.q),
                   fold(y[4 * g + 3], m.q));
  }
}

// The factors at the end of an inverse transform, as Montgomery words: 1/N, and the last stage's
// twiddle times 1/N.
struct BlindEnd {
  std::uint32_t scale, last;
};

// Transforms the slot in Eval back to columns, canonical.
template <class S>
__device__ __forceinline__ void blind_inverse(Columns<S>& x, std::uint32_t* slot,
                                              const BlindTwiddles<S>& w, const BlindEnd& end, int t,
                                              int barrier, const Modulus& m) {
  std::uint32_t y[S::kCols];
  load_row<S>(y, slot, t);
  inverse_stages<S::kCols / 2>(y, w.row(t), m);
#pragma unroll
  for (int g = 0; g < S::kRowVectors; ++g) {
    reinterpret_cast<uint4*>(slot)[S::slot(t, g)] =
        make_uint4(y[4 * g], y[4 * g + 1], y[4 * g + 2], y[4 * g + 3]);
  }
  sync_unit<S>(barrier);
#pragma unroll
  for (int c = 0; c < S::kColumns; ++c) {
#pragma unroll
    for (int r = 0; r < S::kRows; ++r) x[c][r] = *column_word<S>(slot, t, c, r);
    inverse_stages<S::kRows / 4>(x[c], w.columns() + 1, m);
    inverse_last_stage(x[c], end.scale, end.last, m);
  }
}

}  // namespace latticino::cuda
