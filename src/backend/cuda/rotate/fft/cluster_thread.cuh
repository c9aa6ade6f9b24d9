// Shapes of blind rotations in FP64 that are spread over clusters, and what their threads have in
// common: what they send, wait for and transform (rotate/fft/cluster.cuh,
// rotate/fft/group_cluster.cuh).
#pragma once

#include <cstdint>

#include "backend/cuda/device/barrier.cuh"
#include "backend/cuda/device/cluster.cuh"
#include "backend/cuda/device/uniform.cuh"
#include "backend/cuda/rotate/fft/cluster_slice.cuh"
#include "backend/cuda/rotate/fft/words.cuh"

namespace latticino::cuda {

template <int LOG_N, int LOG_BLOCKS, int PRIMES, int LEVELS>
struct FourierClusterShape : FourierSlice<LOG_N, LOG_BLOCKS> {
  using Slice = FourierSlice<LOG_N, LOG_BLOCKS>;
  using Slice::kBlocks, Slice::kLogBlocks, Slice::kLogV, Slice::kSlice, Slice::kTuples, Slice::kV;
  static constexpr int kPrimes = PRIMES, kLevels = LEVELS, kParts = 2, kRows = kParts * LEVELS;
  using Digits = FourierDigits<PRIMES>;
  using Value = typename Digits::Value;
  static constexpr int kClass = 2 * kSlice;         // coefficients per block
  static constexpr int kPointWarps = kSlice / 16;   // half a warp for each component
  static constexpr int kPoints = 32 * kPointWarps;  // threads per block
  static constexpr int kSumWarps = 2 * kParts;
  static constexpr int kKeySteps = 3;  // steps whose keys are in shared memory or being copied
  LATTICINO_HOST_DEVICE static constexpr int most(int a, int b) { return a > b ? a : b; }
  static constexpr int kThreads = 32 * most(kRows, most(kPointWarps, kSumWarps));
  // If there are enough warps, the last stages of a row of each component have warps of their own.
  static constexpr bool kSplits = kLevels > 1 && kLevels* kPointWarps <= kRows;
  static constexpr int kTupleWarps = kSplits ? kLevels * kPointWarps : kPointWarps;
  using Key = FourierKeyShape<LOG_N, kParts, PRIMES>;

  static constexpr int kVectorValues = 16 / sizeof(Value),
                       kVectors = most(2 * kV / kVectorValues, 1);
  static constexpr std::size_t kBeforeBytes = std::size_t{512} * kParts * kVectors;

  // Tuple l is number index_of(l) of block owner(l). Those of a block are neighbours in key
  // polynomials, of whose order the lowest kLow bits of l are no part.
  static constexpr int kLow = most(Key::kLogV - LOG_BLOCKS, 0);
  static constexpr int kLogTuples = Slice::kLogSlice - LOG_BLOCKS;
  static constexpr std::uint32_t kLowMask = (1u << kLow) - 1;
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t owner(std::uint32_t l) {
    return (l >> kLow) / kTuples << kLow | (l & kLowMask);
  }
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t index_of(std::uint32_t l) {
    return (l >> kLow) % kTuples;
  }
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t tuple(std::uint32_t rank,
                                                             std::uint32_t index) {
    return ((rank >> kLow) * kTuples + index) << kLow | (rank & kLowMask);
  }

