// Row transforms: the last log2(cols) stages of the forward network and their inverse. A block
// holds kRows rows at successive places of one limb; T threads, all of one warp, share a row.
#pragma once

#include <cstdint>

#include "backend/cuda/device/evict_first.cuh"
#include "backend/cuda/device/tables.h"
#include "backend/cuda/ntt/core.cuh"

namespace latticino::cuda {

template <int LOG_COLS>
struct RowShape : TransformShape<LOG_COLS> {
  using Base = TransformShape<LOG_COLS>;
  static constexpr int kStride = Base::kLength + Base::kThreads;
  static constexpr int kVectors = Base::kValues / 4;  // 16-byte vectors a thread holds of its row
  static constexpr int kRowVectors = Base::kLength / 4;  // vectors of the whole row
  // For blocks of kernels that only transform.
  static constexpr int kBlockThreads = 128;
  static constexpr int kRows = kBlockThreads / Base::kThreads;
  static constexpr int kMinBlocks = Base::kValues > 16 ? 4 : 8;
  static constexpr int kSharedWords = kRows * kStride;
};

// The row that a thread works on.
template <class S>
struct RowPosition {
  int t;                // thread of the row
  std::uint32_t place;  // place of the row in Half
  std::uint32_t row;
  int log_rows;
  std::uint32_t* shared;  // kStride words of the row's own

  __device__ __forceinline__ RowPosition(int t, std::uint32_t place, std::uint32_t* shared,
                                         int log_rows)
      : t(t), place(place), row(row_at(place, log_rows)), log_rows(log_rows), shared(shared) {}
  // Rows of a block one after another.
  static __device__ __forceinline__ RowPosition in_block(std::uint32_t* shared, int log_rows) {
    const int local = threadIdx.x / S::kThreads;
    return {static_cast<int>(threadIdx.x % S::kThreads), blockIdx.x * S::kRows + local,
            shared + local * S::kStride, log_rows};
  }
  // First of the thread's vectors in an Eval limb; the others follow kThreads vectors apart.
  __device__ __forceinline__ std::uint32_t vector() const { return row * S::kRowVectors + t; }
};

__device__ __forceinline__ std::uint32_t times_r(std::uint32_t x, const Modulus& m) {
  return mul_mod(x, m.r2, m);
}

// What one thread needs of the twiddles of a row under one prime, in either direction
// (device/tables.h).
template <class S>
struct RowTwiddles {
  static constexpr int kStages = S::kLogLength - S::kLogValues;  // stages of the narrow round
  static constexpr int kLogBlocks = S::kLogValues - kStages;     // log2 of the first stage's blocks
  static constexpr int kRowUnits = kLogBlocks + kStages - 1;
  static_assert(kStages <= kRowVector && kRowUnits <= kUnits);

  std::uint32_t wide[S::kValues];   // entry 0 unused
  std::uint32_t first[kRowVector];  // first twiddle of each narrow stage
  Shoup unit[kUnits];

  __device__ __forceinline__ void load(const std::uint32_t* rows, const RowUnits* units, int prime,
                                       const RowPosition<S>& at) {
    constexpr std::uint32_t kWords = row_table_words(S::kLogLength);
    load(rows + (static_cast<std::size_t>(prime) * kWords << at.log_rows) + at.row * kWords,
         units[prime], at.t);
  }

  // From the words of the row, wherever they are. These are plain loads, not those of constants, so
  // the compiler does not move them.
  __device__ __forceinline__ void load(const std::uint32_t* row, const RowUnits& units, int t) {
    const auto* vectors = reinterpret_cast<const uint4*>(row);
    const auto put = [](std::uint32_t* w, uint4 v) {
      w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
    };
    put(first, vectors[S::kValues / 4 + t]);
    const auto* shoup = reinterpret_cast<const uint4*>(units.power);
#pragma unroll
    for (int i = 0; i < kRowUnits; i += 2) {
      const uint4 v = shoup[i / 2];
      unit[i] = {v.x, v.y}, unit[i + 1] = {v.z, v.w};
    }
#pragma unroll
    for (int i = 0; i < S::kValues / 4; ++i) put(wide + 4 * i, vectors[i]);
  }

