// The sources of a tile (convert/tile.cuh): copied to shared memory as they stand in Half, and
// their column stages undone there.
#pragma once

#include <cstdint>

#include "backend/cuda/convert/tile_shape.cuh"
#include "backend/cuda/device/async_copy.cuh"

namespace latticino::cuda {

__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most `later` (at most three) of the groups that were committed last are still
// running.
__device__ __forceinline__ void wait_copies(int later) {
  switch (later) {
    case 0:
      asm volatile("cp.async.wait_group 0;" ::: "memory");
      break;
    case 1:
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      break;
    case 2:
      asm volatile("cp.async.wait_group 2;" ::: "memory");
      break;
    default:
      asm volatile("cp.async.wait_group 3;" ::: "memory");
  }
}

// The sources of one team: consecutive (limb, strip group) pairs.
template <class S>
struct Share {
  int begin, end, rounds;  // The longest share has `rounds` pairs, the shortest has one less.
  __device__ __forceinline__ Share(int limbs, int team)
      : begin(limbs * S::kStripGroups * team / S::kTeams),
        end(limbs * S::kStripGroups * (team + 1) / S::kTeams),
        rounds((limbs * S::kStripGroups + S::kTeams - 1) / S::kTeams) {}
  static __device__ __forceinline__ int limb(int i) { return i / S::kStripGroups; }
  static __device__ __forceinline__ int strip(int i) {  // the first strip of the group
    return i % S::kStripGroups * S::kTeamStrips;
  }
};

// Starts the copies of one pair: whole lines, with four columns of a row per copy.
template <class S>
__device__ __forceinline__ void copy_strips(int source, int strip, const std::uint32_t* limb,
                                            int log_cols) {
  const std::uint32_t column = blockIdx.x * S::kColumns + strip * kLineColumns;
#pragma unroll
  for (int i = 0; i < S::kLength * S::kTeamStrips / S::kTeam; ++i) {
    const std::uint32_t chunk = threadIdx.x % S::kTeam + i * S::kTeam;
    const std::uint32_t place = chunk % S::kLength, s = chunk / S::kLength;
    const std::uint32_t to = source * S::kLimbBytes + (strip + s) * S::kStripBytes +
                             place_byte<S>(place, source_key(source));
    copy_async(reinterpret_cast<uint4*>(tile_memory + to),
               reinterpret_cast<const uint4*>(limb + half_row(place, log_cols) +
                                              half_column(column + s * kLineColumns)));
  }
  commit_copies();
}

template <class S>
__device__ __forceinline__ void copy_sources(const TileArgs& a, const TileArgs::Item& item,
                                             int warp, int log_cols) {
  const Share<S> mine(item.table.sources, warp / S::kTeamWarps);
  for (int i = mine.begin; i < mine.end; ++i) {
    const int j = mine.limb(i);
    copy_strips<S>(j, mine.strip(i), item.in.limb(item.in.prime(j), a.ring.log_n), log_cols);
  }
}

// Source limbs, as they arrive, from Half to centred(a_j factor_j) + (q_j - 1)/2.
template <class S>
__device__ __forceinline__ void invert_sources(const TileArgs& a, const TileArgs::Item& item,
                                               int warp) {
  const int team = warp / S::kTeamWarps;
  const auto at = ColumnPosition<S>::in_strips(threadIdx.x % S::kTeam);
  const Share<S> mine(item.table.sources, team);
  const auto byte_of = [&](int i, int row) {
    const int j = mine.limb(i);
    return j * S::kLimbBytes + (mine.strip(i) + at.strip) * S::kStripBytes + 4 * at.c +
           row_byte<S>(row, source_key(j));
  };
  const auto table_of = [&](int prime) {
    return a.ring.column_psi_inv + (static_cast<std::size_t>(prime) << S::kLogLength);
  };
  std::uint32_t x[S::kValues];
  // Every team passes the same number of barriers, even if it has no pair left.
  const int last = max(mine.end - 1, 0);
#pragma unroll 1
  for (int r = 0; r < mine.rounds; ++r) {
    const int i = min(mine.begin + r, last), prime = item.in.prime(mine.limb(i));
    const Modulus m = load_modulus(a.ring.modulus + prime);
    const NarrowTwiddles<S> twiddles(table_of(prime), at.t);
    wait_copies(last - i);
    team_barrier<S>(team);
    if (mine.begin + r >= mine.end) break;
    const std::uint32_t base = byte_of(i, S::kValues * at.t);
    read_narrow<S>(x, base);
    twiddles.inverse(x, m);
    write_narrow<S>(x, base);
  }
  team_barrier<S>(team);
#pragma unroll 1
  for (int i = mine.begin; i < mine.end; ++i) {
    const int prime = item.in.prime(mine.limb(i));
    const Modulus m = load_modulus(a.ring.modulus + prime);
    const ConversionSource source = item.table.source[mine.limb(i)];
    const WideTwiddles<S> twiddles(table_of(prime));
    const std::uint32_t base = byte_of(i, at.t);
    read_wide<S>(x, base);
    twiddles.inverse(x, source.scale, source.last, m);
#pragma unroll
    for (int k = 0; k < S::kValues; ++k) x[k] = fold(x[k] + m.q / 2, m.q);
    write_wide<S>(x, base);
  }
}

}  // namespace latticino::cuda