  // What a warp sends to a block at once lies side by side there, 64 bytes or more. It travels in
  // pieces of that size, and a piece costs no more than a single number. So the bits of a tuple's
  // index that tell registers of a lane apart, if any, are the highest of its place. Products are
  // brought into such an order through shared memory before the last stage, and so are digits where
  // kMixesRows.
  static constexpr bool kMixesRows = kTuples < 4;
  static_assert(!kMixesRows || (kV == 1 && kTuples == 2 && kLow == 0), "send_slice()");
  static constexpr int kRegisterBits = most(kLogV - kLow, 0);
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t turned(std::uint32_t index) {
    return index >> kRegisterBits | (index & ((1u << kRegisterBits) - 1))
                                        << (kLogTuples - kRegisterBits);
  }
  // Place of element p of tuple `index` in the digits. Readers that are neighbours in p or
  // component touch all banks.
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t digit_place(std::uint32_t p,
                                                                   std::uint32_t index, int row) {
    constexpr int kShift = most(3 - kLogTuples, 0);
    const auto r = static_cast<std::uint32_t>(row);
    if constexpr (kMixesRows) return (p * kRows + r) * kTuples + (index ^ (p >> (kShift - 1) & 1));
    constexpr std::uint32_t kHalf = (kTuples < 8 ? kTuples : 8) / 2;
    const std::uint32_t other = p >> kShift ^ (row / kLevels != 0 ? kHalf : 0);
    return r * kSlice + p * kTuples + (turned(index) ^ (other & (kTuples - 1)));
  }
  // The place of number l of a class in the products of both components.
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t product_place(std::uint32_t l,
                                                                     int component) {
    const std::uint32_t other = l >> (kLogV + 2) & 1;
    return 2 * (owner(l) * kTuples + turned(index_of(l))) +
           (static_cast<std::uint32_t>(component) ^ other);
  }
  // Places in the memory through which a block brings products and digits into that order.
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t mixed_product(std::uint32_t p,
                                                                     std::uint32_t index,
                                                                     int component) {
    const std::uint32_t other = p >> most(2 - kLogTuples, 0);
    return 2 * (p * kTuples + (index ^ (other & (kTuples - 1)))) +
           static_cast<std::uint32_t>(component);
  }
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t mixed_digit(std::uint32_t l, int row) {
    const auto r = static_cast<std::uint32_t>(row);
    return r * kSlice + (l ^ (r & 3) << 1);
  }
  // The place of a row's digits after all stages, in memory of the block.
  LATTICINO_HOST_DEVICE static constexpr int row_point(int row, int point) {
    return row * kSlice + (point ^ (row / kLevels != 0 ? 4 : 0));
  }

  // The place of coefficient i of a class, and that in the vectors of what a class was before.
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t coefficient(std::uint32_t i) { return i; }
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t before_place(std::uint32_t i) {
    const std::uint32_t v = i / 32;  // number of the value in its lane
    return (v / kVectorValues * 32 + i % 32) * kVectorValues + v % kVectorValues;
  }

  // Shared memory, in bytes: counts of arrivals, numbers on their way to the last stage
  // [mixed_digit], [mixed_product], rows [row_point], digits [digit_place], products
  // [which class][product_place], keys [step][row][thread], accumulators
  // [even or odd step][own or turned class][component], those of the step before
  // [2][component][vector][lane], exponents.
  static constexpr int kCounts = 4;
  static constexpr std::size_t kMixedDigits = 16 * kCounts;
  static constexpr std::size_t kMixedProducts =
      kMixedDigits + (kMixesRows ? sizeof(double2) * kRows * kSlice : 0);
  static constexpr std::size_t kRowPoints = kMixedProducts + sizeof(double2) * kParts * kSlice;
  static constexpr std::size_t kDigits =
      kRowPoints + (kSplits ? sizeof(double2) * kRows * kSlice : 0);
  static constexpr std::size_t kDigitBytes = sizeof(double2) * kRows * kSlice;
  static constexpr std::size_t kProducts = kDigits + kDigitBytes;
  static constexpr std::size_t kProductBytes = sizeof(double2) * kSumWarps * kSlice;
  static constexpr std::size_t kClassBytes = sizeof(Value) * kParts * kClass;
  static constexpr std::size_t kKeys = kProducts + kProductBytes;
  static constexpr std::size_t kAccumulators =
      kKeys + sizeof(double2) * kKeySteps * kRows * kPoints;
  static constexpr std::size_t kBefore = kAccumulators + 4 * kClassBytes;
  static constexpr std::size_t kExponents = kBefore + 2 * kBeforeBytes;
  LATTICINO_HOST_DEVICE static constexpr std::size_t bytes(std::uint32_t steps) {
    return kExponents + sizeof(std::uint32_t) * (steps + 2);
  }
};

// A thread of a spread rotation, and its block's memory.
template <class S>
struct FourierClusterUnit {
  using Value = typename S::Value;
  const FourierRotateArgs& a;
  unsigned char* shared;
  std::uint32_t rank, lane;
  int warp;
  bool first;  // thread of the block

