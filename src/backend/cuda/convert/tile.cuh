// Base conversion between two Half polynomials as one tile (paper: Cheddar, Sec. 4, for the
// conversion; the fusion with the column halves of both transforms is ours): a block owns a few
// columns, all rows, of every source limb. It undoes the column stages in shared memory, multiplies
// by the conversion matrix on the 8-bit integer matrix units, eight targets at a time, runs the
// wide round of the targets' column stages on the results in registers, and the narrow round after
// an exchange through shared memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/convert/tile_integer.cuh"
#include "backend/cuda/convert/tile_matrix.cuh"
#include "backend/cuda/convert/tile_shape.cuh"
#include "backend/cuda/convert/tile_sources.cuh"
#include "backend/cuda/device/overlap.cuh"
#include "backend/cuda/device/uniform.cuh"
#include "backend/cuda/ntt/columns.cuh"

namespace latticino::cuda {

template <class S>
__device__ __forceinline__ void group_barrier(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(S::kWarpGroups == 1 ? 0 : 15 - group), "n"(S::kGroupThreads)
               : "memory");
}

// Constants of up to eight targets for the matrix units and the wide round: lane 4 g + i works for
// target first + g.
template <class S>
struct BatchConstants {
  std::conditional_t<S::kMatrix, Fragments<S::kSteps>, IntegerRow> fragments;
  Shoup wide[S::kTeamRounds ? 1 : S::kWideTwiddles];

  __device__ __forceinline__ void load(const TileArgs& a, const TileArgs::Item& item, int first,
                                       int count) {
    const int row = first + min(static_cast<int>(threadIdx.x % 32 / 4), count - 1);
    if constexpr (!S::kTeamRounds) {
      const int prime = item.out.prime(row);
      load_wide<S>(wide, a.ring.column_psi + (static_cast<std::size_t>(prime) << S::kLogLength), 1);
    }
    fragments.load(item.table, row);
  }
};

// Converts the tile to the targets of `batch` and runs their wide rounds.
// One pass takes a strip of four columns, and the rows t, t + T, t + 2 T and so on, with T =
// kThreads. Product f of the matrix units has eight columns. Column n of it is column n / 2 of the
// strip, in the row t + T (2 f + n % 2). After all products, lane 4 g + i has column i of the strip
// for target g, in all of these rows.
template <class S>
__device__ __forceinline__ void convert_batch(std::uint32_t outputs, const BatchConstants<S>& batch,
                                              int warp) {
  const int lane = threadIdx.x % 32, g = lane / 4, i = lane % 4;
  const Modulus m{batch.fragments.target.q, batch.fragments.target.inv, 0, 0};
#pragma unroll 1
  for (int pass = warp; pass < S::kThreads * S::kStrips; pass += S::kGroupWarps) {
    const int t = pass % S::kThreads;
    const std::uint32_t strip = pass / S::kThreads * S::kStripBytes;
    std::uint32_t x[S::kValues];
    if constexpr (S::kMatrix) {
      const std::uint32_t from =
          strip + i * S::kLimbBytes + row_byte<S>(t, source_key(i)) + g / 2 * 4;
      const std::uint32_t b = g % 2 == 0 ? from : row_from<S>(from, S::kThreads);
#pragma unroll
      for (int f = 0; f < S::kValues / 2; ++f) {
        std::uint32_t y[S::kSteps];
#pragma unroll
        for (int s = 0; s < S::kSteps; ++s) {
          y[s] = tile_word(row_from<S>(b, 2 * f * S::kThreads) + 4 * s * S::kLimbBytes);
        }
        const uint2 z = batch.fragments.multiply(y);
        x[2 * f] = z.x, x[2 * f + 1] = z.y;
      }
    } else {
      batch.fragments.template convert<S>(x, strip, t, i, m);
    }
    if constexpr (!S::kTeamRounds) forward_stages<S::kValues / 2>(x, batch.wide, m);
    if (S::kOutputs < 8 && g >= S::kOutputs) continue;
    write_wide<S>(x, outputs + strip + g * S::kLimbBytes + row_byte<S>(t, output_key(g)) + 4 * i);
  }
}

// The narrow rounds of `count` targets, from shared memory to Half. A warp keeps the twiddles of a
// limb for all strips.
template <class S>
__device__ __forceinline__ void finish_batch(std::uint32_t outputs, const TileTarget* target,
                                             int warp, int count, const Shoup* table,
                                             std::uint32_t* out, int log_n, int log_cols) {
  // If they are unrolled, these shapes keep q in a uniform register. The other shapes do not even
  // then: the code would only grow, and with more steps registers would run out.
  constexpr int kRounds = S::kOutputs * S::kTeamWarps / S::kGroupWarps;
  constexpr bool kUniform = S::kLogCols != 0 && S::kStrips == S::kTeamStrips && S::kSteps <= 4;
  constexpr int kUnroll = kUniform ? kRounds : 1;
#pragma unroll kUnroll
  for (int round = 0; round < kRounds; ++round) {
    const int task = warp + round * S::kGroupWarps;
    if (task >= count * S::kTeamWarps) break;
    const int limb = task / S::kTeamWarps;
    const auto at = ColumnPosition<S>::in_strips(task % S::kTeamWarps * 32 + threadIdx.x % 32);
    const TileTarget t = target[limb];
    const Modulus m{t.q, t.inv, 0, 0};
    const NarrowTwiddles<S> twiddles(table + t.table, at.t);
    const std::uint32_t base = outputs + limb * S::kLimbBytes + at.strip * S::kStripBytes +
                               row_byte<S>(S::kValues * at.t, output_key(limb)) + 4 * at.c;
    std::uint32_t* p =
        out + (static_cast<std::size_t>(t.limb) << log_n) +
        half_base<S>(blockIdx.x * S::kColumns + at.strip * kLineColumns, log_cols, at);
#pragma unroll
    for (int s = 0; s < S::kStrips; s += S::kTeamStrips) {
      std::uint32_t x[S::kValues];
      read_narrow<S>(x, base + s * S::kStripBytes);
      twiddles.forward(x, m);
#pragma unroll
      for (int k = 0; k < S::kValues; ++k) {
        p[half_step<S>(k, log_cols) + half_column(s * kLineColumns)] = fold(x[k], m.q);
      }
    }
  }
}

