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

// What the column stages of one target need, gathered in shared memory before the data arrive: a
// chain of dependent loads a limb would cost more than its butterflies.
struct alignas(16) TileTarget {
  Modulus m;
  std::size_t out;      // offset of its limb
  std::uint32_t table;  // of its twiddles
};

// STRIPS strips of four columns, THREADS threads; SUPERS parts of the block take turns between the
// matrix units and the transforms, each with room for kOutputs limbs. STEPS: source limbs / 4.
// LOG_COLS 0: known at run time only.
template <int LOG_ROWS, int LOG_COLS, int STRIPS, int THREADS, int SUPERS, int STEPS>
struct TileShape : ColumnShape<LOG_ROWS> {
  using Base = ColumnShape<LOG_ROWS>;
  static constexpr int kLogCols = LOG_COLS;
  static constexpr int kStrips = STRIPS;
  static constexpr int kColumns = kLineColumns * STRIPS;
  static constexpr int kBlockThreads = THREADS;
  // One part: two blocks share a multiprocessor.
  static constexpr int kMinBlocks = SUPERS == 1 ? 2 : 1;
  static constexpr int kSupers = SUPERS;
  static constexpr int kSteps = STEPS, kPairs = (STEPS + 1) / 2;
  static constexpr int kOutputs = 8;
  static constexpr int kWords = Base::kLength * kColumns;  // of a limb in the tile
  static constexpr int kStride = kWords + 8;               // limbs fall on different banks
  static constexpr int kTeams = THREADS / Base::kTeam;
  static constexpr int kSuperThreads = THREADS / SUPERS;
  static constexpr int kSuperTeams = kTeams / SUPERS;
  static constexpr int kStripGroups = STRIPS / Base::kTeamStrips;
  static_assert(STRIPS % Base::kTeamStrips == 0 && kTeams % SUPERS == 0);
  static_assert(Base::kTeam == 32 || kTeams + SUPERS < 16);  // named barriers

  static constexpr std::size_t shared_bytes(int sources, int targets) {
    return sizeof(std::uint32_t) * kStride * (sources + SUPERS * kOutputs) +
           sizeof(TileTarget) * targets;
  }
};

