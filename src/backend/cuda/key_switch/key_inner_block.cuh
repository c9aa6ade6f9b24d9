// The parameters of the KeyInner kernel, the shapes of its blocks, and which thread does what.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cuda/device/limb_base.h"
#include "backend/cuda/device/tables.h"
#include "backend/cuda/ntt/rows.cuh"
#include "backend/cuda/poly/product_sums.cuh"

namespace latticino::cuda {

// What a run holds: an address for each digit and, for each target, (b, a) of the keys of each
// digit, and out and add for h = 0, 1. If a digit's own limb is a product, the addresses of its
// factors a0, a1, b0, b1 come before them. The mark is set for digits that must be transformed, and
// for outputs that must be transformed back (Half).
LATTICINO_HOST_DEVICE constexpr int target_bases(int digits) { return 2 * digits + 4; }

struct KeyInnerArgs {
  // With so many addresses, several groups of hoisted rotations fit into one launch, and share what
  // it reads of their keys.
  static constexpr int kGroups = 16, kRuns = 96, kTargets = 64, kPrimes = 256, kBases = 2816;
  RingView ring;
  RowView rows;
  int log_rows;
  // The digits are needed later, so exchanges of results have memory of their own.
  bool own_exchange;
  int groups;
  struct Group {
    std::int16_t first_run, runs, first_target, targets, digits, primes;
  } group[kGroups];
  struct Run {
    std::int16_t begin;  // position of its first prime among those of the group
    std::int16_t prime;
    std::int16_t first_base;
    std::int16_t half;  // whether some result of it leaves in Half
    std::int16_t own;   // for products: the digit whose own limbs the run holds, or -1
  } run[kRuns];
  std::uint32_t galois_inverse[kTargets];
  LimbBase base[kBases];
  std::uint32_t add_factor[kPrimes];  // indexed by ring prime
};
static_assert(sizeof(KeyInnerArgs) <= 32764);  // CUDA's limit for the arguments of a kernel

// A team of LANES warps shares the rows of one warp. Warp d of it transforms those rows of digit d
// (and d + LANES ..) into shared memory; then all its threads share the 16-byte vectors of the
// rows. DIGITS 0: any number, with any number of lanes up to LANES. Otherwise keys travel to shared
// memory while digits are transformed, to slots that only the thread that asked for them reads.
// PRODUCT: some group has one (any number of digits: always possible).
template <int LOG_COLS, int DIGITS, int LANES, int TEAMS, bool PRODUCT = DIGITS == 0>
struct InnerShape : RowShape<LOG_COLS> {
  using Base = RowShape<LOG_COLS>;
  static constexpr int kDigits = DIGITS, kLanes = LANES, kTeams = TEAMS;
  static constexpr bool kProduct = PRODUCT;
  static constexpr int kTeamRows = 32 / Base::kThreads;
  static constexpr int kRows = TEAMS * kTeamRows;
  static constexpr int kTeamVectors = kTeamRows * Base::kRowVectors;
  static constexpr int kBlockVectors = TEAMS * kTeamVectors;
  static constexpr int kDigitWords = kRows * Base::kStride;
  static constexpr int kMaxThreads = 32 * LANES * TEAMS;
  // 64 registers per thread, for shapes that need many warps.
  static constexpr int kMinBlocks = DIGITS == 0 ? 1 : 1024 / kMaxThreads;
  // Slots per vector: for the keys of all digits. Afterwards the results take the first two.
  static constexpr int kSlots = 2 * (DIGITS == 0 ? 1 : DIGITS);
  // Results that are transformed at the same time.
  static constexpr int kExchanges = LANES == 1 ? 1 : 2;
  // Tables of a team for the inverse transform of its rows. They are loaded together with the keys.
  static constexpr int kRowTableVectors = row_table_words(LOG_COLS) / 4;
  static constexpr int kUnitVectors = sizeof(RowUnits) / sizeof(uint4);
  static constexpr int kTeamTableVectors = kTeamRows * kRowTableVectors + kUnitVectors;
  static constexpr int kTableVectors = DIGITS == 0 ? 0 : TEAMS * kTeamTableVectors;
  static_assert(DIGITS == 0 || (LANES >= DIGITS && kTeamVectors % (32 * LANES) == 0));
  static_assert(TEAMS <= 16);  // named barriers

