// KeyInner of many groups of one digit by one key (a batch of rotations at few limbs, say). A block
// holds the keys of two rows, and their twiddles as Shoup pairs, while its warps take one group
// after the other: both come from memory once for all groups, and a butterfly costs four slots of
// the multiplier instead of five. A warp does everything for its group, so warps need not
// synchronise. (Two digits, whose loads a warp waits for one after the other, gain nothing:
// docs/lab/key-switching.md.)
#pragma once

#include "backend/cuda/device/async_copy.cuh"
#include "backend/cuda/device/overlap.cuh"
#include "backend/cuda/key_switch/key_inner_block.cuh"
#include "backend/cuda/poly/eval_scatter.cuh"

namespace latticino::cuda {

template <int LOG_COLS>
struct InnerBatchShape : RowShape<LOG_COLS> {
  using Base = RowShape<LOG_COLS>;
  static constexpr int kWarps = 8, kThreadsOfBlock = 32 * kWarps;
  static constexpr int kRows = 32 / Base::kThreads;
  static constexpr int kAreaWords = kRows * Base::kStride;       // words per warp, for each result
  static constexpr int kKeyVectors = kRows * Base::kRowVectors;  // vectors of one key polynomial
  // Twiddles of a row: the wide round's pairs, then for each two of the narrow round's all
  // threads'.
  static constexpr int kWidePairs = Base::kValues / 2;
  static constexpr int kNarrowPairs = (Base::kNarrowTwiddles + 1) / 2;
  static constexpr int kTwiddleVectors = kWidePairs + kNarrowPairs * Base::kThreads;
  static constexpr int kMinBlocks = 4;
  static constexpr std::size_t kSharedBytes =
      sizeof(uint4) * (2 * kKeyVectors + 2 * kRows * kTwiddleVectors) +
      sizeof(std::uint32_t) * kWarps * 2 * kAreaWords;
};

// Twiddles of a row as the block keeps them.
template <class S>
struct StagedTwiddles {
  const uint4* row;
  int t;