  __device__ __forceinline__ FourierClusterUnit(const FourierRotateArgs& a, unsigned char* shared)
      : a(a),
        shared(held(shared)),
        rank(cluster_rank()),
        lane(held(threadIdx.x % 32)),
        warp(warp_of_block()),
        first(held(threadIdx.x) == 0) {}

  __device__ __forceinline__ Arrivals arrivals(int which) const {
    return {reinterpret_cast<std::uint64_t*>(shared) + which};
  }
  __device__ __forceinline__ Arrivals digit_arrivals() const { return arrivals(2); }
  __device__ __forceinline__ Arrivals product_arrivals() const { return arrivals(3); }
  __device__ __forceinline__ Arrivals previous_arrivals(std::uint32_t step) const {
    return arrivals(static_cast<int>(step % 2));
  }
  __device__ __forceinline__ double2* mixed_digits() const {
    return reinterpret_cast<double2*>(shared + S::kMixedDigits);
  }
  __device__ __forceinline__ double2* mixed_products() const {
    return reinterpret_cast<double2*>(shared + S::kMixedProducts);
  }
  __device__ __forceinline__ double2* row_points() const {
    return reinterpret_cast<double2*>(shared + S::kRowPoints);
  }
  __device__ __forceinline__ double2* digits() const {
    return reinterpret_cast<double2*>(shared + S::kDigits);
  }
  __device__ __forceinline__ double2* products(int which) const {
    return reinterpret_cast<double2*>(shared + S::kProducts) + which * S::kParts * S::kSlice;
  }
  __device__ __forceinline__ double2* keys() const {
    return reinterpret_cast<double2*>(shared + S::kKeys);
  }
  // The accumulators that a step reads. Those that the next step reads are stored elsewhere,
  // because no barrier of the block separates writing them from reads of other warps. Only messages
  // do: a warp writes after other blocks have answered what was read and sent before.
  __device__ __forceinline__ Value* accumulator(std::uint32_t step, int which,
                                                int component) const {
    return reinterpret_cast<Value*>(shared + S::kAccumulators) +
           ((static_cast<int>(step % 2) * 2 + which) * S::kParts + component) * S::kClass;
  }
  __device__ __forceinline__ uint4* before(std::uint32_t step, int component) const {
    return reinterpret_cast<uint4*>(shared + S::kBefore) +
           (static_cast<int>(step % 2) * S::kParts + component) *
               static_cast<int>(S::kBeforeBytes / (16 * S::kParts));
  }
  __device__ __forceinline__ std::uint32_t* exponents() const {
    return reinterpret_cast<std::uint32_t*>(shared + S::kExponents);
  }
  // Waits until all blocks have sent what they send in this step. Thread 0, which always waits,
  // then begins the count of the next step.
  __device__ __forceinline__ void wait(Arrivals count, std::uint32_t step,
                                       std::size_t bytes) const {
    count.wait(step & 1);
    if (first) count.expect(static_cast<std::uint32_t>(bytes));
  }
  static __device__ __forceinline__ uint4 words(Complex x) {
    return make_uint4(static_cast<std::uint32_t>(__double2loint(x.re)),
                      static_cast<std::uint32_t>(__double2hiint(x.re)),
                      static_cast<std::uint32_t>(__double2loint(x.im)),
                      static_cast<std::uint32_t>(__double2hiint(x.im)));
  }
  static __device__ __forceinline__ void push(const void* to, Arrivals count, std::uint32_t block,
                                              uint4 v) {
    cuda::push(static_cast<std::uint32_t*>(const_cast<void*>(to)), count, block, v);
  }
};

// A barrier for some threads of a block. The other threads do not take part.
constexpr int kRowBarrier = 1, kPointBarrier = 2, kOtherBarrier = 3, kMakerBarrier = 4;

// A barrier, once per step, of those of the first `threads` threads that have no points. The result
// does not need it, but racecheck does (see sync_threads()).
template <class S>
__device__ __forceinline__ void sync_others(const FourierClusterUnit<S>& u, int threads) {
  if (threads > S::kPoints && u.warp >= S::kPointWarps) {
    sync_threads(kOtherBarrier, threads - S::kPoints);
  }
}

// What a thread sends if rows are mixed: number l of a row.
template <class S>
struct MixedDigit {
  std::uint32_t to, l, index;
  int row;
  LaneRoot root;