__device__ __forceinline__ void copy_async(std::uint32_t* shared, const std::uint32_t* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
               "l"(global)
               : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most `later` (or three) of the groups committed last are under way.
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

template <class S>
__device__ __forceinline__ void super_barrier(int super) {
  asm volatile("bar.sync %0, %1;" ::"r"(S::kSupers == 1 ? 0 : 15 - super), "n"(S::kSuperThreads)
               : "memory");
}

// The share of one team in a batch of limbs: consecutive (limb, strip group) pairs.
template <class S>
struct Share {
  int begin, end, rounds;  // the longest share has `rounds` pairs, the shortest one fewer
  __device__ __forceinline__ Share(int limbs, int team, int teams)
      : begin(limbs * S::kStripGroups * team / teams),
        end(limbs * S::kStripGroups * (team + 1) / teams),
        rounds((limbs * S::kStripGroups + teams - 1) / teams) {}
  static __device__ __forceinline__ int limb(int i) { return i / S::kStripGroups; }
  static __device__ __forceinline__ int strip(int i) {  // the first of the group
    return i % S::kStripGroups * S::kTeamStrips;
  }
};

// Starts the copies of one (limb, strip group) pair: whole lines, four columns of a row a copy.
template <class S>
__device__ __forceinline__ void copy_strips(std::uint32_t* shared, const std::uint32_t* limb,
                                            int strip, int log_cols) {
  const std::uint32_t column = blockIdx.x * S::kColumns + strip * kLineColumns;
#pragma unroll
  for (int i = 0; i < S::kLength * S::kTeamStrips / S::kTeam; ++i) {
    const std::uint32_t chunk = threadIdx.x % S::kTeam + i * S::kTeam;
    const std::uint32_t place = chunk % S::kLength, s = chunk / S::kLength;
    copy_async(
        shared + (strip + s) * S::kStripWords + strip_word<S>(row_at(place, S::kLogLength), 0),
        limb + half_row(place, log_cols) + half_column(column + s * kLineColumns));
  }
  commit_copies();
}

// Source limbs from Half to centred(a_j factor_j) + (q_j - 1)/2 in shared memory.
template <class S>
__device__ __forceinline__ void invert_sources(std::uint32_t* shared, const TileArgs& a,
                                               const TileArgs::Item& item, int log_cols) {
  const int team = threadIdx.x / S::kTeam;
  const auto at = ColumnPosition<S>::in_strips(threadIdx.x % S::kTeam);
  const Share<S> mine(item.table.sources, team, S::kTeams);
  const auto strip_of = [&](int i) {
    return shared + mine.limb(i) * S::kStride + (mine.strip(i) + at.strip) * S::kStripWords;
  };
  const auto table_of = [&](int prime) {
    return a.ring.column_psi_inv + (static_cast<std::size_t>(prime) << S::kLogLength);
  };
  for (int i = mine.begin; i < mine.end; ++i) {
    const int j = mine.limb(i);
    copy_strips<S>(shared + j * S::kStride, item.in.limb(item.in.prime(j), a.ring.log_n),
                   mine.strip(i), log_cols);
  }
  std::uint32_t x[S::kValues];
  // Every team passes as many barriers, with or without a pair left to work on.
  const int last = max(mine.end - 1, 0);
#pragma unroll 1
  for (int r = 0; r < mine.rounds; ++r) {
    const int i = min(mine.begin + r, last), prime = item.in.prime(mine.limb(i));
    const Modulus m = load_modulus(a.ring.modulus + prime);
    const NarrowTwiddles<S> twiddles(table_of(prime), at.t);
    wait_copies(last - i);
    team_barrier<S>(team);
    if (mine.begin + r >= mine.end) break;
    read_narrow<S>(x, strip_of(i), at);
    twiddles.inverse(x, m);
    write_narrow<S>(x, strip_of(i), at);
  }
  team_barrier<S>(team);
#pragma unroll 1
  for (int i = mine.begin; i < mine.end; ++i) {
    const int prime = item.in.prime(mine.limb(i));
    const Modulus m = load_modulus(a.ring.modulus + prime);
    const ConversionSource source = item.table.source[mine.limb(i)];
    const WideTwiddles<S> twiddles(table_of(prime));
    read_wide<S>(x, strip_of(i), at);
    twiddles.inverse(x, source.scale, source.last, m);
#pragma unroll
    for (int k = 0; k < S::kValues; ++k) x[k] = fold(x[k] + m.q / 2, m.q);
    write_wide<S>(x, strip_of(i), at);
  }
  __syncthreads();
}

// D (+)= A B for 16 rows of A, 8 columns of B and k = 32 or 16 unsigned bytes.
struct ByteProduct {
  std::int32_t d[4];

  __device__ __forceinline__ void add(uint4 a, std::uint32_t b0, std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
  }
  __device__ __forceinline__ void set(uint4 a, std::uint32_t b0, std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%10,%10,%10};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1), "r"(0));
  }
  __device__ __forceinline__ void set_half(uint4 a, std::uint32_t b) {
    asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 "
        "{%0,%1,%2,%3},{%4,%5},{%6},{%7,%7,%7,%7};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a.x), "r"(a.y), "r"(b), "r"(0));
  }
};

// Byte planes of a sum and a residue to take along -> their sum modulo q, below 2q. Planes are
// below 2^22.6 (24 sources), so u < 2^32 and v < 2^31; with w = v + floor(u / 2^16) the sum is w
// 2^16 + u mod 2^16, and the quotient floor(w reciprocal / 2^32) is less than 1.6 + 2^16/q too
// small.
__device__ __forceinline__ std::uint32_t join_planes(std::uint32_t p0, std::uint32_t p1,
                                                     std::uint32_t p2, std::uint32_t p3,
                                                     const ConversionTarget& t) {
  const std::uint32_t u = p0 + t.offset + __byte_perm(p1, 0, 0x2104), v = p2 + (p3 << 8);
  return u + (v << 16) - __umulhi(v + (u >> 16), t.reciprocal) * t.q;
}

