// A thread of a spread blind rotation (rotate/cluster/cluster.cuh): its values, and how it waits
// for other threads.
#pragma once

#include <cstdint>

#include "backend/cuda/device/barrier.cuh"
#include "backend/cuda/device/cluster.cuh"
#include "backend/cuda/ntt/lazy.cuh"
#include "backend/cuda/rotate/cluster/places.cuh"

namespace latticino::cuda {

constexpr int kGroupBarriers = 1;  // barrier 0 is that of all threads

// A row of digits: its component, and which digit it is.
template <class S>
struct DigitRow {
  int index, component, level;
  DigitForm<S::kPrimes> form;

  __device__ __forceinline__ DigitRow(const RotateArgs& a, int index)
      : index(index),
        component(index / S::levels(a)),
        level(index % S::levels(a)),
        form(a.gadget, a.bits) {}
};

// The index of a thread is made of its group, prime and lane. Group g takes the rows of digits g, g
// + groups, ..., and the components in the same way. A lane stands for a column and a thread t of
// it, and also for a row and a thread t of that.
template <class S>
struct ClusterUnit {
  using Column = typename S::Column;
  using Row = typename S::Row;

  const RotateArgs& a;
  ClusterPlaces<S> at;
  std::uint32_t* shared;
  std::uint32_t rank;              // number of the block in its cluster
  int thread, group, first_group;  // first_group: the first group of the warp
  int p, lane;
  int column, column_t, row, row_t;  // place in the slice
  Modulus m;
  LazyPrime lazy;
  std::uint32_t q[S::kPrimes];
  Shoup scale;            // R / N
  DigitRow<S> first_row;  // the first row of the group
  ThreadTwiddles<Column> column_forward, column_inverse;
  ThreadTwiddles<Row> row_forward, row_inverse;
  std::uint32_t *column_exchange, *row_exchange;

  __device__ __forceinline__ int groups() const { return S::groups(S::rows(a)); }
  __device__ __forceinline__ int threads() const { return S::threads(S::rows(a)); }
  __device__ __forceinline__ std::uint32_t* poly(std::uint32_t first, int index, int prime) const {
    return shared + first + (index * S::kPrimes + prime) * S::kSlice;
  }
  __device__ __forceinline__ std::uint32_t* own(int component, int prime) const {
    return poly(at.own, component, prime);
  }
  // The sums of the residue class that the next step's rotation moves onto the class of this block.
  __device__ __forceinline__ std::uint32_t* rotated_residue_class(int component, int prime) const {
    return poly(S::kOneBlock ? at.own : at.turned, component, prime);
  }
  // Vector h of two of entries E t + 4h .. of the thread's row, in Eval order.
  __device__ __forceinline__ std::uint32_t eval_vector(int h) const {
    return row * (S::kCols / 4) + h * Row::kThreads + row_t;
  }
  __device__ __forceinline__ Arrivals arrivals(int which) const {
    return {reinterpret_cast<std::uint64_t*>(shared) + which};
  }
  __device__ __forceinline__ Arrivals digit_arrivals() const { return arrivals(0); }
  __device__ __forceinline__ Arrivals product_arrivals() const { return arrivals(1); }
  __device__ __forceinline__ Arrivals turned_arrivals() const { return arrivals(2); }
  // The number of bytes that arrive for so many polynomials.
  __device__ __forceinline__ std::uint32_t bytes(int polys) const {
    return polys * S::kPrimes * S::kSlice * sizeof(std::uint32_t);
  }

  // Calls f(index, active) for the thread's indices below `count`. All lanes of a warp make each
  // call.
  template <class F>
  __device__ __forceinline__ void each(int count, const F& f) const {
#pragma unroll 1
    for (int first = 0; first + first_group < count; first += groups()) {
      const int index = first + group;
      f(min(index, count - 1), index < count);
    }
  }