  __device__ __forceinline__ explicit MixedDigit(const FourierClusterUnit<S>& u) {
    const std::uint32_t t = 32 * static_cast<std::uint32_t>(u.warp) + u.lane;
    constexpr std::uint32_t kEach = S::kRows * S::kTuples;
    to = t / kEach % S::kBlocks, index = t % S::kTuples;
    row = static_cast<int>(t % kEach / S::kTuples);
    l = S::tuple(to, index);
    root.set(stage_root(u.a.roots, S::kLogSlice - 1, l / 2), l % 2 != 0);
  }
};

// The values that a thread of the rows of digits keeps.
template <class S>
struct SliceSender {
  SliceRoots<S> roots;
  std::conditional_t<S::kMixesRows, MixedDigit<S>, int> mixed;

  __device__ __forceinline__ explicit SliceSender(const FourierClusterUnit<S>& u)
      : roots(u.a.roots, u.lane), mixed(first_mixed(u)) {}
  static __device__ __forceinline__ auto first_mixed(const FourierClusterUnit<S>& u) {
    if constexpr (S::kMixesRows) {
      return MixedDigit<S>(u);
    } else {
      return 0;
    }
  }
};

// The warp's row of digits: its stages among numbers of the block, to the blocks of the tuples.
template <class S>
__device__ __forceinline__ void send_slice(const FourierClusterUnit<S>& u, const SliceSender<S>& w,
                                           Complex (&x)[S::kV]) {
  if constexpr (S::kMixesRows) {
    slice_forward<S, 0, S::kLogSlice - 1>(x, w.roots, u.lane);
    u.mixed_digits()[S::mixed_digit(u.lane, u.warp)] = vector(x[0]);
    sync_threads(kRowBarrier, 32 * S::kRows);
    const MixedDigit<S>& m = w.mixed;
    const Complex own = complex(u.mixed_digits()[S::mixed_digit(m.l, m.row)]),
                  other = complex(u.mixed_digits()[S::mixed_digit(m.l ^ 1, m.row)]);
    u.push(u.digits() + S::digit_place(u.rank, m.index, m.row), u.digit_arrivals(), m.to,
           u.words(lanes_forward(own, other, m.root, m.l % 2 != 0)));
  } else {
    slice_forward<S>(x, w.roots, u.lane);
#pragma unroll
    for (int r = 0; r < S::kV; ++r) {
      const std::uint32_t l = S::kV * u.lane + S::low_bits(r);
      u.push(u.digits() + S::digit_place(u.rank, S::index_of(l), u.warp), u.digit_arrivals(),
             S::owner(l), u.words(x[r]));
    }
  }
}

// The position of a block's number `point` of its tuples.
template <class S>
__device__ __forceinline__ std::uint32_t tuple_position(const FourierClusterUnit<S>& u, int point) {
  const auto at = static_cast<std::uint32_t>(point);
  return S::tuple(u.rank, at / S::kBlocks) * S::kBlocks + at % S::kBlocks;
}
// Where number `position` of a key polynomial lies.
template <class S>
LATTICINO_HOST_DEVICE constexpr int key_number(std::uint32_t position) {
  return stored_place<typename S::Key>(static_cast<int>(position));
}

// A thread's number of the tuples, for one component, and the one whose product it sends.
template <class S>
struct TuplePoint {
  std::uint32_t element, index, position, to, sent_index;
  int component, point;
  TupleRoots<S> roots;
  LaneRoot last;

