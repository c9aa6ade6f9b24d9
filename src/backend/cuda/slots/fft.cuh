// The special FFT on the device: the products and sums of ops/slot_transform.h one by one, with
// intrinsics that are never fused, so the same doubles as on the host.
//
// Up to 2^11 slots are one tile in shared memory. More are seen as a matrix, entry i in row
// i / cols: stages inside a row (rows: a tile holds whole rows) and stages across rows (columns: a
// tile holds whole columns, at least 8 next to each other: 128 bytes).
#pragma once

#include "backend/cuda/device/elementwise.cuh"
#include "backend/cuda/device/tables.h"
#include "ops/slot_transform.h"

namespace latticino::cuda {

constexpr int kLogTile = 11;

// Entry half + j is the twiddle of pair j in a stage with `half` pairs per block.
class SlotTables : public OwnedTable {
 public:
  SlotTables(Launcher& launcher, const SlotTransform& transform);
  const double2* twiddles() const { return block_.as<double2>(); }

 private:
  DeviceBlock block_;
};

inline const double2* slot_twiddles(Launcher& launcher, const SlotTransform& transform) {
  return table_of<SlotTables>(launcher, transform).twiddles();
}

// How 2^log_slots numbers are divided into tiles.
struct SlotShape {
  int log_slots, log_cols, log_rows, log_tile;
  explicit __host__ __device__ SlotShape(int log_n)
      : log_slots(log_n),
        log_cols(log_n <= kLogTile ? log_n : log_n / 2),
        log_rows(log_n - log_cols),
        log_tile(log_n <= kLogTile ? log_n : kLogTile) {}
  __host__ __device__ int tiles() const { return 1 << (log_slots - log_tile); }
  // For a tile of rows.
  __host__ __device__ int log_tile_rows() const { return log_tile - log_cols; }
  // For a tile of columns.
  __host__ __device__ int log_width() const { return log_tile - log_rows; }
};

// Places of a tile in shared memory: neighbours and numbers any power of two apart lie in different
// banks.
__device__ __forceinline__ int bank_place(int e) { return e ^ ((e >> 3 ^ e >> 6 ^ e >> 9) & 7); }

template <bool FORWARD>
__device__ __forceinline__ void slot_butterfly(double2& x, double2& y, double2 w) {
  if constexpr (FORWARD) {
    const double re = __dsub_rn(__dmul_rn(y.x, w.x), __dmul_rn(y.y, w.y));
    const double im = __dadd_rn(__dmul_rn(y.x, w.y), __dmul_rn(y.y, w.x));
    y = {__dsub_rn(x.x, re), __dsub_rn(x.y, im)};
    x = {__dadd_rn(x.x, re), __dadd_rn(x.y, im)};
  } else {
    const double re = __dsub_rn(x.x, y.x), im = __dsub_rn(x.y, y.y);
    x = {__dadd_rn(x.x, y.x), __dadd_rn(x.y, y.y)};
    y = {__dadd_rn(__dmul_rn(re, w.x), __dmul_rn(im, w.y)),
         __dsub_rn(__dmul_rn(im, w.x), __dmul_rn(re, w.y))};
  }
}

// Stages with pairs 2^first .. 2^(last-1) places of the tile apart, in the order of the direction.
// twiddle(log_half, j): of the pair at place j of its block. Ends (and begins) with a barrier.
template <bool FORWARD, class Twiddle>
__device__ __forceinline__ void tile_stages(double2* tile, int log_tile, int first, int last,
                                            const Twiddle& twiddle) {
  for (int s = first; s < last; ++s) {
    const int log_half = FORWARD ? s : first + last - 1 - s;
    __syncthreads();
#pragma unroll 4
    for (int b = threadIdx.x; b < 1 << (log_tile - 1); b += kThreads) {
      const int j = b & ((1 << log_half) - 1), e = (b - j) * 2 + j;
      const int at_x = bank_place(e), at_y = bank_place(e + (1 << log_half));
      double2 x = tile[at_x], y = tile[at_y];
      slot_butterfly<FORWARD>(x, y, twiddle(log_half, j));
      tile[at_x] = x;
      tile[at_y] = y;
    }
  }
  __syncthreads();
}

// Runs the stages inside the rows, on a tile of whole rows.
template <bool FORWARD>
__device__ __forceinline__ void row_stages(double2* tile, const SlotShape& shape,
                                           const double2* twiddles) {
  tile_stages<FORWARD>(tile, shape.log_tile, 0, shape.log_cols,
                       [&](int log_half, int j) { return __ldg(twiddles + (1 << log_half) + j); });
}

// Stages across the rows of tile number `index` of whole columns, from `in` to `out`.
template <bool FORWARD>
__device__ __forceinline__ void column_tile(double2* tile, const SlotShape& shape, int index,
                                            const double2* twiddles, const double2* in,
                                            double2* out) {
  const int log_width = shape.log_width(), log_cols = shape.log_cols, c0 = index << log_width;
  const auto place = [&](int e) {
    return (e >> log_width << log_cols) + c0 + (e & ((1 << log_width) - 1));
  };
#pragma unroll 4
  for (int e = threadIdx.x; e < 1 << shape.log_tile; e += kThreads) {
    tile[bank_place(e)] = in[place(e)];
  }
  tile_stages<FORWARD>(tile, shape.log_tile, log_width, shape.log_tile, [&](int log_half, int j) {
    return __ldg(twiddles + (1 << (log_half - log_width + log_cols)) + place(j));
  });
#pragma unroll 4
  for (int e = threadIdx.x; e < 1 << shape.log_tile; e += kThreads) {
    out[place(e)] = tile[bank_place(e)];
  }
}

__device__ __forceinline__ int reversed(int i, int bits) {
  return bits == 0 ? 0 : static_cast<int>(__brev(static_cast<unsigned>(i)) >> (32 - bits));
}

// Items of one launch. Together they are no larger than what the second-level cache can hold
// between two passes.
inline std::size_t slot_items(std::size_t most, int log_slots) {
  return std::min<std::size_t>(most, std::max(1, (1 << 19) >> log_slots));
}

}  // namespace latticino::cuda
