// The kernel of KeyInner: rows of the converted digits, their products with the keys of all
// targets, and rows back if the result is needed in Half. A block owns a few rows of one prime, for
// all digits and all keys.
#pragma once

#include "backend/cuda/device/async_copy.cuh"
#include "backend/cuda/device/fetch.cuh"
#include "backend/cuda/device/overlap.cuh"
#include "backend/cuda/key_switch/key_inner_block.cuh"
#include "backend/cuda/poly/eval_scatter.cuh"

namespace latticino::cuda {

template <class S>
__device__ __forceinline__ void request_keys(const InnerBlock<S>& b, const TargetBases& target,
                                             const VectorPlace<S>& at) {
#pragma unroll
  for (int s = 0; s < 2 * S::kDigits; ++s) {
    const auto* key = reinterpret_cast<const uint4*>(target.key[s].limb(b.offset));
    copy_async(b.slots + s * S::kBlockVectors + at.slot, key + at.i);
  }
}

// Fetches addends, or the factors that no digit reads, to the L2.
template <class S>
__device__ __forceinline__ void prefetch_addends(const InnerBlock<S>& b, const TargetBases& target,
                                                 const VectorPlace<S>& at) {
  const auto prefetch = [&](const LimbBase& from) {
    if (from.empty()) return;
    const auto* vectors = reinterpret_cast<const uint4*>(from.limb(b.offset));
    fetch_to_l2(vectors + at.i);
  };
  if (b.has_product()) {
    prefetch(b.factor(0));
    prefetch(b.factor(2));
  } else {
    prefetch(target.add[0]);
    prefetch(target.add[1]);
  }
}

template <class S>
__device__ __forceinline__ void request_inverse_twiddles(const InnerBlock<S>& b) {
  constexpr int kRow = S::kRowTableVectors, kRows = S::kTeamRows * kRow;
  const auto* rows = reinterpret_cast<const uint4*>(b.a.rows.psi_inv) +
                     (static_cast<std::size_t>(b.prime) * kRow << b.a.log_rows);
  const auto* units = reinterpret_cast<const uint4*>(b.a.rows.units_inv + b.prime);
#pragma unroll
  for (int first = 0; first < S::kTeamTableVectors; first += 32 * S::kLanes) {
    const int i = first + b.lane * 32 + b.thread;
    if (i >= S::kTeamTableVectors) break;
    const int place = blockIdx.y * S::kRows + b.team * S::kTeamRows + i / kRow;
    copy_async(b.table + i, i < kRows ? rows + row_at(place, b.a.log_rows) * kRow + i % kRow
                                      : units + i - kRows);
  }
}

// Rows of digit d, in [0, q), to shared memory: copied from Eval, multiplied there, or transformed
// from Half. `meanwhile` runs once loads are on their way.
template <class S, class F>
__device__ __forceinline__ void load_digit(const InnerBlock<S>& b, int d, const F& meanwhile) {
  const LimbBase& from = b.base[d];
  const auto at = b.position(b.rows + d * S::kDigitWords);
  const std::uint32_t* limb = from.limb(b.offset);
  auto* row = reinterpret_cast<uint4*>(at.shared) + at.t;
  if (!from.marked()) {
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      copy_async(row + j * S::kThreads,
                 reinterpret_cast<const uint4*>(limb) + at.vector() + j * S::kThreads);
    }
    if (!b.has_product() || d != b.own) return meanwhile();
    end_group();
    std::uint32_t y[S::kValues];
    load_eval<S>(y, b.factor(3).limb(b.offset), at);
    meanwhile();
    wait_for_groups<0>();
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      ProductSums product;
      product.add(row[j * S::kThreads],
                  make_uint4(y[4 * j], y[4 * j + 1], y[4 * j + 2], y[4 * j + 3]));
      row[j * S::kThreads] = product.reduced(b.m);
    }
    return;
  }
  std::uint32_t x[S::kValues];
  RowTwiddles<S> twiddles;
  load_half<S>(x, limb, at);
  twiddles.load(b.a.rows.psi, b.a.rows.units, b.prime, at);
  meanwhile();
  row_forward<S>(x, twiddles, at, b.m);
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = fold(x[j], b.m.q);
  __syncwarp();
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    row[j * S::kThreads] = make_uint4(x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3]);
  }
}