  __device__ __forceinline__ explicit TuplePoint(const FourierClusterUnit<S>& u)
      : element(u.lane >> S::kElementBit),
        index((static_cast<std::uint32_t>(u.warp) * S::kWarpTuples + u.lane / 2 % S::kWarpTuples) %
              S::kTuples),
        position(S::tuple(u.rank, index) * S::kBlocks + element),
        to((32 * static_cast<std::uint32_t>(u.warp) + u.lane) / (2 * S::kTuples) % S::kBlocks),
        sent_index(u.lane / 2 % S::kTuples),
        component(static_cast<int>(u.lane % 2)),
        point(static_cast<int>(index * S::kBlocks + element)),
        roots(u.a.roots, position) {
    const std::uint32_t sent = S::tuple(u.rank, sent_index) * S::kBlocks + to;
    last.set(stage_root(u.a.roots, S::kLogSlice, sent >> S::kLogBlocks), (sent & kOther) != 0);
  }

  // The other number of a pair of the tuples' first stage.
  static constexpr std::uint32_t kOther = S::kBlocks / 2;
  // The place of the product in block `to`.
  __device__ __forceinline__ std::uint32_t place(const FourierClusterUnit<S>& u) const {
    return S::product_place(S::tuple(u.rank, sent_index), component);
  }
};

// The last stages of all rows, once the digits of this step have arrived. After that, points have
// their digits.
template <class S>
__device__ __forceinline__ void tuple_rows(const FourierClusterUnit<S>& u, const TuplePoint<S>& at,
                                           Complex (&rows)[S::kRows]) {
  constexpr int kOwn = S::kSplits ? 1 : S::kLevels;
  const int first = at.component * S::kLevels + (S::kSplits ? u.warp / S::kPointWarps : 0);
  Complex x[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    x[i] = complex(u.digits()[S::digit_place(at.element, at.index, first + i)]);
  }
  tuple_forward<S>(x, at.roots, u.lane);
  if constexpr (S::kSplits) {
    u.row_points()[S::row_point(first, at.point)] = vector(x[0]);
    sync_threads(kRowBarrier, 32 * S::kTupleWarps);
    if (u.warp >= S::kPointWarps) return;
#pragma unroll
    for (int row = 0; row < S::kRows; ++row) {
      rows[row] = complex(u.row_points()[S::row_point(row, at.point)]);
    }
  } else {
    const bool second = at.component != 0;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const Complex y = shuffled(x[i], 1);
      rows[i] = choose(second, y, x[i]), rows[S::kLevels + i] = choose(second, x[i], y);
    }
  }
}

// Products of a point's digits with the numbers of the key, and the first stages back. In the last
// of these the thread computes the number that it sends.
template <class S>
__device__ __forceinline__ Complex tuple_products(const FourierClusterUnit<S>& u,
                                                  const TuplePoint<S>& at,
                                                  const Complex (&rows)[S::kRows],
                                                  const Complex (&key)[S::kRows]) {
  Complex sum{};
#pragma unroll
  for (int row = 0; row < S::kRows; ++row) fourier::multiply_add(sum, rows[row], key[row]);
  double2* mixed = u.mixed_products();
  mixed[S::mixed_product(at.element, at.index, at.component)] =
      vector(tuple_inverse<S>(sum, at.roots));
  sync_threads(kPointBarrier, S::kPoints);
  const auto of = [&](std::uint32_t p) {
    return complex(mixed[S::mixed_product(p, at.sent_index, at.component)]);
  };
  return lanes_inverse(of(at.to), of(at.to ^ at.kOther), at.last);
}

// The stages back of the products that have come, added to what the warp has of a class.
template <class S>
__device__ __forceinline__ void add_slice(const FourierClusterUnit<S>& u, const SliceRoots<S>& w,
                                          const typename S::Digits& form, int which, int component,
                                          typename S::Value (&values)[2 * S::kV]) {
  Complex x[S::kV];
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    const std::uint32_t place = S::product_place(S::kV * u.lane + S::low_bits(r), component);
    x[r] = complex(u.products(which)[place]);
  }
  slice_inverse<S>(x, w, u.lane);
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    auto &re = values[r], &im = values[S::kV + r];
    re = form.sum(re, x[r].re);
    im = form.sum(im, x[r].im);
  }
}

}  // namespace latticino::cuda