  // The four rounds, in the order in which row_forward and row_inverse call them for any form of
  // twiddles.
  __device__ __forceinline__ void forward_wide(std::uint32_t (&x)[S::kValues],
                                               const Modulus& m) const {
    forward_stages<S::kValues / 2, false, true>(x, wide + 1, m);
  }
  __device__ __forceinline__ void forward_narrow(std::uint32_t (&x)[S::kValues],
                                                 const Modulus& m) const {
    std::uint32_t w[S::kNarrowTwiddles];
    narrow(w, m);
    forward_stages<S::kThreads / 2, false>(x, w, m);
  }
  __device__ __forceinline__ void inverse_narrow(std::uint32_t (&x)[S::kValues],
                                                 const Modulus& m) const {
    std::uint32_t w[S::kNarrowTwiddles];
    narrow(w, m);
    inverse_stages<S::kThreads / 2, false>(x, w, m);
  }
  template <bool SUMS>
  __device__ __forceinline__ void inverse_wide(std::uint32_t (&x)[S::kValues], Shoup inverse_cols,
                                               const Modulus& m) const {
    inverse_stages<S::kValues / 4, false>(x, wide + 2, m);
    if constexpr (SUMS) {
      inverse_last_stage(x, times_r(times_r(inverse_cols.w, m), m), times_r(wide[1], m), m);
    } else {
      inverse_last_stage(x, inverse_cols, wide[1], m);
    }
  }

  __device__ __forceinline__ void narrow(std::uint32_t (&w)[S::kNarrowTwiddles],
                                         const Modulus& m) const {
#pragma unroll
    for (int s = 0; s < kStages; ++s) {
      std::uint32_t* stage = w + S::kBlocks * ((1 << s) - 1);
      stage[0] = first[s];
#pragma unroll
      for (int b = 0; b < kLogBlocks + s; ++b) {
#pragma unroll
        for (int c = 0; c < 1 << b; ++c) stage[(1 << b) + c] = mul_twiddle(stage[c], unit[b], m);
      }
    }
  }
};

// The same, but all narrow twiddles come from the table. For measuring what computing them gains.
template <class S>
struct LoadedRowTwiddles : RowTwiddles<S> {
  const std::uint32_t* table;  // for one prime and direction (RingView)
  std::uint32_t node;
  int t;

  __device__ __forceinline__ LoadedRowTwiddles(const RowTwiddles<S>& words,
                                               const std::uint32_t* table, const RowPosition<S>& at)
      : RowTwiddles<S>(words), table(table), node((1u << at.log_rows) + at.row), t(at.t) {}

  __device__ __forceinline__ void forward_narrow(std::uint32_t (&x)[S::kValues],
                                                 const Modulus& m) const {
    std::uint32_t w[S::kNarrowTwiddles];
    load_narrow<S>(w, table, node, t);
    forward_stages<S::kThreads / 2, false>(x, w, m);
  }
  __device__ __forceinline__ void inverse_narrow(std::uint32_t (&x)[S::kValues],
                                                 const Modulus& m) const {
    std::uint32_t w[S::kNarrowTwiddles];
    load_narrow<S>(w, table, node, t);
    inverse_stages<S::kThreads / 2, false>(x, w, m);
  }
};

// The same as Shoup pairs, for threads that take one polynomial after the other. Nothing is
// computed again in a narrow round, and a butterfly costs four slots of the multiplier instead of
// five.
template <class S>
struct HeldRowTwiddles {
  Shoup wide[S::kValues];  // entry 0 unused
  Shoup narrow[S::kNarrowTwiddles];

  __device__ __forceinline__ HeldRowTwiddles(const RowTwiddles<S>& words, const Modulus& m) {
    std::uint32_t w[S::kNarrowTwiddles];
    words.narrow(w, m);
#pragma unroll
    for (int i = 1; i < S::kValues; ++i) wide[i] = shoup_of(words.wide[i], m);
#pragma unroll
    for (int i = 0; i < S::kNarrowTwiddles; ++i) narrow[i] = shoup_of(w[i], m);
  }

