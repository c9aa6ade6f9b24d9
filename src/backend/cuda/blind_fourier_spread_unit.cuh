// Shapes of blind rotations in FP64 that are spread over clusters, and what their threads have in
// common: what they send, wait for and transform (blind_fourier_spread.cuh,
// blind_fourier_group_spread.cuh).
#pragma once

#include <cstdint>

#include "backend/cuda/blind_fourier_spread_slice.cuh"
#include "backend/cuda/cluster.cuh"
#include "backend/cuda/fourier_words.cuh"

namespace latticino::cuda {

template <int LOG_N, int LOG_BLOCKS, int PRIMES, int LEVELS>
struct FourierSpreadShape : FourierSlice<LOG_N, LOG_BLOCKS> {
  using Slice = FourierSlice<LOG_N, LOG_BLOCKS>;
  using Slice::kBlocks, Slice::kSlice, Slice::kV;
  static constexpr int kPrimes = PRIMES, kLevels = LEVELS, kParts = 2, kRows = kParts * LEVELS;
  using Digits = FourierDigits<PRIMES>;
  using Value = typename Digits::Value;
  static constexpr int kClass = 2 * kSlice;         // coefficients of a block
  static constexpr int kPointWarps = kSlice / 16;   // half a warp for each component
  static constexpr int kPoints = 32 * kPointWarps;  // threads
  static constexpr int kSumWarps = 2 * kParts;
  static constexpr int kKeySteps = 3;  // in shared memory or on their way
  static constexpr int most(int a, int b) { return a > b ? a : b; }
  static constexpr int kThreads = 32 * most(kRows, most(kPointWarps, kSumWarps));
  using Key = FourierKeyShape<LOG_N, kParts, PRIMES>;

  static constexpr int kVectorValues = 16 / sizeof(Value),
                       kVectors = most(2 * kV / kVectorValues, 1);
  static constexpr std::size_t kBeforeBytes = std::size_t{512} * kParts * kVectors;

  // Shared memory, in bytes: counts of arrivals, digits [row][tuple][element], products
  // [which class][component][number of a lane][lane], keys [step][row][thread], accumulators
  // [even or odd step][own or turned class][component], those of the step before
  // [2][component][vector][lane], exponents.
  static constexpr int kCounts = 4;
  static constexpr std::size_t kDigits = 16 * kCounts;
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

  // Where element p of tuple o lies: neighbours of a tuple and of an element touch all banks.
  LATTICINO_HOST_DEVICE static constexpr int place(int o, int p) {
    return o * kBlocks + (p ^ (o & (kBlocks - 1)));
  }
};

// A thread of a spread rotation, and its block's memory.
template <class S>
struct FourierSpreadUnit {
  using Value = typename S::Value;
  const FourierRotateArgs& a;
  unsigned char* shared;
  std::uint32_t rank, lane;
  int warp;

  __device__ __forceinline__ FourierSpreadUnit(const FourierRotateArgs& a, unsigned char* shared)
      : a(a),
        shared(shared),
        rank(cluster_rank()),
        lane(threadIdx.x % 32),
        warp(static_cast<int>(threadIdx.x / 32)) {}

