// Column transforms: the first log2(rows) stages of the forward network and their inverse, in
// shared memory. A strip is four columns of one limb, all rows: row r at 4 swizzled(r), so that
// both rounds, and the copies of whole lines to and from Half, touch all banks.
#pragma once

#include <cstdint>

#include "backend/cuda/device/tables.h"
#include "backend/cuda/ntt/core.cuh"

namespace latticino::cuda {

template <int LOG_ROWS>
struct ColumnShape : TransformShape<LOG_ROWS> {
  using Base = TransformShape<LOG_ROWS>;
  static constexpr int kStripWords = Base::kLength * kLineColumns;
  static constexpr int kStripThreads = Base::kThreads * kLineColumns;
  // Threads that work together: whole warps.
  static constexpr int kTeam = kStripThreads < 32 ? 32 : kStripThreads;
  static constexpr int kTeamStrips = kTeam / kStripThreads;
};

// Word of (row, column) in a strip.
template <class S>
__device__ __forceinline__ std::uint32_t strip_word(std::uint32_t row, std::uint32_t column) {
  return (row ^ (row >> S::kLogValues & (kLineRows - 1))) * kLineColumns + column;
}
// The same for rows t + T j and E t + j, split into a part that is known at compile time and the
// rest. Eight addresses serve a thread; the other words are at fixed distances.
template <class S>
__device__ __forceinline__ std::uint32_t wide_word(int t, int j, int column) {
  if constexpr (S::kThreads < kLineRows) return strip_word<S>(t + S::kThreads * j, column);
  const int swizzle = (S::kThreads * j >> S::kLogValues) % kLineRows;
  return (t ^ swizzle) * kLineColumns + column + S::kThreads * j * kLineColumns;
}
template <class S>
__device__ __forceinline__ std::uint32_t narrow_word(int t, int j, int column) {
  const int swizzled = (j % kLineRows ^ t % kLineRows) + S::kValues * t;
  return swizzled * kLineColumns + column + j / kLineRows * kLineRows * kLineColumns;
}

// What a thread works on: column c of strip `strip`, thread t of its transform.
template <class S>
struct ColumnPosition {
  int c, t, strip;
  // Lanes go along the four columns of a strip, with eight t of them per warp.
  static __device__ __forceinline__ ColumnPosition in_strips(int thread) {
    return {thread % kLineColumns, thread / kLineColumns % S::kThreads, thread / S::kStripThreads};
  }
  // Lanes go along all `columns` columns of a block.
  static __device__ __forceinline__ ColumnPosition across(int thread, int columns) {
    const int c = thread % columns;
    return {c % kLineColumns, thread / columns, c / kLineColumns};
  }
};

// Barrier of one team; barriers 1 and up belong to teams.
template <class S>
__device__ __forceinline__ void team_barrier(int team) {
  if constexpr (S::kTeam == 32) {
    __syncwarp();
  } else {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + team), "n"(S::kTeam) : "memory");
  }
}

template <class S>
__device__ __forceinline__ void read_wide(std::uint32_t (&x)[S::kValues],
                                          const std::uint32_t* strip, const ColumnPosition<S>& at) {
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = strip[wide_word<S>(at.t, j, at.c)];
}
template <class S>
__device__ __forceinline__ void write_wide(const std::uint32_t (&x)[S::kValues],
                                           std::uint32_t* strip, const ColumnPosition<S>& at) {
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) strip[wide_word<S>(at.t, j, at.c)] = x[j];
}
template <class S>
__device__ __forceinline__ void read_narrow(std::uint32_t (&x)[S::kValues],
                                            const std::uint32_t* strip,
                                            const ColumnPosition<S>& at) {
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = strip[narrow_word<S>(at.t, j, at.c)];
}
template <class S>
__device__ __forceinline__ void write_narrow(const std::uint32_t (&x)[S::kValues],
                                             std::uint32_t* strip, const ColumnPosition<S>& at) {
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) strip[narrow_word<S>(at.t, j, at.c)] = x[j];
}

// The thread's rows E t + j of the four columns c .. c+3 (a multiple of four) in a Half limb; the
// place of the row is T j + t.
template <class S>
__device__ __forceinline__ std::uint32_t half_base(std::uint32_t columns, int log_cols,
                                                   const ColumnPosition<S>& at) {
  return half_row(at.t, log_cols) + half_column(columns) + at.c;
}
template <class S>
__device__ __forceinline__ std::uint32_t half_step(int j, int log_cols) {
  // half_row is linear over places that differ by multiples of kLineRows; below that (T = 4) the
  // place has j's low bit inside the line.
  return half_row(S::kThreads * j, log_cols);
}

// Twiddles of one round of a column transform, kept while a thread works on several strips.
template <class S>
struct WideTwiddles {
  Shoup w[S::kWideTwiddles];
  __device__ __forceinline__ explicit WideTwiddles(const Shoup* table) {
    load_wide<S>(w, table, 1);
  }
  __device__ __forceinline__ void forward(std::uint32_t (&x)[S::kValues], const Modulus& m) const {
    forward_stages<S::kValues / 2>(x, w, m);
  }
  // Multiplies by `scale` on the way; `last` is the last stage's twiddle times it.
  template <class Last>
  __device__ __forceinline__ void inverse(std::uint32_t (&x)[S::kValues], Shoup scale, Last last,
                                          const Modulus& m) const {
    inverse_stages<S::kValues / 4, false>(x, w + 1, m);
    inverse_last_stage(x, scale, last, m);
  }
};
template <class S>
struct NarrowTwiddles {
  Shoup w[S::kNarrowTwiddles];
  __device__ __forceinline__ NarrowTwiddles(const Shoup* table, int t) {
    load_narrow<S>(w, table, 1, t);
  }
  __device__ __forceinline__ void forward(std::uint32_t (&x)[S::kValues], const Modulus& m) const {
    forward_stages<S::kThreads / 2, false>(x, w, m);
  }
  __device__ __forceinline__ void inverse(std::uint32_t (&x)[S::kValues], const Modulus& m) const {
    inverse_stages<S::kThreads / 2, false>(x, w, m);
  }
};

}  // namespace latticino::cuda
