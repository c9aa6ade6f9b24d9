// Row transforms: the last log2(cols) stages of the forward network and their inverse. A block
// holds kRows rows at successive places of one limb; T threads, all of one warp, share a row.
#pragma once

#include <cstdint>

#include "backend/cuda/ntt_core.cuh"
#include "backend/cuda/tables.h"

namespace latticino::cuda {

template <int LOG_COLS>
struct RowShape : TransformShape<LOG_COLS> {
  using Base = TransformShape<LOG_COLS>;
  // Entry c at c + c / E: both rounds touch all banks.
  static constexpr int kStride = Base::kLength + Base::kThreads;
  static constexpr int kVectors = Base::kValues / 4;  // 16-byte vectors a thread holds of its row
  static constexpr int kRowVectors = Base::kLength / 4;  // of the whole row
  // Blocks of kernels that only transform.
  static constexpr int kBlockThreads = 128;
  static constexpr int kRows = kBlockThreads / Base::kThreads;
  static constexpr int kSharedWords = kRows * kStride;
};

// Which row a thread works on.
template <class S>
struct RowPosition {
  int t;                // thread of the row
  std::uint32_t place;  // of the row in Half
  std::uint32_t row;
  std::uint32_t node;     // rows + row
  std::uint32_t* shared;  // kStride words of the row's own

  __device__ __forceinline__ RowPosition(int t, std::uint32_t place, std::uint32_t* shared,
                                         int log_rows)
      : t(t),
        place(place),
        row(row_at(place, log_rows)),
        node((1u << log_rows) + row),
        shared(shared) {}
  // Rows of a block one after another.
  static __device__ __forceinline__ RowPosition in_block(std::uint32_t* shared, int log_rows) {
    const int local = threadIdx.x / S::kThreads;
    return {static_cast<int>(threadIdx.x % S::kThreads), blockIdx.x * S::kRows + local,
            shared + local * S::kStride, log_rows};
  }
  // First of the thread's vectors in an Eval limb; the others follow kThreads vectors apart.
  __device__ __forceinline__ std::uint32_t vector() const { return row * S::kRowVectors + t; }
};

// What the transforms of one row under one prime need.
template <class S>
struct RowTwiddles {
  const std::uint32_t* psi;  // of the prime, either direction
  std::uint32_t narrow[S::kNarrowTwiddles];

  __device__ __forceinline__ void load(const std::uint32_t* table, const RowPosition<S>& at) {
    psi = table;
    load_narrow<S>(narrow, table, at.node, at.t);
  }
};

template <class S>
__device__ __forceinline__ void load_half(std::uint32_t (&x)[S::kValues], const std::uint32_t* limb,
                                          const RowPosition<S>& at) {
  const std::uint32_t* p = global(limb) + half_row(at.place, S::kLogLength) + half_column(at.t);
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = p[j * kLineRows * S::kThreads];
}

template <class S>
__device__ __forceinline__ void store_half(const std::uint32_t (&x)[S::kValues],
                                           std::uint32_t* limb, const RowPosition<S>& at) {
  std::uint32_t* p = global(limb) + half_row(at.place, S::kLogLength) + half_column(at.t);
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) p[j * kLineRows * S::kThreads] = x[j];
}

template <class S>
__device__ __forceinline__ void load_eval(std::uint32_t (&x)[S::kValues], const std::uint32_t* limb,
                                          const RowPosition<S>& at) {
  const uint4* p = reinterpret_cast<const uint4*>(global(limb)) + at.vector();
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    const uint4 v = p[j * S::kThreads];
    x[4 * j] = v.x, x[4 * j + 1] = v.y, x[4 * j + 2] = v.z, x[4 * j + 3] = v.w;
  }
}

template <class S>
__device__ __forceinline__ void store_eval(const std::uint32_t (&x)[S::kValues],
                                           std::uint32_t* limb, const RowPosition<S>& at) {
  uint4* p = reinterpret_cast<uint4*>(global(limb)) + at.vector();
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    p[j * S::kThreads] = make_uint4(x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3]);
  }
}

// In: entries t + T j, any words below 2q. Out: entries E t + j in [0, 2q).
template <class S>
__device__ __forceinline__ void row_forward(std::uint32_t (&x)[S::kValues],
                                            const RowTwiddles<S>& twiddles,
                                            const RowPosition<S>& at, const Modulus& m) {
  std::uint32_t wide[S::kWideTwiddles];
  load_wide<S>(wide, twiddles.psi, at.node);
  forward_stages<S::kValues / 2>(x, wide, m);
  __syncwarp();
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) {
    const int c = S::kThreads * j;
    at.shared[at.t + c + c / S::kValues] = x[j];
  }
  __syncwarp();
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = at.shared[(S::kValues + 1) * at.t + j];
  forward_stages<S::kThreads / 2>(x, twiddles.narrow, m);
}

// In: entries E t + j in [0, q). Out: entries t + T j in [0, q), divided by the number of columns.
template <class S>
__device__ __forceinline__ void row_inverse(std::uint32_t (&x)[S::kValues],
                                            const RowTwiddles<S>& twiddles,
                                            const RowPosition<S>& at, Shoup inverse_cols,
                                            const Modulus& m) {
  inverse_stages<S::kThreads / 2>(x, twiddles.narrow, m);
  __syncwarp();
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) at.shared[(S::kValues + 1) * at.t + j] = x[j];
  __syncwarp();
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) {
    const int c = S::kThreads * j;
    x[j] = at.shared[at.t + c + c / S::kValues];
  }
  std::uint32_t wide[S::kWideTwiddles];
  load_wide<S>(wide, twiddles.psi, at.node);
  inverse_stages<S::kValues / 4>(x, wide + 1, m);
  inverse_last_stage(x, inverse_cols, mul_twiddle(wide[0], inverse_cols, m), m);
}

}  // namespace latticino::cuda
