// Base conversion between two Half polynomials as one tile (paper: Cheddar, Sec. 4, for the
// conversion; the fusion with the column halves of both transforms is ours): a block owns a few
// columns, all rows, of every source limb. It undoes the column stages in shared memory, multiplies
// by the conversion matrix on the 8-bit integer matrix units, eight targets at a time, runs the
// wide round of the targets' column stages on the results in registers, and the narrow round after
// an exchange through shared memory.
#pragma once

#include <cstdint>

#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/ntt_columns.cuh"
#include "backend/cuda/overlap.cuh"
#include "backend/cuda/tile_matrix.cuh"
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

// What the narrow round of one target needs, gathered in shared memory before the data arrive: a
// chain of dependent loads a limb would cost more than its butterflies.
struct alignas(16) TileTarget {
  std::uint32_t q, inv;
  std::uint32_t limb;   // number of its limb in the output
  std::uint32_t table;  // of its twiddles
};

// STRIPS strips of four columns, THREADS threads; SUPERS parts of the block take turns between the
// matrix units and the narrow rounds, each with BUFFERS rooms for kOutputs limbs (two: one barrier
// a batch instead of two). STEPS: source limbs / 4. LOG_COLS 0: known at run time only.
template <int LOG_ROWS, int LOG_COLS, int STRIPS, int THREADS, int SUPERS, int BUFFERS, int STEPS>
struct TileShape : ColumnShape<LOG_ROWS> {
  using Base = ColumnShape<LOG_ROWS>;
  static constexpr int kLogCols = LOG_COLS;
  static constexpr int kStrips = STRIPS;
  static constexpr int kColumns = kLineColumns * STRIPS;
  static constexpr int kBlockThreads = THREADS;
  static constexpr int kMinBlocks = THREADS > 256 ? 1 : 2;
  static constexpr int kSupers = SUPERS, kBuffers = BUFFERS;
  static constexpr int kSteps = STEPS;
  static constexpr int kOutputs = 8;
  static constexpr std::uint32_t kStripBytes = 4 * Base::kStripWords;
  static constexpr std::uint32_t kLimbBytes = kStripBytes * STRIPS;
  static constexpr int kTeams = THREADS / Base::kTeam;
  static constexpr int kTeamWarps = Base::kTeam / 32;
  static constexpr int kSuperThreads = THREADS / SUPERS;
  static constexpr int kSuperWarps = kSuperThreads / 32;
  static constexpr int kStripGroups = STRIPS / Base::kTeamStrips;
  static_assert(STRIPS % Base::kTeamStrips == 0 && kTeams % SUPERS == 0);
  static_assert(Base::kTeam == 32 || kTeams + SUPERS < 16);  // named barriers

  // Steps of four sources are read as a whole, whatever stands where a source is missing.
  static constexpr std::uint32_t kSourceBytes = 4 * STEPS * kLimbBytes;
  static constexpr std::size_t shared_bytes(int targets) {
    return kSourceBytes + SUPERS * BUFFERS * kOutputs * kLimbBytes + sizeof(TileTarget) * targets;
  }
};

// Shared memory by byte. A limb is strip after strip, in the order of Half: eight rows at
// successive places are a line of 128 bytes, so that copies move whole lines. Within its line a row
// stands at the low three bits of place xor (place / T) xor a key of the limb: both rounds, the
// fragments of the matrix units and their results then touch all banks, and the addresses of a
// thread differ by constants, under xor below 128 and under addition above.
extern __shared__ __align__(1024) unsigned char tile_memory[];

__device__ __forceinline__ std::uint32_t& tile_word(std::uint32_t byte) {
  return *reinterpret_cast<std::uint32_t*>(tile_memory + byte);
}
__device__ __forceinline__ std::uint32_t source_key(std::uint32_t source) { return source % 4 * 2; }
__device__ __forceinline__ std::uint32_t output_key(std::uint32_t output) { return output % 8; }