  static constexpr std::size_t shared_bytes(int digits, bool own_exchange) {
    const int areas = own_exchange ? digits + kExchanges : std::max(digits, kExchanges);
    return sizeof(uint4) * (kSlots * kBlockVectors + kTableVectors) +
           sizeof(std::uint32_t) * kDigitWords * areas;
  }
};

// The data that all parts of the kernel use.
template <class S>
struct InnerBlock {
  const KeyInnerArgs& a;
  const LimbBase* base;  // the addresses of the block's run
  int own;               // own of the run
  bool half;
  int prime, digits;
  Modulus m;
  std::size_t offset;       // offset of the prime's limb: in tables, and from a limb base
  uint4* slots;             // [slot][vector of the block]
  uint4* table;             // the team's tables: its rows, then the units
  std::uint32_t* rows;      // [digit][row][kStride]
  std::uint32_t* exchange;  // [result][row][kStride]
  int team, lane, lanes, thread;

  __device__ __forceinline__ bool has_product() const { return S::kProduct && own >= 0; }
  // Factor i of the product: a0, a1, b0, b1.
  __device__ __forceinline__ const LimbBase& factor(int i) const { return base[i - 4]; }
  __device__ __forceinline__ RowPosition<S> position(std::uint32_t* words) const {
    const int local = team * S::kTeamRows + thread / S::kThreads;
    return {thread % S::kThreads, blockIdx.y * S::kRows + local, words + local * S::kStride,
            a.log_rows};
  }
  __device__ __forceinline__ void team_barrier() const {
    if constexpr (S::kLanes == 1) {
      __syncwarp();
    } else {
      // The barrier numbers are constants. Otherwise the compiler would reserve all 16 barriers for
      // each block, instead of one for each team.
#pragma unroll
      for (int i = 0; i < S::kTeams; ++i) {
        if (team == i) asm volatile("bar.sync %0, %1;" ::"r"(i), "r"(32 * lanes) : "memory");
      }
    }
  }
};

// The thread's vector number u of those that its team shares.
template <class S>
struct VectorPlace {
  int local;             // row within the block
  int v;                 // vector within the row
  int slot;              // slot within the block
  std::uint32_t row, i;  // index of entry i of the vector within the limb
  __device__ __forceinline__ VectorPlace(const InnerBlock<S>& b, int u) {
    local = b.team * S::kTeamRows + u / S::kRowVectors;
    v = u % S::kRowVectors;
    slot = b.team * S::kTeamVectors + u;
    row = row_at(blockIdx.y * S::kRows + local, b.a.log_rows);
    i = row * S::kRowVectors + v;
  }
};

// Calls f with every vector of the thread.
template <class S, class F>
__device__ __forceinline__ void each_vector(const InnerBlock<S>& b, const F& f) {
  const int first = b.lane * 32 + b.thread;
  if constexpr (S::kDigits == 0) {
#pragma unroll 1
    for (int u = first; u < S::kTeamVectors; u += 32 * b.lanes) f(VectorPlace<S>(b, u));
  } else {
#pragma unroll
    for (int k = 0; k < S::kTeamVectors / (32 * S::kLanes); ++k) {
      f(VectorPlace<S>(b, first + k * 32 * S::kLanes));
    }
  }
}

// The addresses of a target in a run.
struct TargetBases {
  const LimbBase *key, *out, *add;
  __device__ __forceinline__ TargetBases(const LimbBase* run, int digits, int target)
      : key(run + digits + target * target_bases(digits)), out(key + 2 * digits), add(out + 2) {}
  template <class S>
  __device__ __forceinline__ TargetBases(const InnerBlock<S>& b, int target)
      : TargetBases(b.base, b.digits, target) {}
  __device__ __forceinline__ bool half() const { return out[0].marked() || out[1].marked(); }
};

// The run of group g that holds the prime at `place`.
__device__ __forceinline__ const KeyInnerArgs::Run& run_at(const KeyInnerArgs& a,
                                                           const KeyInnerArgs::Group& g,
                                                           int place) {
  const KeyInnerArgs::Run* run = a.run + g.first_run;
  for (int r = 1; r < g.runs && run[1].begin <= place; ++r) ++run;
  return *run;
}

// The sum plus `factor` times vector i of the addend, if there is one. `once`: the sum is reduced
// only once and keeps a factor R^-1, which the following transform removes.
__device__ __forceinline__ uint4 with_addend(ProductSums& sum, const LimbBase& add,
                                             std::size_t offset, std::uint32_t i,
                                             std::uint32_t factor, bool once, const Modulus& m) {
  if (!add.empty()) {
    const auto* vectors = reinterpret_cast<const uint4*>(add.limb(offset));
    sum.add(vectors[i], make_uint4(factor, factor, factor, factor));
    sum.fold(m.q);
  }
  return once ? sum.reduced_montgomery(m) : sum.reduced(m);
}

}  // namespace latticino::cuda