  __device__ __forceinline__ void send(std::uint32_t* to, Arrivals count, std::uint32_t block,
                                       uint4 v) const {
    if constexpr (S::kOneBlock) {
      *reinterpret_cast<uint4*>(to) = v;
    } else {
      push(to, count, block, v);
    }
  }
  // Waits until all blocks have sent what they send in this phase: `polys` polynomials.
  __device__ __forceinline__ void wait(Arrivals count, std::uint32_t phase, int polys) const {
    if constexpr (S::kOneBlock) {
      sync_block();
    } else {
      count.wait(phase & 1);
      if (thread == 0) count.expect(bytes(polys));
    }
  }
  // f(component, vector) for what the thread multiplies, kProductWords<S> words each.
  template <class F>
  __device__ __forceinline__ void each_product(const F& f) const {
    constexpr int kVectors = S::kSlice / kProductWords<S>;
    const int all = S::parts(a) * kVectors, each = groups() * S::kLanes;
#pragma unroll(S::kFixed ? 4 : 1)
    for (int k = 0; k < (all + each - 1) / each; ++k) {
      const int i = group * S::kLanes + lane + k * each;
      if (all % each != 0 && i >= all) break;
      f(i / kVectors, i % kVectors);
    }
  }

  // The first waits for the threads of the group (of two primes), the second for all threads.
  __device__ __forceinline__ void sync_group() const {
    if constexpr (S::kGroupThreads <= 32) {
      __syncwarp();
    } else {
      sync_threads(kGroupBarriers + group, S::kGroupThreads);
    }
  }
  __device__ __forceinline__ void sync_block() const { __syncthreads(); }
};

template <class S>
__device__ __forceinline__ ClusterUnit<S> make_unit(const ClusterArgs& args, std::uint32_t* shared,
                                                    std::uint32_t rank) {
  using Unit = ClusterUnit<S>;
  const RotateArgs& a = args.rotate;
  const auto thread = static_cast<int>(threadIdx.x);
  const int p = thread % S::kGroupThreads / S::kLanes, group = thread / S::kGroupThreads;
  const Modulus m = load_modulus(a.ring.modulus + a.prime[p]);
  Unit u{.a = a,
         .at = ClusterPlaces<S>(a, args.stages),
         .shared = shared,
         .rank = rank,
         .thread = thread,
         .group = group,
         .first_group = thread / 32 * 32 / S::kGroupThreads,
         .p = p,
         .lane = thread % S::kLanes,
         .m = m,
         .lazy = LazyPrime(m),
         .first_row = DigitRow<S>(a, min(group, S::rows(a) - 1))};
  u.column = u.lane / Unit::Column::kThreads, u.column_t = u.lane % Unit::Column::kThreads;
  u.row = u.lane / Unit::Row::kThreads, u.row_t = u.lane % Unit::Row::kThreads;
  u.column_exchange = shared + u.at.exchange + (thread - u.column_t) * (S::kValues + 1);
  u.row_exchange = shared + u.at.exchange + (thread - u.row_t) * (S::kValues + 1);
#pragma unroll
  for (int i = 0; i < S::kPrimes; ++i) u.q[i] = a.ring.modulus[a.prime[i]].q;
  const InverseDegrees& inverse = a.ring.inverse[a.prime[p]];
  std::uint32_t scale = mul_mod(inverse.rows.w, inverse.cols.w, m);  // 1 / (N R)
#pragma unroll
  for (int i = 0; i < 3; ++i) scale = mul_mod(scale, m.r2, m);  // to R^2 / N
  u.scale = shoup_of(scale, m);
  const std::size_t table = std::size_t(a.prime[p]) << S::kLogN;
  const std::uint32_t node = S::kRows + rank * S::kSliceRows + u.row;
  u.column_forward.load(a.ring.psi + table, 1, u.column_t, m);
  u.column_inverse.load(a.ring.psi_inv + table, 1, u.column_t, m);
  u.row_forward.load(a.ring.psi + table, node, u.row_t, m);
  u.row_inverse.load(a.ring.psi_inv + table, node, u.row_t, m);
  return u;
}

}  // namespace latticino::cuda
