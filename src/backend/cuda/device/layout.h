// Physical order of the entries of a limb. Every kernel, upload and download that depends on this
// order uses the functions of this file; no other code may assume an order.
//
// Kernels rely on three properties of every layout:
//   1. Coeff is in logical order.
//   2. In every domain an aligned group of four entries stays an aligned group of four, in order.
//   3. In Eval an entry stays in its row (cols consecutive words).
//
// The orders are those in which the threads of the transforms hold their values. A transform of
// length 2^k runs on 2^(k-e) threads, e = log_radix(k); thread t ends (forward) or begins (inverse)
// with the 2^e neighbours 2^e t + j.
//   Half  row 2^e t + j of the column transform stands at place 2^(k-e) j + t; eight rows at
//         successive places times four columns are one 128-byte line: a warp that holds eight t of
//         four columns reads or writes whole lines.
//   Eval  within its row, entry 2^e t + j stands at 2^(k-e+2) floor(j/4) + 4 t + j mod 4: the
//         threads of a row move 16-byte vectors side by side.
#pragma once

#include <cstdint>

#include "poly/domain.h"

#ifdef __CUDACC__
#define LATTICINO_HOST_DEVICE __host__ __device__
#else
#define LATTICINO_HOST_DEVICE
#endif

namespace latticino::cuda {

// log2 of the values a thread holds in a transform of length 2^log_length (32 .. 512).
LATTICINO_HOST_DEVICE constexpr int log_radix(int log_length) {
  return log_length <= 6 ? 3 : log_length <= 8 ? 4 : 5;
}

constexpr int kLineRows = 8, kLineColumns = 4;  // the shape of a 128-byte line in Half

// The place of a row among the rows of a Half limb, and back.
LATTICINO_HOST_DEVICE constexpr std::uint32_t row_place(std::uint32_t row, int log_rows) {
  const int e = log_radix(log_rows);
  return ((row & ((1u << e) - 1)) << (log_rows - e)) + (row >> e);
}
LATTICINO_HOST_DEVICE constexpr std::uint32_t row_at(std::uint32_t place, int log_rows) {
  const int e = log_radix(log_rows), log_threads = log_rows - e;
  return ((place & ((1u << log_threads) - 1)) << e) + (place >> log_threads);
}

// Offset in a Half limb of a row at `place`, and of a column within it.
LATTICINO_HOST_DEVICE constexpr std::uint32_t half_row(std::uint32_t place, int log_cols) {
  return ((place / kLineRows) << log_cols) * kLineRows + place % kLineRows * kLineColumns;
}
LATTICINO_HOST_DEVICE constexpr std::uint32_t half_column(std::uint32_t c) {
  return c / kLineColumns * (kLineRows * kLineColumns) + c % kLineColumns;
}

LATTICINO_HOST_DEVICE constexpr int log_rows_of(int log_n) { return log_n / 2; }
static_assert(log_rows_of(17) == half_log_rows(17) && log_rows_of(16) == half_log_rows(16));

// True where position(d, i, log_n) == i for all i.
LATTICINO_HOST_DEVICE constexpr bool natural_order(Domain d) { return d == Domain::Coeff; }

// Where the entry of logical index i lies in its limb.
LATTICINO_HOST_DEVICE constexpr std::uint32_t position(Domain d, std::uint32_t i, int log_n) {
  const int log_rows = log_rows_of(log_n), log_cols = log_n - log_rows;
  const std::uint32_t r = i >> log_cols, c = i & ((1u << log_cols) - 1);
  if (d == Domain::Half) return half_row(row_place(r, log_rows), log_cols) + half_column(c);
  if (d == Domain::Coeff) return i;
  const int e = log_radix(log_cols);
  const std::uint32_t t = c >> e, j = c & ((1u << e) - 1);
  return (r << log_cols) + (j / 4 << (log_cols - e + 2)) + 4 * t + j % 4;
}

// The logical index of the entry at position p: the inverse of position().
LATTICINO_HOST_DEVICE constexpr std::uint32_t logical_index(Domain d, std::uint32_t p, int log_n) {
  const int log_rows = log_rows_of(log_n), log_cols = log_n - log_rows;
  const std::uint32_t high = p >> log_cols, low = p & ((1u << log_cols) - 1);
  if (d == Domain::Coeff) return p;
  if (d == Domain::Half) {
    constexpr std::uint32_t kLine = kLineRows * kLineColumns;
    const std::uint32_t block = p & ((kLineRows << log_cols) - 1), line = block % kLine;
    const std::uint32_t place = high / kLineRows * kLineRows + line / kLineColumns;
    return (row_at(place, log_rows) << log_cols) + block / kLine * kLineColumns +
           line % kLineColumns;
  }
  const int log_vectors = log_cols - log_radix(log_cols) + 2;
  const std::uint32_t t = (low & ((1u << log_vectors) - 1)) / 4;
  return (high << log_cols) + (t << log_radix(log_cols)) + 4 * (low >> log_vectors) + low % 4;
}

}  // namespace latticino::cuda