  template <int PAIRS>
  __device__ __forceinline__ static void load(Shoup (&w)[2 * PAIRS], const uint4* from,
                                              int stride) {
#pragma unroll
    for (int i = 0; i < PAIRS; ++i) {
      const uint4 v = from[i * stride];
      w[2 * i] = {v.x, v.y}, w[2 * i + 1] = {v.z, v.w};
    }
  }
  __device__ __forceinline__ void forward_wide(std::uint32_t (&x)[S::kValues],
                                               const Modulus& m) const {
    Shoup w[2 * S::kWidePairs];
    load<S::kWidePairs>(w, row, 1);
    forward_stages<S::kValues / 2, false, true>(x, w + 1, m);
  }
  __device__ __forceinline__ void forward_narrow(std::uint32_t (&x)[S::kValues],
                                                 const Modulus& m) const {
    Shoup w[2 * S::kNarrowPairs];
    load<S::kNarrowPairs>(w, row + S::kWidePairs + t, S::kThreads);
    forward_stages<S::kThreads / 2, false>(x, w, m);
  }
  __device__ __forceinline__ void inverse_narrow(std::uint32_t (&x)[S::kValues],
                                                 const Modulus& m) const {
    Shoup w[2 * S::kNarrowPairs];
    load<S::kNarrowPairs>(w, row + S::kWidePairs + t, S::kThreads);
    inverse_stages<S::kThreads / 2, false>(x, w, m);
  }
  // Both constants of the last stage stand in the table.
  template <bool SUMS>
  __device__ __forceinline__ void inverse_wide(std::uint32_t (&x)[S::kValues], Shoup,
                                               const Modulus& m) const {
    static_assert(SUMS);
    Shoup w[2 * S::kWidePairs];
    load<S::kWidePairs>(w, row, 1);
    inverse_stages<S::kValues / 4, false>(x, w + 2, m);
    inverse_last_stage(x, w[0], w[1], m);
  }
};

// Makes the pairs of thread t of a row. One warp does so for all rows of the block.
template <class S>
__device__ __forceinline__ void stage_twiddles(uint4* row, const KeyInnerArgs& a, bool inverse,
                                               int prime, const RowPosition<S>& at,
                                               const Modulus& m) {
  const std::uint32_t* psi = inverse ? a.rows.psi_inv : a.rows.psi;
  const RowUnits* units = inverse ? a.rows.units_inv : a.rows.units;
  const std::uint32_t inverse_cols = a.ring.inverse[prime].cols.w;
  RowTwiddles<S> twiddles;
  twiddles.load(psi, units, prime, at);
  std::uint32_t narrow[S::kNarrowTwiddles];
  twiddles.narrow(narrow, m);
#pragma unroll
  for (int i = 0; i < S::kNarrowPairs; ++i) {
    const Shoup a = shoup_of(narrow[2 * i], m);
    const Shoup b = 2 * i + 1 < S::kNarrowTwiddles ? shoup_of(narrow[2 * i + 1], m) : a;
    row[S::kWidePairs + i * S::kThreads + at.t] = make_uint4(a.w, a.quotient, b.w, b.quotient);
  }
  constexpr std::uint32_t kWords = row_table_words(S::kLogLength);
  const std::uint32_t* words =
      psi + (static_cast<std::size_t>(prime) * kWords << at.log_rows) + at.row * kWords;
  auto* wide = reinterpret_cast<Shoup*>(row);
  for (int i = at.t; i < S::kValues; i += S::kThreads) {
    std::uint32_t w = words[i];
    if (inverse && i == 0) w = times_r(inverse_cols, m);
    if (inverse && i <= 1) w = times_r(w, m);
    wide[i] = shoup_of(w, m);
  }
}

// What the block keeps, and which block it is.
template <class S>
struct InnerBatchBlock {
  const KeyInnerArgs& a;
  int prime;
  std::size_t offset;
  Modulus m;
  const uint4* keys;         // [h][vector]
  const uint4* twiddles[2];  // [row], forward and inverse
  std::uint32_t* areas;      // of this warp
  int thread, row;           // thread: in the warp; row: in the block

  __device__ __forceinline__ RowPosition<S> position(int area) const {
    return {thread % S::kThreads, blockIdx.x * S::kRows + row,
            areas + area * S::kAreaWords + row * S::kStride, a.log_rows};
  }
  __device__ __forceinline__ StagedTwiddles<S> staged(int inverse) const {
    return {twiddles[inverse] + row * S::kTwiddleVectors, thread % S::kThreads};
  }
};

// A row of one digit in the thread's registers, in the order of Eval.
template <class S>
__device__ __forceinline__ void read_digit(std::uint32_t (&x)[S::kValues],
                                           const InnerBatchBlock<S>& b, const LimbBase& from,
                                           const RowPosition<S>& at) {
  if (!from.marked()) return load_eval<S>(x, from.limb(b.offset), at);
  load_half<S>(x, from.limb(b.offset), at);
  row_forward<S>(x, b.staged(0), at, b.m);
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = fold(x[j], b.m.q);
}

template <class S>
__device__ __forceinline__ uint4* vectors_of(const RowPosition<S>& at) {
  return reinterpret_cast<uint4*>(at.shared) + at.t;
}

// Does everything for one group, from its digit to the results of its only target. The digit and
// the first result stay in registers. Of the second result, a thread reads only what it wrote
// itself.
template <class S>
__device__ __forceinline__ void run_group(const InnerBatchBlock<S>& b, const LimbBase* base,
                                          bool half, std::uint32_t galois_inverse) {
  const TargetBases target(base, 1, 0);
  const auto at = b.position(0);
  std::uint32_t x[S::kValues];
  read_digit<S>(x, b, base[0], at);
  const uint4* keys = b.keys + b.row * S::kRowVectors + at.t;
  const auto put = [&](int j, uint4 v) {
    x[4 * j] = v.x, x[4 * j + 1] = v.y, x[4 * j + 2] = v.z, x[4 * j + 3] = v.w;
  };
  uint4* second = vectors_of<S>(b.position(1));
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    const uint4 v = make_uint4(x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3]);
    uint4 r[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      ProductSums sum;
      sum.add(v, keys[h * S::kKeyVectors + j * S::kThreads]);
      r[h] = with_addend(sum, target.add[h], b.offset, at.vector() + j * S::kThreads,
                         b.a.add_factor[b.prime], half, b.m);
    }
    if (half) {
      put(j, r[0]);
      second[j * S::kThreads] = r[1];
      continue;
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      store_image<S>(r[h], at.row, at.t + j * S::kThreads, target.out[h].limb(b.offset),
                     galois_inverse, b.a.ring.log_n);
    }
  }
  if (!half) return;