template <class S>
__device__ __forceinline__ std::uint32_t place_byte(std::uint32_t place, std::uint32_t key) {
  return place / kLineRows * 128 + ((place ^ place / S::kThreads ^ key) % kLineRows) * 16;
}
template <class S>
__device__ __forceinline__ std::uint32_t row_byte(std::uint32_t row, std::uint32_t key) {
  return place_byte<S>(row_place(row, S::kLogLength), key);
}
// The byte of place(row) from `base`, that of a row with no bit in common.
template <class S>
__device__ __forceinline__ std::uint32_t row_from(std::uint32_t base, std::uint32_t row) {
  const std::uint32_t place = row_place(row, S::kLogLength);
  return (base ^ (place ^ place / S::kThreads) % kLineRows * 16) + place / kLineRows * 128;
}

template <class S>
__device__ __forceinline__ void read_wide(std::uint32_t (&x)[S::kValues], std::uint32_t base) {
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = tile_word(row_from<S>(base, S::kThreads * j));
}
template <class S>
__device__ __forceinline__ void write_wide(const std::uint32_t (&x)[S::kValues],
                                           std::uint32_t base) {
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) tile_word(row_from<S>(base, S::kThreads * j)) = x[j];
}
template <class S>
__device__ __forceinline__ void read_narrow(std::uint32_t (&x)[S::kValues], std::uint32_t base) {
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = tile_word(row_from<S>(base, j));
}
template <class S>
__device__ __forceinline__ void write_narrow(const std::uint32_t (&x)[S::kValues],
                                             std::uint32_t base) {
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) tile_word(row_from<S>(base, j)) = x[j];
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

// The sources of one team: consecutive (limb, strip group) pairs.
template <class S>
struct Share {
  int begin, end, rounds;  // the longest share has `rounds` pairs, the shortest one fewer
  __device__ __forceinline__ Share(int limbs, int team)
      : begin(limbs * S::kStripGroups * team / S::kTeams),
        end(limbs * S::kStripGroups * (team + 1) / S::kTeams),
        rounds((limbs * S::kStripGroups + S::kTeams - 1) / S::kTeams) {}
  static __device__ __forceinline__ int limb(int i) { return i / S::kStripGroups; }
  static __device__ __forceinline__ int strip(int i) {  // the first of the group
    return i % S::kStripGroups * S::kTeamStrips;
  }
};

// Starts the copies of one pair: whole lines, four columns of a row a copy.
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
                                             int log_cols) {
  const Share<S> mine(item.table.sources, threadIdx.x / S::kTeam);
  for (int i = mine.begin; i < mine.end; ++i) {
    const int j = mine.limb(i);
    copy_strips<S>(j, mine.strip(i), item.in.limb(item.in.prime(j), a.ring.log_n), log_cols);
  }
}