// A's share of a lane for up to eight targets from `first` on: lane 4 g + i holds target first + g,
// and sources 4 s + i of each step s.
template <class S>
struct Fragments {
  ConversionTarget target;
  uint4 low[S::kPairs], high[S::kPairs];  // planes 0 and 1, planes 2 and 3

  __device__ __forceinline__ void load(const ConversionView& table, int first, int count) {
    const int g = threadIdx.x % 32 / 4, i = threadIdx.x % 4;
    const int row = first + min(g, count - 1), pairs = table.pairs();
    const uint4 t = __ldg(reinterpret_cast<const uint4*>(table.target + row));
    target = {t.x, t.y, t.z, t.w};
#pragma unroll
    for (int p = 0; p < S::kPairs; ++p) {
      low[p] = high[p] = uint4{};
      if (p < pairs) {
        low[p] = __ldg(table.planes + (row * pairs + p) * 8 + 2 * i);
        high[p] = __ldg(table.planes + (row * pairs + p) * 8 + 2 * i + 1);
      }
    }
  }
};

// The matrix product for the targets of the fragments, over the whole tile.
template <class S>
__device__ __forceinline__ void multiply_matrix(std::uint32_t* out, const std::uint32_t* shared,
                                                const Fragments<S>& fragments, int sources) {
  constexpr int kWarps = S::kSuperThreads / 32, kFlight = 4;  // groups of 8 entries in flight
  static_assert(S::kWords / 8 % (kWarps * kFlight) == 0);
  const int warp = threadIdx.x % S::kSuperThreads / 32, g = threadIdx.x % 32 / 4,
            i = threadIdx.x % 4;
  const ConversionTarget& t = fragments.target;
  const std::uint32_t* b[S::kSteps];
#pragma unroll
  for (int s = 0; s < S::kSteps; ++s) {
    b[s] = shared + min(4 * s + i, sources - 1) * S::kStride + g;
  }
  out += g * S::kStride + 2 * i;
#pragma unroll 1
  for (int n = warp; n < S::kWords / 8; n += kFlight * kWarps) {
    ByteProduct low[kFlight], high[kFlight];
    std::uint32_t y[kFlight][S::kSteps];
#pragma unroll
    for (int f = 0; f < kFlight; ++f) {
#pragma unroll
      for (int s = 0; s < S::kSteps; ++s) y[f][s] = b[s][8 * (n + f * kWarps)];
    }
    // An odd step first, then pairs.
    constexpr int kOdd = S::kSteps % 2, kWhole = S::kSteps / 2;
#pragma unroll
    for (int f = 0; f < kFlight; ++f) {
      if constexpr (kOdd == 1) {
        low[f].set_half(fragments.low[kWhole], y[f][S::kSteps - 1]);
        high[f].set_half(fragments.high[kWhole], y[f][S::kSteps - 1]);
      } else {
        low[f].set(fragments.low[0], y[f][0], y[f][1]);
        high[f].set(fragments.high[0], y[f][0], y[f][1]);
      }
    }
#pragma unroll
    for (int p = 1 - kOdd; p < kWhole; ++p) {
#pragma unroll
      for (int f = 0; f < kFlight; ++f) {
        low[f].add(fragments.low[p], y[f][2 * p], y[f][2 * p + 1]);
        high[f].add(fragments.high[p], y[f][2 * p], y[f][2 * p + 1]);
      }
    }
#pragma unroll
    for (int f = 0; f < kFlight; ++f) {
      const std::int32_t(&l)[4] = low[f].d, (&h)[4] = high[f].d;
      *reinterpret_cast<uint2*>(out + 8 * (n + f * kWarps)) = make_uint2(
          join_planes(l[0], l[2], h[0], h[2], t), join_planes(l[1], l[3], h[1], h[3], t));
    }
  }
}