#pragma unroll 1
  for (int h = 0; h < 2; ++h) {
    const auto place = b.position(h);
    if (h == 1) {
#pragma unroll
      for (int j = 0; j < S::kVectors; ++j) put(j, second[j * S::kThreads]);
    }
    row_inverse<S, true>(x, b.staged(1), place, Shoup{}, b.m);
    store_half<S>(x, target.out[h].limb(b.offset), place);
  }
}

// Grid: (rows, primes). The results of a group for one prime are either all in Half or all in Eval.
template <class S>
__global__ void __launch_bounds__(S::kThreadsOfBlock, S::kMinBlocks)
    key_inner_batch(const __grid_constant__ KeyInnerArgs a) {
  extern __shared__ uint4 dynamic[];
  const int warp = threadIdx.x / 32, thread = threadIdx.x % 32, place = blockIdx.y;
  const KeyInnerArgs::Run& run = run_at(a, a.group[0], place);
  const int prime = run.prime + place - run.begin;
  const bool half = run.half != 0;
  uint4* keys = dynamic;
  uint4* twiddles = keys + 2 * S::kKeyVectors;
  constexpr int kTables = S::kRows * S::kTwiddleVectors;
  auto* areas = reinterpret_cast<std::uint32_t*>(twiddles + 2 * kTables);
  const InnerBatchBlock<S> block{a,
                                 prime,
                                 static_cast<std::size_t>(prime) << a.ring.log_n,
                                 load_modulus(a.ring.modulus + prime),
                                 keys,
                                 {twiddles, twiddles + kTables},
                                 areas + warp * 2 * S::kAreaWords,
                                 thread,
                                 thread / S::kThreads};
  if (warp < 2) {
    stage_twiddles<S>(twiddles + warp * kTables + block.row * S::kTwiddleVectors, a, warp == 1,
                      prime, block.position(0), block.m);
  }
  wait_for_previous();
  const TargetBases target(a.base + run.first_base, 1, 0);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const auto* key = reinterpret_cast<const uint4*>(target.key[h].limb(block.offset));
    for (int i = threadIdx.x; i < S::kKeyVectors; i += S::kThreadsOfBlock) {
      const std::uint32_t row = row_at(blockIdx.x * S::kRows + i / S::kRowVectors, a.log_rows);
      copy_async(keys + h * S::kKeyVectors + i, key + row * S::kRowVectors + i % S::kRowVectors);
    }
  }
  wait_for_copies();
  __syncthreads();
#pragma unroll 1
  for (int g = warp; g < a.groups; g += S::kWarps) {
    if (g + S::kWarps >= a.groups) allow_next();
    const KeyInnerArgs::Group& group = a.group[g];
    run_group<S>(block, a.base + run_at(a, group, place).first_base, half,
                 a.galois_inverse[group.first_target]);
  }
}

}  // namespace latticino::cuda
