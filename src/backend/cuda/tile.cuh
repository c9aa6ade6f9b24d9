// Base conversion between two Half polynomials as one tile (paper: Cheddar, Sec. 4, for the
// conversion; the fusion with the column halves of both transforms is ours): a block owns a few
// columns, all rows, of every source limb. It undoes the column stages in shared memory, multiplies
// by the conversion matrix on the 8-bit integer matrix units and runs the column stages of the
// targets, eight limbs at a time.
#pragma once

#include <cstdint>

#include "backend/cuda/conversion_tables.h"
#include "backend/cuda/ntt_columns.cuh"
#include "backend/cuda/view.h"

namespace latticino::cuda {

constexpr int kTileItems = 36;

struct TileArgs {
  RingView ring;
  int log_rows, log_cols;
  struct Item {
    ConversionView table;
    View in, out;
  } item[kTileItems];
};
static_assert(sizeof(TileArgs) <= 4096);

// STRIPS strips of four columns, THREADS threads; SUPERS parts of the block take turns between the
// matrix units and the transforms, each with room for kOutputs limbs. STEPS: source limbs / 4.
template <int LOG_ROWS, int STRIPS, int THREADS, int SUPERS, int STEPS>
struct TileShape : ColumnShape<LOG_ROWS> {
  using Base = ColumnShape<LOG_ROWS>;
  static constexpr int kStrips = STRIPS;
  static constexpr int kColumns = kLineColumns * STRIPS;
  static constexpr int kBlockThreads = THREADS;
  static constexpr int kSupers = SUPERS;
  static constexpr int kSteps = STEPS;
  static constexpr int kOutputs = 8;
  static constexpr int kWords = Base::kLength * kColumns;  // of a limb in the tile
  static constexpr int kStride = kWords + 8;               // limbs fall on different banks
  static constexpr int kTeams = THREADS / Base::kTeam;
  static constexpr int kSuperThreads = THREADS / SUPERS;
  static constexpr int kSuperTeams = kTeams / SUPERS;
  static constexpr int kStripGroups = STRIPS / Base::kTeamStrips;
  static_assert(STRIPS % Base::kTeamStrips == 0 && kTeams % SUPERS == 0);
  static_assert(Base::kTeam == 32 || kTeams + SUPERS < 16);  // named barriers

  static constexpr std::size_t shared_bytes(int sources) {
    return sizeof(std::uint32_t) * kStride * (sources + SUPERS * kOutputs);
  }
};

__device__ __forceinline__ void copy_async(std::uint32_t* shared, const std::uint32_t* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
               "l"(global)
               : "memory");
}
__device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

template <class S>
__device__ __forceinline__ void super_barrier(int super) {
  asm volatile("bar.sync %0, %1;" ::"r"(S::kSupers == 1 ? 0 : 15 - super), "n"(S::kSuperThreads)
               : "memory");
}

// Brings all source limbs into shared memory.
template <class S>
__device__ __forceinline__ void load_sources(std::uint32_t* shared, const TileArgs& a,
                                             const TileArgs::Item& item) {
  const std::uint32_t first = blockIdx.x * S::kColumns;
  for (int j = 0; j < item.table.sources; ++j) {
    const std::uint32_t* limb = item.in.limb(item.in.prime(j), a.ring.log_n);
    for (int i = threadIdx.x; i < S::kLength * S::kStrips; i += S::kBlockThreads) {
      const std::uint32_t place = i % S::kLength, strip = i / S::kLength;
      const std::uint32_t row = row_at(place, S::kLogLength);
      copy_async(shared + j * S::kStride + strip * S::kStripWords + strip_word<S>(row, 0),
                 limb + half_row(place, a.log_cols) + half_column(first + strip * kLineColumns));
    }
  }
  wait_copies();
  __syncthreads();
}