// Source limbs, as they arrive, from Half to centred(a_j factor_j) + (q_j - 1)/2.
template <class S>
__device__ __forceinline__ void invert_sources(const TileArgs& a, const TileArgs::Item& item) {
  const int team = threadIdx.x / S::kTeam;
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

// Constants of up to eight targets for the matrix units and the wide round: lane 4 g + i works for
// target first + g.
template <class S>
struct BatchConstants {
  Fragments<S::kSteps> fragments;
  Shoup wide[S::kWideTwiddles];

  __device__ __forceinline__ void load(const TileArgs& a, const TileArgs::Item& item, int first,
                                       int count) {
    const int row = first + min(static_cast<int>(threadIdx.x % 32 / 4), count - 1);
    load_wide<S>(
        wide, a.ring.column_psi + (static_cast<std::size_t>(item.out.prime(row)) << S::kLogLength),
        1);
    fragments.load(item.table, row);
  }
};

// Converts the tile to the targets of `batch` and runs their wide rounds. A pass takes the four
// columns of a strip at rows t + T j: column n of a product is entry (column n / 2, row of
// j = 2 f + n % 2), so that lane 4 g + i ends with column i of target g, rows t + T j for all j.
template <class S>
__device__ __forceinline__ void convert_batch(std::uint32_t outputs,
                                              const BatchConstants<S>& batch) {
  const int lane = threadIdx.x % 32, g = lane / 4, i = lane % 4;
  const Modulus m{batch.fragments.target.q, batch.fragments.target.inv, 0, 0};
#pragma unroll 1
  for (int pass = threadIdx.x % S::kSuperThreads / 32; pass < S::kThreads * S::kStrips;
       pass += S::kSuperWarps) {
    const int t = pass % S::kThreads;
    const std::uint32_t strip = pass / S::kThreads * S::kStripBytes;
    const std::uint32_t from =
        strip + i * S::kLimbBytes + row_byte<S>(t, source_key(i)) + g / 2 * 4;
    const std::uint32_t b = g % 2 == 0 ? from : row_from<S>(from, S::kThreads);
    std::uint32_t x[S::kValues];
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
    forward_stages<S::kValues / 2>(x, batch.wide, m);
    write_wide<S>(x, outputs + strip + g * S::kLimbBytes + row_byte<S>(t, output_key(g)) + 4 * i);
  }
}

// The narrow rounds of `count` targets: shared memory -> Half. A warp keeps a limb's twiddles for
// all strips.
template <class S>
__device__ __forceinline__ void finish_batch(std::uint32_t outputs, const TileTarget* target,
                                             int count, const Shoup* table, std::uint32_t* out,
                                             int log_n, int log_cols) {
#pragma unroll 1
  for (int task = threadIdx.x % S::kSuperThreads / 32; task < count * S::kTeamWarps;
       task += S::kSuperWarps) {
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

// The targets of this block, from `begin` on.
template <class S>
__device__ __forceinline__ void gather_targets(TileTarget* target, const TileArgs& a,
                                               const TileArgs::Item& item, int begin, int end) {
  for (int i = threadIdx.x; i < end - begin; i += S::kBlockThreads) {
    const int prime = item.out.prime(begin + i);
    const Modulus m = load_modulus(a.ring.modulus + prime);
    target[i] = {m.q, m.inv,
                 static_cast<std::uint32_t>((item.out.limb(prime, a.ring.log_n) - item.out.data) >>
                                            a.ring.log_n),
                 static_cast<std::uint32_t>(prime) << S::kLogLength};
  }
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
  const int super = threadIdx.x / S::kSuperThreads;
  constexpr std::uint32_t kRoom = S::kOutputs * S::kLimbBytes;
  std::uint32_t outputs = S::kSourceBytes + super * S::kBuffers * kRoom;
  const std::uint32_t both = 2 * outputs + kRoom;
  auto* target = reinterpret_cast<TileTarget*>(tile_memory + S::kSourceBytes +
                                               S::kSupers * S::kBuffers * kRoom);
  gather_targets<S>(target, a, item, begin, end);
  wait_for_previous();
  copy_sources<S>(a, item, log_cols);
  invert_sources<S>(a, item);
  allow_next();
  const int batches = (end - begin + S::kOutputs - 1) / S::kOutputs;
  const auto first_of = [&](int n) { return begin + n * S::kOutputs; };
  const auto count_of = [&](int n) { return min(end - first_of(n), S::kOutputs); };
  BatchConstants<S> batch;
  if (super < batches) batch.load(a, item, first_of(super), count_of(super));
  __syncthreads();
#pragma unroll 1
  for (int n = super; n < batches; n += S::kSupers) {
    convert_batch<S>(outputs, batch);
    super_barrier<S>(super);
    finish_batch<S>(outputs, target + first_of(n) - begin, count_of(n), a.ring.column_psi,
                    item.out.data, a.ring.log_n, log_cols);
    const int next = n + S::kSupers;
    if (next < batches) batch.load(a, item, first_of(next), count_of(next));
    if (S::kBuffers == 1) super_barrier<S>(super);
    if (S::kBuffers == 2) outputs = both - outputs;
  }
}

}  // namespace latticino::cuda