  __device__ __forceinline__ Arrivals arrivals(int which) const {
    return {reinterpret_cast<std::uint64_t*>(shared) + which};
  }
  __device__ __forceinline__ Arrivals digits_come() const { return arrivals(2); }
  __device__ __forceinline__ Arrivals products_come() const { return arrivals(3); }
  __device__ __forceinline__ Arrivals before_comes(std::uint32_t step) const {
    return arrivals(static_cast<int>(step % 2));
  }
  __device__ __forceinline__ double2* digits(int row) const {
    return reinterpret_cast<double2*>(shared + S::kDigits) + row * S::kSlice;
  }
  __device__ __forceinline__ double2* products(int which, int component) const {
    return reinterpret_cast<double2*>(shared + S::kProducts) +
           (which * S::kParts + component) * S::kSlice;
  }
  __device__ __forceinline__ double2* keys() const {
    return reinterpret_cast<double2*>(shared + S::kKeys);
  }
  // As the step finds them; the next one finds its own elsewhere. What is written comes after what
  // other warps read only by way of other blocks, which answer to it, and of no barrier.
  __device__ __forceinline__ Value* accumulator(std::uint32_t step, int which,
                                                int component) const {
    return reinterpret_cast<Value*>(shared + S::kAccumulators) +
           ((static_cast<int>(step % 2) * 2 + which) * S::kParts + component) * S::kClass;
  }
  __device__ __forceinline__ uint4* before(std::uint32_t step, int component) const {
    return reinterpret_cast<uint4*>(shared + S::kBefore) +
           (static_cast<int>(step % 2) * S::kParts + component) * S::kVectors * 32;
  }
  __device__ __forceinline__ std::uint32_t* exponents() const {
    return reinterpret_cast<std::uint32_t*>(shared + S::kExponents);
  }
  // What all blocks send in this step has come; thread 0, who always waits, begins the next one.
  __device__ __forceinline__ void wait(Arrivals count, std::uint32_t step,
                                       std::size_t bytes) const {
    count.wait(step & 1);
    if (threadIdx.x == 0) count.expect(static_cast<std::uint32_t>(bytes));
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

// The warp's row of digits: its stages among numbers of the block, to the blocks of the tuples.
template <class S>
__device__ __forceinline__ void send_slice(const FourierSpreadUnit<S>& u, const SliceRoots<S>& w,
                                           Complex (&x)[S::kV]) {
  slice_forward<S>(x, w, u.lane);
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    const std::uint32_t l = S::kV * u.lane + S::low_bits(r);
    u.push(u.digits(u.warp) + S::place(S::index_of(l), u.rank), u.digits_come(), S::owner(l),
           u.words(x[r]));
  }
}

// The position of a block's number `point` of its tuples.
template <class S>
__device__ __forceinline__ std::uint32_t tuple_position(const FourierSpreadUnit<S>& u, int point) {
  const auto at = static_cast<std::uint32_t>(point);
  return S::tuple(u.rank, at / S::kBlocks) * S::kBlocks + at % S::kBlocks;
}
// Where number `position` of a key polynomial lies.
template <class S>
LATTICINO_HOST_DEVICE constexpr int key_number(std::uint32_t position) {
  const int j = static_cast<int>(position);
  return j % S::Key::kV * S::Key::kThreads + j / S::Key::kV;
}

// A thread's number of the tuples, for one component.
template <class S>
struct TuplePoint {
  int point, component;
  std::uint32_t position;
  TupleRoots<S> roots;

  __device__ __forceinline__ explicit TuplePoint(const FourierSpreadUnit<S>& u)
      : point((u.warp * 16 + static_cast<int>(u.lane % 16)) % S::kSlice),
        component(static_cast<int>(u.lane / 16)),
        position(tuple_position<S>(u, point)),
        roots(u.a.roots, position) {}

  // Where the block of its class finds its product, and which block that is.
  __device__ __forceinline__ std::uint32_t place(const FourierSpreadUnit<S>& u) const {
    const std::uint32_t l = S::tuple(u.rank, static_cast<std::uint32_t>(point / S::kBlocks));
    return l % S::kV * 32 + l / S::kV;
  }
  __device__ __forceinline__ std::uint32_t owner() const {
    return static_cast<std::uint32_t>(point % S::kBlocks);
  }
};

// Once the digits of this step have come: the last stages of all rows, their products with the
// key's numbers of the point, the first stages back.
template <class S>
__device__ __forceinline__ Complex tuple_products(const FourierSpreadUnit<S>& u,
                                                  const TuplePoint<S>& at,
                                                  const Complex (&key)[S::kRows]) {
  Complex x[S::kLevels], y[S::kLevels];
#pragma unroll
  for (int i = 0; i < S::kLevels; ++i) {
    const int place = S::place(at.point / S::kBlocks, at.point % S::kBlocks);
    x[i] = complex(u.digits(at.component * S::kLevels + i)[place]);
  }
  tuple_forward<S>(x, at.roots, u.lane);
#pragma unroll
  for (int i = 0; i < S::kLevels; ++i) y[i] = shuffled(x[i], 16);
  Complex sum{};
  const bool second = at.component != 0;
#pragma unroll
  for (int i = 0; i < S::kLevels; ++i) {
    fourier::multiply_add(sum, choose(second, y[i], x[i]), key[i]);
  }
#pragma unroll
  for (int i = 0; i < S::kLevels; ++i) {
    fourier::multiply_add(sum, choose(second, x[i], y[i]), key[S::kLevels + i]);
  }
  return tuple_inverse<S>(sum, at.roots);
}

// The stages back of the products that have come, added to what the warp has of a class.
template <class S>
__device__ __forceinline__ void add_slice(const FourierSpreadUnit<S>& u, const SliceRoots<S>& w,
                                          const typename S::Digits& form, int which, int component,
                                          typename S::Value (&values)[2 * S::kV]) {
  Complex x[S::kV];
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    x[r] = complex(u.products(which, component)[32 * S::low_bits(r) + u.lane]);
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
