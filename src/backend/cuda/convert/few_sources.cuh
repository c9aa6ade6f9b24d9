// Base conversion between two Half polynomials from very few sources, as in rescaling. It works
// like the tile (convert/tile.cuh), but a team of two warps computes one target at a time, from
// sources to Half, with the prime in uniform registers. Matrix units would save too little here to
// put eight primes side by side in a warp: a butterfly whose prime differs by lane takes 12.8
// cycles, this one 11.0.
#pragma once

#include <cstdint>

#include "backend/cuda/convert/tile_shape.cuh"
#include "backend/cuda/device/overlap.cuh"
#include "backend/cuda/device/uniform.cuh"
#include "backend/cuda/ntt/columns.cuh"

namespace latticino::cuda {

template <int SOURCES>
struct FewShape : ColumnShape<8> {
  static_assert(SOURCES <= kFewSources);
  static constexpr int kSources = SOURCES, kLogCols = 8;
  static constexpr int kBlockThreads = 512, kMinBlocks = 2;
  static constexpr int kTeams = kBlockThreads / kTeam, kTeamWarps = kTeam / 32;
  static_assert(kTeamStrips == 1 && kTeams < 16);  // named barriers
  // Buffers per team: with two, one barrier per target is enough.
  static constexpr int kBuffers = 2;
  static constexpr std::size_t shared_bytes(int targets) {
    return sizeof(std::uint32_t) * kStripWords * (SOURCES + kTeams * kBuffers) +
           sizeof(TileTarget) * targets;
  }
};

// Transforms source j from Half to centred(a_j factor_j) + (q_j - 1)/2, by one team.
template <class S>
__device__ __forceinline__ void invert_source(const TileArgs& a, const TileArgs::Item& item, int j,
                                              const ColumnPosition<S>& at, std::uint32_t* strip) {
  const int prime = item.in.prime(j);
  const Shoup* table = a.ring.column_psi_inv + (static_cast<std::size_t>(prime) << S::kLogLength);
  const Modulus m = load_modulus(a.ring.modulus + prime);
  const NarrowTwiddles<S> narrow(table, at.t);
  const std::uint32_t* p = global(item.in.limb(prime, a.ring.log_n)) +
                           half_base<S>(blockIdx.x * kLineColumns, S::kLogCols, at);
  wait_for_previous();
  std::uint32_t x[S::kValues];
#pragma unroll
  for (int k = 0; k < S::kValues; ++k) x[k] = p[half_step<S>(k, S::kLogCols)];
  narrow.inverse(x, m);
  write_narrow<S>(x, strip, at);
  const ConversionSource source = item.table.source[j];
  const WideTwiddles<S> wide(table);
  team_barrier<S>(j);
  read_wide<S>(x, strip, at);
  wide.inverse(x, source.scale, source.last, m);
#pragma unroll
  for (int k = 0; k < S::kValues; ++k) x[k] = fold(x[k] + m.q / 2, m.q);
  write_wide<S>(x, strip, at);
}

// Rows t + T j of the target, in [0, 2q).
template <class S>
__device__ __forceinline__ void convert_rows(std::uint32_t (&x)[S::kValues],
                                             const std::uint32_t* sources, const FewTarget& target,
                                             const ColumnPosition<S>& at, const Modulus& m) {
#pragma unroll
  for (int k = 0; k < S::kValues; ++k) {
    std::uint64_t sum = 0;
#pragma unroll
    for (int j = 0; j < S::kSources; ++j) {
      sum += static_cast<std::uint64_t>(sources[j * S::kStripWords + wide_word<S>(at.t, k, at.c)]) *
             target.matrix[j];
    }
    if (S::kSources > 2) sum = fold_sum(sum, m.q);
    x[k] = canonical(redc(sum, m), m) + target.offset;
  }
}

// Grid: (strips of four columns, splits of the targets, items).
template <class S>
__global__ void __launch_bounds__(S::kBlockThreads, S::kMinBlocks)
    convert_few(const __grid_constant__ TileArgs a) {
  extern __shared__ __align__(1024) std::uint32_t few_memory[];
  const TileArgs::Item& item = a.item[blockIdx.z];
  const int begin = item.table.targets * blockIdx.y / gridDim.y;
  const int end = item.table.targets * (blockIdx.y + 1) / gridDim.y;
  if (begin >= end) return;
  const int team = warp_of_block() / S::kTeamWarps;
  const auto at = ColumnPosition<S>::in_strips(threadIdx.x % S::kTeam);
  std::uint32_t* room = few_memory + (S::kSources + team * S::kBuffers) * S::kStripWords;
  auto* target = reinterpret_cast<TileTarget*>(
      few_memory + (S::kSources + S::kTeams * S::kBuffers) * S::kStripWords);
  gather_targets<S>(target, a, item, begin, end);
  // Teams with a source wait for the kernel before. The barrier of the block makes the other teams
  // wait for them before they write. An item may have fewer sources than the launch: its matrix is
  // 0 there, so the content of the strip does not matter.
  if (team < item.table.sources) {
    invert_source<S>(a, item, team, at, few_memory + team * S::kStripWords);
  } else {
    team_barrier<S>(team);  // device/barrier.cuh
  }
  __syncthreads();
  allow_next();
#pragma unroll 1
  for (int i = team; i < end - begin; i += S::kTeams) {
    const TileTarget t = target[i];
    const Modulus m{t.q, t.inv, 0, 0};
    const Shoup* table = a.ring.column_psi + t.table;
    std::uint32_t x[S::kValues];
    {
      const WideTwiddles<S> wide(table);
      convert_rows<S>(x, few_memory, item.table.few[begin + i], at, m);
      wide.forward(x, m);
    }
    write_wide<S>(x, room, at);
    const NarrowTwiddles<S> narrow(table, at.t);
    team_barrier<S>(team);
    read_narrow<S>(x, room, at);
    narrow.forward(x, m);
    std::uint32_t* p = global(item.out.data) + (static_cast<std::size_t>(t.limb) << a.ring.log_n) +
                       half_base<S>(blockIdx.x * kLineColumns, S::kLogCols, at);
#pragma unroll
    for (int k = 0; k < S::kValues; ++k) p[half_step<S>(k, S::kLogCols)] = fold(x[k], m.q);
    // The barrier of the next target comes after all reads of this buffer.
    room += (i / S::kTeams % 2 == 0 ? 1 : -1) * S::kStripWords;
  }
}

}  // namespace latticino::cuda