// Source limbs -> centred(a_j factor_j) + (q_j - 1)/2, in place.
template <class S>
__device__ __forceinline__ void invert_sources(std::uint32_t* shared, const TileArgs& a,
                                               const TileArgs::Item& item) {
  const int team = threadIdx.x / S::kTeam;
  const auto at = ColumnPosition<S>::in_strips(threadIdx.x % S::kTeam);
#pragma unroll 1
  for (int i = team; i < item.table.sources * S::kStripGroups; i += S::kTeams) {
    const int j = i / S::kStripGroups, group = i % S::kStripGroups;
    const int prime = item.in.prime(j);
    const Modulus m = load_modulus(a.ring.modulus + prime);
    const Shoup* table = a.ring.column_psi_inv + (static_cast<std::size_t>(prime) << S::kLogLength);
    std::uint32_t* strip =
        shared + j * S::kStride + (group * S::kTeamStrips + at.strip) * S::kStripWords;
    std::uint32_t x[S::kValues];
    read_narrow<S>(x, strip, at);
    inverse_narrow<S>(x, table, at.t, m);
    write_narrow<S>(x, strip, at);
    team_barrier<S>(team);
    read_wide<S>(x, strip, at);
    const ConversionSource source = item.table.source[j];
    inverse_wide<S>(x, table, source.scale, source.last, m);
#pragma unroll
    for (int k = 0; k < S::kValues; ++k) x[k] = fold(x[k] + m.q / 2, m.q);
    write_wide<S>(x, strip, at);
  }
  __syncthreads();
}

// D += A B for 16 rows of A, 8 columns of B and k = 32 or 16 unsigned bytes.
__device__ __forceinline__ void multiply_bytes(std::int32_t (&d)[4], std::uint32_t a0,
                                               std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                                               std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply_bytes(std::int32_t (&d)[4], std::uint32_t a0,
                                               std::uint32_t a1, std::uint32_t b0) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 "
      "{%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a0), "r"(a1), "r"(b0));
}

// Byte planes of a sum -> the sum modulo q, below 2q. Planes are below 2^22.6 (24 sources), so
// u, v < 2^31; with w = v + floor(u / 2^16) the sum is w 2^16 + u mod 2^16, and the quotient
// floor(w reciprocal / 2^32) is less than 1.5 + 2^16/q too small.
__device__ __forceinline__ std::uint32_t join_planes(std::uint32_t p0, std::uint32_t p1,
                                                     std::uint32_t p2, std::uint32_t p3,
                                                     const ConversionTarget& t) {
  const std::uint32_t u = p0 + (p1 << 8), v = p2 + (p3 << 8);
  return u + (v << 16) - __umulhi(v + (u >> 16), t.reciprocal) * t.q;
}

// The matrix product for up to eight targets from `first` on, over the whole tile. Lane 4 g + i
// holds target first + g of A, sources 4 s + i of step s of A and B.
template <class S>
__device__ __forceinline__ void multiply_matrix(std::uint32_t* out, const std::uint32_t* shared,
                                                const ConversionView& table, int first, int count) {
  constexpr int kWarps = S::kSuperThreads / 32, kFlight = 4;  // groups of 8 entries in flight
  static_assert(S::kWords / 8 % (kWarps * kFlight) == 0);
  const int warp = threadIdx.x % S::kSuperThreads / 32, g = threadIdx.x % 32 / 4,
            i = threadIdx.x % 4;
  const int row = first + min(g, count - 1);
  const ConversionTarget t = table.target[row];
  uint4 a[S::kSteps];
  const std::uint32_t* b[S::kSteps];
#pragma unroll
  for (int s = 0; s < S::kSteps; ++s) {
    const int j = 4 * s + i;
    a[s] = j < table.sources ? __ldg(table.planes + row * table.sources + j) : uint4{};
    b[s] = shared + min(j, table.sources - 1) * S::kStride + g;
  }
  out += g * S::kStride + 2 * i;
#pragma unroll 1
  for (int n = warp; n < S::kWords / 8; n += kFlight * kWarps) {
    std::int32_t low[kFlight][4], high[kFlight][4];
    std::uint32_t y[kFlight][S::kSteps];
#pragma unroll
    for (int f = 0; f < kFlight; ++f) {
#pragma unroll
      for (int s = 0; s < S::kSteps; ++s) y[f][s] = b[s][8 * (n + f * kWarps)];
      low[f][0] = low[f][1] = t.offset & 255;
      low[f][2] = low[f][3] = t.offset >> 8 & 255;
      high[f][0] = high[f][1] = t.offset >> 16 & 255;
      high[f][2] = high[f][3] = t.offset >> 24;
    }
#pragma unroll
    for (int s = 0; s + 1 < S::kSteps; s += 2) {
#pragma unroll
      for (int f = 0; f < kFlight; ++f) {
        multiply_bytes(low[f], a[s].x, a[s].y, a[s + 1].x, a[s + 1].y, y[f][s], y[f][s + 1]);
        multiply_bytes(high[f], a[s].z, a[s].w, a[s + 1].z, a[s + 1].w, y[f][s], y[f][s + 1]);
      }
    }
    if constexpr (S::kSteps % 2 == 1) {
      constexpr int s = S::kSteps - 1;
#pragma unroll
      for (int f = 0; f < kFlight; ++f) {
        multiply_bytes(low[f], a[s].x, a[s].y, y[f][s]);
        multiply_bytes(high[f], a[s].z, a[s].w, y[f][s]);
      }
    }
#pragma unroll
    for (int f = 0; f < kFlight; ++f) {
      *reinterpret_cast<uint2*>(out + 8 * (n + f * kWarps)) =
          make_uint2(join_planes(low[f][0], low[f][2], high[f][0], high[f][2], t),
                     join_planes(low[f][1], low[f][3], high[f][1], high[f][3], t));
    }
  }
}

