// Tiles of base conversions (convert/tile.cuh): arguments of a launch, shapes, and where words lie
// in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/convert/tables.h"
#include "backend/cuda/device/view.h"
#include "backend/cuda/ntt/columns.cuh"

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

// What the narrow round of one target needs. It is gathered in shared memory before the data
// arrive, because a chain of dependent loads per limb would cost more than the butterflies.
struct alignas(16) TileTarget {
  std::uint32_t q, inv;
  std::uint32_t limb;   // position of its limb in the output
  std::uint32_t table;  // offset of its twiddles
};

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

// A tile has STRIPS strips of four columns, and THREADS threads.
//
// GROUPS: groups of warps that alternate between the matrix units and the narrow rounds. Each has
// BUFFERS buffers for kOutputs limbs. With two buffers, one barrier per batch is enough.
//
// STEPS: source limbs / 4.
//
// LOG_COLS: log2 of the columns; 0 if it is known only at run time.
//
// TEAMS: the matrix units only convert, and a team runs both rounds of one target, with its prime
// in uniform registers (convert/few_sources.cuh says what that gains). A thread then has 64
// registers, so two blocks fit on a multiprocessor.
//
// MATRIX: without it, the tile converts on integers (convert/tile_integer.cuh). LAZY then reduces
// sums instead of products.
//
// OUTPUTS: how many targets the matrix units convert at once. They always compute eight. With four,
// half of the results are dropped, and buffers take half the memory.
template <int LOG_ROWS, int LOG_COLS, int STRIPS, int THREADS, int GROUPS, int BUFFERS, int STEPS,
          bool TEAMS = false, bool MATRIX = true, bool LAZY = true, int OUTPUTS = 8>
struct TileShape : ColumnShape<LOG_ROWS> {
  using Base = ColumnShape<LOG_ROWS>;
  static constexpr int kLogCols = LOG_COLS;
  static constexpr int kStrips = STRIPS;
  static constexpr int kColumns = kLineColumns * STRIPS;
  static constexpr int kBlockThreads = THREADS;
  static constexpr bool kTeamRounds = TEAMS;
  static constexpr bool kMatrix = MATRIX;
  static constexpr bool kLazy = LAZY;
  static constexpr int kMinBlocks = (THREADS > 256 && !TEAMS) || OUTPUTS < 8 ? 1 : 2;
  static constexpr int kWarpGroups = GROUPS, kBuffers = BUFFERS;
  static constexpr int kSteps = STEPS;
  static constexpr int kOutputs = OUTPUTS;
  static constexpr std::uint32_t kStripBytes = 4 * Base::kStripWords;
  static constexpr std::uint32_t kLimbBytes = kStripBytes * STRIPS;
  static constexpr int kTeams = THREADS / Base::kTeam;
  static constexpr int kTeamWarps = Base::kTeam / 32;
  static constexpr int kGroupThreads = THREADS / GROUPS;
  static constexpr int kGroupWarps = kGroupThreads / 32;
  static constexpr int kStripGroups = STRIPS / Base::kTeamStrips;
  static_assert(STRIPS % Base::kTeamStrips == 0 && kTeams % GROUPS == 0);
  static_assert(!TEAMS || (kTeams == kOutputs && STRIPS == Base::kTeamStrips && GROUPS == 1));
  static_assert(Base::kTeam == 32 || kTeams + GROUPS < 16);  // named barriers

  // Steps of four sources are read as a whole. If a source is missing, its place may have any
  // content.
  static constexpr std::uint32_t kSourceBytes = 4 * STEPS * kLimbBytes;
  static constexpr std::size_t shared_bytes(int targets) {
    return kSourceBytes + GROUPS * BUFFERS * kOutputs * kLimbBytes + sizeof(TileTarget) * targets;
  }
};

// Shared memory by byte. A limb is stored strip after strip, in the order of Half. Eight rows at
// successive places are a line of 128 bytes, so that copies move whole lines. Within its line a row
// stands at (place xor (place / T) xor key) mod 8, where each limb has a key. So both rounds, the
// fragments of the matrix units and their results touch all banks. The addresses of a thread then
// differ by constants: by an exclusive or of the bits below 128, and by a sum above them.
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
// The byte of row r + row, where `base` is the byte of row r, and r and row have no bit in common.
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

}  // namespace latticino::cuda