template <class S>
__device__ __forceinline__ void load_digits(const InnerBlock<S>& b) {
  if constexpr (S::kDigits == 0) {
#pragma unroll 1
    for (int d = b.lane; d < b.digits; d += b.lanes) {
      load_digit<S>(b, d, [] {});
    }
  } else {
    const auto keys = [&] {
      const TargetBases target(b, 0);
      each_vector<S>(b, [&](const auto& at) {
        request_keys<S>(b, target, at);
        prefetch_addends<S>(b, target, at);
      });
      if (b.half) request_inverse_twiddles<S>(b);
    };
    if (S::kLanes == S::kDigits || b.lane < S::kDigits) {
      load_digit<S>(b, b.lane, keys);
    } else {
      keys();
    }
  }
}

// Begins both sums with add_factor (a0 b0, a0 b1 + a1 b0) at one vector. Each is reduced before, so
// that it counts as one product.
template <class S>
__device__ __forceinline__ void start_with_product(const InnerBlock<S>& b, const VectorPlace<S>& at,
                                                   ProductSums (&sum)[2]) {
  const auto load = [&](int i) {
    return reinterpret_cast<const uint4*>(global(b.factor(i).limb(b.offset)))[at.i];
  };
  const uint4 a0 = load(0), a1 = load(1), b0 = load(2), b1 = load(3);
  const std::uint32_t f = mul_mod(b.a.add_factor[b.prime], b.m.r2, b.m);  // Montgomery
  ProductSums d[2];
  d[0].add(a0, b0);
  d[1].add(a0, b1);
  d[1].add(a1, b0);
#pragma unroll
  for (int h = 0; h < 2; ++h) sum[h].add(d[h].reduced_montgomery(b.m), make_uint4(f, f, f, f));
}

// Both halves of a target at one vector.
template <class S>
__device__ __forceinline__ void multiply_keys(const InnerBlock<S>& b, const TargetBases& target,
                                              const VectorPlace<S>& at, uint4 (&result)[2]) {
  const std::uint32_t q = b.m.q;
  const std::uint32_t* x = b.rows + at.local * S::kStride + 4 * at.v;
  ProductSums sum[2];
  const int first = b.has_product() ? 1 : 0;  // how many products the sums hold before the digits
  if (first > 0) start_with_product<S>(b, at, sum);
  const auto step = [&](int d, uint4 key_b, uint4 key_a) {
    if (d + first >= 4 && (d + first) % 2 == 0) sum[0].fold(q), sum[1].fold(q);
    const uint4 v = *reinterpret_cast<const uint4*>(x + d * S::kDigitWords);
    sum[0].add(v, key_b);
    sum[1].add(v, key_a);
  };
  if constexpr (S::kDigits == 0) {
#pragma unroll 2
    for (int d = 0; d < b.digits; ++d) {
      const auto* key_b = reinterpret_cast<const uint4*>(target.key[2 * d].limb(b.offset));
      const auto* key_a = reinterpret_cast<const uint4*>(target.key[2 * d + 1].limb(b.offset));
      step(d, __ldcs(key_b + at.i), __ldcs(key_a + at.i));
    }
  } else {
    const uint4* key = b.slots + at.slot;
#pragma unroll
    for (int d = 0; d < S::kDigits; ++d) {
      step(d, key[2 * d * S::kBlockVectors], key[(2 * d + 1) * S::kBlockVectors]);
    }
  }
  if ((S::kDigits == 0 ? b.digits : S::kDigits) + first > 2) sum[0].fold(q), sum[1].fold(q);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    result[h] = with_addend(sum[h], target.add[h], b.offset, at.i, b.a.add_factor[b.prime],
                            target.out[h].marked(), b.m);
  }
}