// Both rounds of the team's target, once all targets of the batch are converted.
template <class S>
__device__ __forceinline__ void transform_batch(std::uint32_t outputs, const TileTarget* target,
                                                int team, int count, const Shoup* table,
                                                std::uint32_t* out, int log_n, int log_cols) {
  const TileTarget t = target[min(team, count - 1)];
  const Modulus m{t.q, t.inv, 0, 0};
  const auto at = ColumnPosition<S>::in_strips(threadIdx.x % S::kTeam);
  const std::uint32_t key = output_key(team),
                      base = outputs + team * S::kLimbBytes + at.strip * S::kStripBytes + 4 * at.c;
  std::uint32_t x[S::kValues];
  {
    const WideTwiddles<S> wide(table + t.table);
    group_barrier<S>(0);
    if (team >= count) return;
    read_wide<S>(x, base + row_byte<S>(at.t, key));
    wide.forward(x, m);
    write_wide<S>(x, base + row_byte<S>(at.t, key));
  }
  const NarrowTwiddles<S> narrow(table + t.table, at.t);
  team_barrier<S>(team);
  read_narrow<S>(x, base + row_byte<S>(S::kValues * at.t, key));
  narrow.forward(x, m);
  std::uint32_t* p = out + (static_cast<std::size_t>(t.limb) << log_n) +
                     half_base<S>(blockIdx.x * S::kColumns + at.strip * kLineColumns, log_cols, at);
#pragma unroll
  for (int k = 0; k < S::kValues; ++k) p[half_step<S>(k, log_cols)] = fold(x[k], m.q);
}

// Grid: (tiles of columns, splits of the targets, items).
template <class S>
__global__ void __launch_bounds__(S::kBlockThreads, S::kMinBlocks)
    convert_tile(const __grid_constant__ TileArgs a) {
  const TileArgs::Item& item = a.item[blockIdx.z];
  const int log_cols = S::kLogCols == 0 ? a.log_cols : S::kLogCols;
  const int begin = item.table.targets * blockIdx.y / gridDim.y;
  const int end = item.table.targets * (blockIdx.y + 1) / gridDim.y;
  if (begin >= end) return;
  const int warp = warp_of_block(), group = warp / S::kGroupWarps, member = warp % S::kGroupWarps;
  constexpr std::uint32_t kBufferBytes = S::kOutputs * S::kLimbBytes;
  std::uint32_t outputs = S::kSourceBytes + group * S::kBuffers * kBufferBytes;
  const std::uint32_t both = 2 * outputs + kBufferBytes;
  auto* target = reinterpret_cast<TileTarget*>(tile_memory + S::kSourceBytes +
                                               S::kWarpGroups * S::kBuffers * kBufferBytes);
  gather_targets<S>(target, a, item, begin, end);
  wait_for_previous();
  copy_sources<S>(a, item, warp, log_cols);
  invert_sources<S>(a, item, warp);
  allow_next();
  const int batches = (end - begin + S::kOutputs - 1) / S::kOutputs;
  const auto first_of = [&](int n) { return begin + n * S::kOutputs; };
  const auto count_of = [&](int n) { return min(end - first_of(n), S::kOutputs); };
  BatchConstants<S> batch;
  if (group < batches) batch.load(a, item, first_of(group), count_of(group));
  __syncthreads();
#pragma unroll 1
  for (int n = group; n < batches; n += S::kWarpGroups) {
    convert_batch<S>(outputs, batch, member);
    if constexpr (S::kTeamRounds) {
      transform_batch<S>(outputs, target + first_of(n) - begin, warp / S::kTeamWarps, count_of(n),
                         a.ring.column_psi, item.out.data, a.ring.log_n, log_cols);
    } else {
      group_barrier<S>(group);
      finish_batch<S>(outputs, target + first_of(n) - begin, member, count_of(n), a.ring.column_psi,
                      item.out.data, a.ring.log_n, log_cols);
    }
    const int next = n + S::kWarpGroups;
    if (next < batches) batch.load(a, item, first_of(next), count_of(next));
    if (S::kBuffers == 1) group_barrier<S>(group);
    if (S::kBuffers == 2) outputs = both - outputs;
  }
}

}  // namespace latticino::cuda