  __device__ __forceinline__ void forward_wide(std::uint32_t (&x)[S::kValues],
                                               const Modulus& m) const {
    forward_stages<S::kValues / 2, false, true>(x, wide + 1, m);
  }
  __device__ __forceinline__ void forward_narrow(std::uint32_t (&x)[S::kValues],
                                                 const Modulus& m) const {
    forward_stages<S::kThreads / 2, false>(x, narrow, m);
  }
  __device__ __forceinline__ void inverse_narrow(std::uint32_t (&x)[S::kValues],
                                                 const Modulus& m) const {
    inverse_stages<S::kThreads / 2, false>(x, narrow, m);
  }
  template <bool SUMS>
  __device__ __forceinline__ void inverse_wide(std::uint32_t (&x)[S::kValues], Shoup inverse_cols,
                                               const Modulus& m) const {
    static_assert(!SUMS);
    inverse_stages<S::kValues / 4, false>(x, wide + 2, m);
    inverse_last_stage(x, inverse_cols, wide[1], m);
  }
};

// ONCE: the data are not needed again.
template <class S, bool ONCE = false>
__device__ __forceinline__ void load_half(std::uint32_t (&x)[S::kValues], const std::uint32_t* limb,
                                          const RowPosition<S>& at) {
  const std::uint32_t* p = global(limb) + half_row(at.place, S::kLogLength) + half_column(at.t);
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) {
    const std::uint32_t* word = p + j * kLineRows * S::kThreads;
    x[j] = ONCE ? load_once(word) : *word;
  }
}

template <class S>
__device__ __forceinline__ void store_half(const std::uint32_t (&x)[S::kValues],
                                           std::uint32_t* limb, const RowPosition<S>& at) {
  std::uint32_t* p = global(limb) + half_row(at.place, S::kLogLength) + half_column(at.t);
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) p[j * kLineRows * S::kThreads] = x[j];
}

template <class S, class At>
__device__ __forceinline__ void load_eval(std::uint32_t (&x)[S::kValues], const std::uint32_t* limb,
                                          const At& at) {
  const uint4* p = reinterpret_cast<const uint4*>(global(limb)) + at.vector();
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    const uint4 v = p[j * S::kThreads];
    x[4 * j] = v.x, x[4 * j + 1] = v.y, x[4 * j + 2] = v.z, x[4 * j + 3] = v.w;
  }
}

template <class S, class At>
__device__ __forceinline__ void store_eval(const std::uint32_t (&x)[S::kValues],
                                           std::uint32_t* limb, const At& at) {
  uint4* p = reinterpret_cast<uint4*>(global(limb)) + at.vector();
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    p[j * S::kThreads] = make_uint4(x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3]);
  }
}

// Forces the loads before this point to start before anything after it. Otherwise the compiler
// would save registers by waiting for one load after the other. (This fails if the compiler knows
// that a warp is whole.)
__device__ __forceinline__ void all_loads_issued() { __syncwarp(); }

// In: entries t + T j in [0, q). Out: entries E t + j in [0, 2q).
template <class S, class Twiddles>
__device__ __forceinline__ void row_forward(std::uint32_t (&x)[S::kValues],
                                            const Twiddles& twiddles, const RowPosition<S>& at,
                                            const Modulus& m) {
  all_loads_issued();
  twiddles.forward_wide(x, m);
  exchange_to_narrow<S>(x, at.shared, at.t);
  twiddles.forward_narrow(x, m);
}

// In: entries E t + j in [0, q); SUMS: of sums of products that were reduced once, and carry R^-1.
// Out: entries t + T j in [0, q), divided by the number of columns, without R^-1.
template <class S, bool SUMS = false, class Twiddles>
__device__ __forceinline__ void row_inverse(std::uint32_t (&x)[S::kValues],
                                            const Twiddles& twiddles, const RowPosition<S>& at,
                                            Shoup inverse_cols, const Modulus& m) {
  all_loads_issued();
  twiddles.inverse_narrow(x, m);
  exchange_to_wide<S>(x, at.shared, at.t);
  twiddles.template inverse_wide<SUMS>(x, inverse_cols, m);
}

}  // namespace latticino::cuda