// Transforms rows of the results that leave in Half back. They are in the first two slots.
template <class S>
__device__ __forceinline__ void invert_results(const InnerBlock<S>& b, const TargetBases& target) {
  b.team_barrier();
#pragma unroll 1
  for (int h = b.lane; h < 2; h += b.lanes) {
    if (!target.out[h].marked()) continue;
    const auto at = b.position(b.exchange + (S::kExchanges == 1 ? 0 : h) * S::kDigitWords);
    const int team_row = b.thread / S::kThreads, local = b.team * S::kTeamRows + team_row;
    RowTwiddles<S> twiddles;
    if constexpr (S::kDigits > 0) {
      const auto* units =
          reinterpret_cast<const RowUnits*>(b.table + S::kTeamRows * S::kRowTableVectors);
      twiddles.load(
          reinterpret_cast<const std::uint32_t*>(b.table + team_row * S::kRowTableVectors), *units,
          at.t);
    } else {
      twiddles.load(b.a.rows.psi_inv, b.a.rows.units_inv, b.prime, at);
    }
    std::uint32_t x[S::kValues];
    const uint4* row = b.slots + h * S::kBlockVectors + local * S::kRowVectors + at.t;
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      const uint4 v = row[j * S::kThreads];
      x[4 * j] = v.x, x[4 * j + 1] = v.y, x[4 * j + 2] = v.z, x[4 * j + 3] = v.w;
    }
    row_inverse<S, true>(x, twiddles, at, b.a.ring.inverse[b.prime].cols, b.m);
    store_half<S>(x, target.out[h].limb(b.offset), at);
  }
}

// Stores the results of target t, and requests the keys of the next target.
template <class S>
__device__ __forceinline__ void run_target(const InnerBlock<S>& b, int t, bool more,
                                           std::uint32_t galois_inverse) {
  const TargetBases target(b, t);
  const bool half = target.half();
  const auto next = [&](const VectorPlace<S>& at) {
    if constexpr (S::kDigits > 0) request_keys<S>(b, TargetBases(b, t + 1), at);
  };
  each_vector<S>(b, [&](const VectorPlace<S>& at) {
    uint4 r[2];
    multiply_keys<S>(b, target, at, r);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (target.out[h].marked()) {
        b.slots[h * S::kBlockVectors + at.slot] = r[h];
      } else {
        store_image<S>(r[h], at.row, at.v, target.out[h].limb(b.offset), galois_inverse,
                       b.a.ring.log_n);
      }
    }
    if (more && !half) next(at);
  });
  if (half) {
    invert_results<S>(b, target);
    if (more) {
      b.team_barrier();
      each_vector<S>(b, next);
    }
  }
}

template <class S>
__device__ __forceinline__ InnerBlock<S> inner_block(const KeyInnerArgs& a,
                                                     const KeyInnerArgs::Group& g, int place,
                                                     uint4* dynamic) {
  const KeyInnerArgs::Run& run = run_at(a, g, place);
  const int prime = run.prime + place - run.begin;
  uint4* table = dynamic + S::kSlots * S::kBlockVectors;
  auto* rows = reinterpret_cast<std::uint32_t*>(table + S::kTableVectors);
  const int digits = S::kDigits == 0 ? g.digits : S::kDigits;
  const int lanes = S::kDigits == 0 ? blockDim.x / (32 * S::kTeams) : S::kLanes;
  const int warp = threadIdx.x / 32;
  return {a,
          a.base + run.first_base,
          run.own,
          run.half != 0,
          prime,
          digits,
          load_modulus(a.ring.modulus + prime),
          static_cast<std::size_t>(prime) << a.ring.log_n,
          dynamic,
          table + warp / lanes * S::kTeamTableVectors,
          rows,
          a.own_exchange ? rows + digits * S::kDigitWords : rows,
          warp / lanes,
          warp % lanes,
          lanes,
          static_cast<int>(threadIdx.x % 32)};
}

template <class S>
__global__ void __launch_bounds__(S::kMaxThreads, S::kMinBlocks)
    key_inner(const __grid_constant__ KeyInnerArgs a) {
  extern __shared__ uint4 dynamic[];
  const KeyInnerArgs::Group g = a.group[blockIdx.x];
  const int place = blockIdx.z;
  if (place >= g.primes) return;
  const InnerBlock<S> block = inner_block<S>(a, g, place, dynamic);
  wait_for_previous();
  load_digits<S>(block);
#pragma unroll 1
  for (int t = 0; t < g.targets; ++t) {
    wait_for_copies();
    if (t == 0) block.team_barrier();
    if (t + 1 == g.targets) allow_next();
    run_target<S>(block, t, t + 1 < g.targets, a.galois_inverse[g.first_target + t]);
  }
}

}  // namespace latticino::cuda