// The column stages of `count` targets from `first` on: shared memory -> Half.
template <class S>
__device__ __forceinline__ void forward_targets(std::uint32_t* shared, const TileArgs& a,
                                                const TileArgs::Item& item, int first, int count) {
  const int team = threadIdx.x / S::kTeam;
  const auto at = ColumnPosition<S>::in_strips(threadIdx.x % S::kTeam);
#pragma unroll 1
  for (int i = team % S::kSuperTeams; i < count * S::kStripGroups; i += S::kSuperTeams) {
    const int l = i / S::kStripGroups, group = i % S::kStripGroups;
    const int prime = static_cast<int>(item.table.target[first + l].prime);
    const Modulus m = load_modulus(a.ring.modulus + prime);
    const Shoup* table = a.ring.column_psi + (static_cast<std::size_t>(prime) << S::kLogLength);
    const int strip_index = group * S::kTeamStrips + at.strip;
    std::uint32_t* strip = shared + l * S::kStride + strip_index * S::kStripWords;
    std::uint32_t x[S::kValues];
    read_wide<S>(x, strip, at);
    forward_wide<S>(x, table, m);
    write_wide<S>(x, strip, at);
    team_barrier<S>(team);
    read_narrow<S>(x, strip, at);
    forward_narrow<S>(x, table, at.t, m);
    std::uint32_t* out =
        item.out.limb(prime, a.ring.log_n) +
        half_base<S>(blockIdx.x * S::kColumns + strip_index * kLineColumns, a.log_cols, at);
#pragma unroll
    for (int k = 0; k < S::kValues; ++k) out[half_step<S>(k, a.log_cols)] = fold(x[k], m.q);
  }
}

// Grid: (tiles of columns, splits of the targets, items).
template <class S>
__global__ void __launch_bounds__(S::kBlockThreads, 512 / S::kBlockThreads)
    convert_tile(const __grid_constant__ TileArgs a) {
  extern __shared__ std::uint32_t shared[];
  const TileArgs::Item& item = a.item[blockIdx.z];
  const int share = (item.table.targets + gridDim.y - 1) / gridDim.y;
  const int begin = blockIdx.y * share, end = min(begin + share, int{item.table.targets});
  if (begin >= end) return;
  load_sources<S>(shared, a, item);
  invert_sources<S>(shared, a, item);
  const int super = threadIdx.x / S::kSuperThreads;
  std::uint32_t* outputs = shared + (item.table.sources + super * S::kOutputs) * S::kStride;
  const int batches = (end - begin + S::kOutputs - 1) / S::kOutputs;
  for (int n = super; n < batches; n += S::kSupers) {
    // Batches of equal size, so that no part of the block ends with a short one.
    const int first = begin + (end - begin) * n / batches;
    const int count = begin + (end - begin) * (n + 1) / batches - first;
    multiply_matrix<S>(outputs, shared, item.table, first, count);
    super_barrier<S>(super);
    forward_targets<S>(outputs, a, item, first, count);
    super_barrier<S>(super);
  }
}

}  // namespace latticino::cuda