// The column stages of `count` targets: shared memory -> Half.
template <class S>
__device__ __forceinline__ void forward_targets(std::uint32_t* shared, const TileTarget* target,
                                                int count, const Shoup* table, std::uint32_t* out,
                                                int log_cols) {
  const int team = threadIdx.x / S::kTeam;
  const auto at = ColumnPosition<S>::in_strips(threadIdx.x % S::kTeam);
  const Share<S> mine(count, team % S::kSuperTeams, S::kSuperTeams);
  const auto strip_of = [&](int i) {
    return shared + mine.limb(i) * S::kStride + (mine.strip(i) + at.strip) * S::kStripWords;
  };
  std::uint32_t x[S::kValues];
#pragma unroll 1
  for (int i = mine.begin; i < mine.end; ++i) {
    const TileTarget& t = target[mine.limb(i)];
    const WideTwiddles<S> twiddles(table + t.table);
    read_wide<S>(x, strip_of(i), at);
    twiddles.forward(x, t.m);
    write_wide<S>(x, strip_of(i), at);
  }
  team_barrier<S>(team);
#pragma unroll 1
  for (int i = mine.begin; i < mine.end; ++i) {
    const TileTarget& t = target[mine.limb(i)];
    const NarrowTwiddles<S> twiddles(table + t.table, at.t);
    read_narrow<S>(x, strip_of(i), at);
    twiddles.forward(x, t.m);
    const std::uint32_t column =
        blockIdx.x * S::kColumns + (mine.strip(i) + at.strip) * kLineColumns;
    std::uint32_t* p = out + t.out + half_base<S>(column, log_cols, at);
#pragma unroll
    for (int k = 0; k < S::kValues; ++k) p[half_step<S>(k, log_cols)] = fold(x[k], t.m.q);
  }
}

// The targets of this block, from `begin` on.
template <class S>
__device__ __forceinline__ void gather_targets(TileTarget* target, const TileArgs& a,
                                               const TileArgs::Item& item, int begin, int end) {
  for (int i = threadIdx.x; i < end - begin; i += S::kBlockThreads) {
    const auto prime = static_cast<int>(item.table.target[begin + i].prime);
    target[i] = {load_modulus(a.ring.modulus + prime),
                 static_cast<std::size_t>(item.out.limb(prime, a.ring.log_n) - item.out.data),
                 static_cast<std::uint32_t>(prime) << S::kLogLength};
  }
}

// Grid: (tiles of columns, splits of the targets, items).
template <class S>
__global__ void __launch_bounds__(S::kBlockThreads, S::kMinBlocks)
    convert_tile(const __grid_constant__ TileArgs a) {
  extern __shared__ std::uint32_t shared[];
  const TileArgs::Item& item = a.item[blockIdx.z];
  const int log_cols = S::kLogCols == 0 ? a.log_cols : S::kLogCols;
  const int begin = item.table.targets * blockIdx.y / gridDim.y;
  const int end = item.table.targets * (blockIdx.y + 1) / gridDim.y;
  if (begin >= end) return;
  const int super = threadIdx.x / S::kSuperThreads, sources = item.table.sources;
  std::uint32_t* outputs = shared + (sources + super * S::kOutputs) * S::kStride;
  auto* target =
      reinterpret_cast<TileTarget*>(shared + (sources + S::kSupers * S::kOutputs) * S::kStride);
  gather_targets<S>(target, a, item, begin, end);
  // Batches of nearly equal size, as many for each part of the block.
  constexpr int kRound = S::kSupers * S::kOutputs;
  const int batches = (end - begin + kRound - 1) / kRound * S::kSupers;
  const auto first_of = [&](int n) { return (end - begin) * n / batches; };
  invert_sources<S>(shared, a, item, log_cols);
  for (int n = super; n < batches; n += S::kSupers) {
    const int first = first_of(n), count = first_of(n + 1) - first;
    if (count == 0) continue;
    Fragments<S> fragments;
    fragments.load(item.table, begin + first, count);
    multiply_matrix<S>(outputs, shared, fragments, sources);
    super_barrier<S>(super);
    forward_targets<S>(outputs, target + first, count, a.ring.column_psi, item.out.data, log_cols);
    super_barrier<S>(super);
  }
}

}  // namespace latticino::cuda
