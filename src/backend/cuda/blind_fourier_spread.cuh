// Blind rotation in FP64 of one ciphertext by the C blocks of a cluster, k = 1: for batches that do
// not fill the device. Block s holds the coefficients i = s modulo C. A step:
//   Slices: a warp for each row of digits. Digits of (X^-e - 1) acc and the stages among numbers of
//   the block; sent to the blocks of the tuples.
//   Points: tuples of all rows. The last stages, the products with the key, the first stages back;
//   sent to the blocks of the slices, and to those that turn them in the next step.
//   Sums: a warp for each component and class. The stages back, added to the accumulators.
// X^-e maps classes modulo C onto each other. So a block needs, beside its own class of the sums,
// the one that the next step turns onto it: it transforms and adds that as well, to what the class
// was a step before, which has had a step's time to come. A step waits for words twice and meets
// once.
//
// No buffer is needed twice: digits arrive after every block has sent its products of the step
// before, which it does after it has read its tuples; products arrive after every block has sent
// its digits, which it does after all its warps have met. Classes of the step before alternate
// between two places.
#pragma once

#include <cstdint>

#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/blind_fourier_spread_slice.cuh"
#include "backend/cuda/cluster.cuh"
#include "backend/cuda/copy_once.cuh"
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

// Digits of the warp's row, their stages among numbers of the block, to the blocks of the tuples.
template <class S>
__device__ __forceinline__ void send_slices(const FourierSpreadUnit<S>& u, const SliceRoots<S>& w,
                                            const typename S::Digits& form, std::uint32_t step,
                                            std::uint32_t e) {
  if (u.warp >= S::kRows) return;
  const int component = u.warp / S::kLevels, level = u.warp % S::kLevels;
  const auto *own = u.accumulator(step, 0, component), *turned = u.accumulator(step, 1, component);
  const std::uint32_t shift = (u.rank + e) >> S::kLogBlocks;  // of the class
  Complex x[S::kV];
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    const auto digit = [&](std::uint32_t i) {
      const auto from = S::Digits::turned(turned, i, shift, S::kLogSlice + 1);
      if constexpr (S::kPrimes == 2 && S::kLevels == 1) {
        return form.only(from, own[i]);
      } else {
        return form.digit(form.pack(from, own[i]), level);
      }
    };
    x[r] = {digit(32 * r + u.lane), digit(32 * r + u.lane + S::kSlice)};
  }
  slice_forward<S>(x, w, u.lane);
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    const std::uint32_t l = S::kV * u.lane + S::low_bits(r);
    u.push(u.digits(u.warp) + S::place(S::index_of(l), u.rank), u.digits_come(), S::owner(l),
           u.words(x[r]));
  }
}

// A thread's number of the tuples, for one component, and its numbers of the key, which come
// through a ring in shared memory: who copies them reads them.
template <class S>
struct FourierPoint {
  int point, component;
  TupleRoots<S> roots;
  double2* slots;       // [step of the ring][row][thread]
  const double2* next;  // row 0 of the step to copy
  std::uint32_t left;   // steps to copy
  int slot = 0;

  __device__ __forceinline__ FourierPoint(const FourierSpreadUnit<S>& u)
      : point((u.warp * 16 + static_cast<int>(u.lane % 16)) % S::kSlice),
        component(static_cast<int>(u.lane / 16)),
        roots(u.a.roots, position(u)),
        slots(u.keys() + threadIdx.x % S::kPoints),
        next(u.a.key),
        left(u.a.rotate.steps) {
    const int j = static_cast<int>(position(u));
    next += component * S::kM + j % S::Key::kV * S::Key::kThreads + j / S::Key::kV;
    if (u.warp >= S::kPointWarps) return;
#pragma unroll
    for (int i = 0; i < S::kKeySteps; ++i) copy(i);
  }
  __device__ __forceinline__ std::uint32_t position(const FourierSpreadUnit<S>& u) const {
    const auto at = static_cast<std::uint32_t>(point);
    return S::tuple(u.rank, at / S::kBlocks) * S::kBlocks + at % S::kBlocks;
  }
  __device__ __forceinline__ void copy(int to) {
    if (left != 0) {
#pragma unroll
      for (int row = 0; row < S::kRows; ++row) {
        copy_async_once(reinterpret_cast<uint4*>(slots + (to * S::kRows + row) * S::kPoints),
                        reinterpret_cast<const uint4*>(next + row * S::kParts * S::kM));
      }
      next += std::size_t{S::kRows} * S::kParts * S::kM;
      --left;
    }
    end_group();
  }
  // Of the next step.
  __device__ __forceinline__ void take_key(Complex (&key)[S::kRows]) {
    wait_for_groups<S::kKeySteps - 1>();
#pragma unroll
    for (int row = 0; row < S::kRows; ++row) {
      key[row] = complex(slots[(slot * S::kRows + row) * S::kPoints]);
    }
    copy(slot);
    slot = slot + 1 == S::kKeySteps ? 0 : slot + 1;
  }
};

// Tuples: the last stages, products, the first stages back, to the blocks of the classes; `e_next`
// is the exponent of the next step.
template <class S>
__device__ __forceinline__ void send_products(const FourierSpreadUnit<S>& u, FourierPoint<S>& at,
                                              std::uint32_t step, std::uint32_t e_next) {
  if (u.warp >= S::kPointWarps) return;
  Complex key[S::kRows];
  at.take_key(key);
  const int o = at.point / S::kBlocks, p = at.point % S::kBlocks;
  u.wait(u.digits_come(), step, S::kDigitBytes);
  Complex x[S::kLevels], y[S::kLevels];
#pragma unroll
  for (int i = 0; i < S::kLevels; ++i) {
    x[i] = complex(u.digits(at.component * S::kLevels + i)[S::place(o, p)]);
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
  const uint4 v = u.words(tuple_inverse<S>(sum, at.roots));
  const std::uint32_t l = S::tuple(u.rank, static_cast<std::uint32_t>(o));
  const std::uint32_t slot = l % S::kV * 32 + l / S::kV;
  const auto block = static_cast<std::uint32_t>(p);
  u.push(u.products(0, at.component) + slot, u.products_come(), block, v);
  u.push(u.products(1, at.component) + slot, u.products_come(), (block - e_next) % S::kBlocks, v);
}

// What a lane has of a class, as vectors of 16 bytes: the coefficients 32 r + lane, then those of
// the imaginary parts.
template <class S>
union ClassValues {
  uint4 vector[S::kVectors];
  typename S::Value value[2 * S::kV];
};

// The stages back of the own class and of the one that is turned in the next step; the sums. What
// the own class is now goes to where the step after the next one turns it, by `e_after`.
template <class S>
__device__ __forceinline__ void add_products(const FourierSpreadUnit<S>& u, const SliceRoots<S>& w,
                                             const typename S::Digits& form, std::uint32_t step,
                                             std::uint32_t e_after) {
  if (u.warp >= S::kSumWarps) return;
  const int which = u.warp / S::kParts, component = u.warp % S::kParts;
  const auto* acc = u.accumulator(step, which, component);
  ClassValues<S> values;
  if (which == 0) {
#pragma unroll
    for (int r = 0; r < 2 * S::kV; ++r) values.value[r] = acc[32 * r + u.lane];
  } else {
    if (step > 0) {
      u.before_comes(step).wait((step - 1) / 2 & 1);
      if (threadIdx.x == 32 * S::kParts) u.before_comes(step).expect(S::kBeforeBytes);
    }
#pragma unroll
    for (int i = 0; i < S::kVectors; ++i) {
      values.vector[i] = u.before(step, component)[32 * i + u.lane];
    }
  }
  u.wait(u.products_come(), step, S::kProductBytes);
  Complex x[S::kV];
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    x[r] = complex(u.products(which, component)[32 * S::low_bits(r) + u.lane]);
  }
  slice_inverse<S>(x, w, u.lane);
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    auto &re = values.value[r], &im = values.value[S::kV + r];
    re = form.sum(re, x[r].re);
    im = form.sum(im, x[r].im);
  }
  auto* sums = u.accumulator(step + 1, which, component);
#pragma unroll
  for (int r = 0; r < 2 * S::kV; ++r) sums[32 * r + u.lane] = values.value[r];
  if (which == 0 && step + 1 < u.a.rotate.steps) {
#pragma unroll
    for (int i = 0; i < S::kVectors; ++i) {
      u.push(u.before(step + 1, component) + 32 * i + u.lane, u.before_comes(step + 1),
             (u.rank - e_after) % S::kBlocks, values.vector[i]);
    }
  }
}

// Exponents and accumulators before the first step, and the counts. All threads.
template <class S, class Ciphertext>
__device__ __forceinline__ void begin_rotation(const FourierSpreadUnit<S>& u, const Ciphertext& c) {
  const std::uint32_t steps = u.a.rotate.steps;
  for (std::uint32_t i = threadIdx.x; i < steps + 2; i += blockDim.x) {
    u.exponents()[i] = i < steps ? c.exponents[i] : 0;
  }
  const auto start = [&](int component, std::uint32_t of_class, std::uint32_t i) {
    return c.start(u.a.rotate, component * S::kN + (i << S::kLogBlocks) + of_class % S::kBlocks);
  };
  const std::uint32_t next = u.rank + c.exponents[0],
                      after = u.rank + (steps > 1 ? c.exponents[1] : 0);
  for (int w = static_cast<int>(threadIdx.x); w < S::kParts * S::kClass; w += blockDim.x) {
    const int component = w / S::kClass, i = w % S::kClass;
    u.accumulator(0, 0, component)[i] = start(component, u.rank, i);
    u.accumulator(0, 1, component)[i] = start(component, next, i);
    // Value v of a lane is coefficient 32 v + lane.
    const int v = i / 32, lane = i % 32;
    auto* before = reinterpret_cast<typename S::Value*>(u.before(0, component));
    before[(v / S::kVectorValues * 32 + lane) * S::kVectorValues + v % S::kVectorValues] =
        start(component, after, i);
  }
  if (threadIdx.x == 0) {
    u.digits_come().begin(S::kDigitBytes);
    u.products_come().begin(S::kProductBytes);
    u.before_comes(0).begin(S::kBeforeBytes);
    u.before_comes(1).begin(S::kBeforeBytes);
  }
}

template <class S>
__global__ void __launch_bounds__(S::kThreads, 1)
    blind_fourier_spread(const __grid_constant__ FourierRotateArgs a) {
  const FourierSpreadUnit<S> u(a, reinterpret_cast<unsigned char*>(dynamic_shared()));
  const FourierCiphertext<S, S::kParts, S::kPrimes> c(a.rotate, blockIdx.x / S::kBlocks);
  begin_rotation(u, c);
  meet_cluster();
  __syncthreads();
  const SliceRoots<S> roots(a.roots, u.lane);
  const typename S::Digits form(a.rotate, a.rounding);
  FourierPoint<S> at(u);
  std::uint32_t e = u.exponents()[0], next = u.exponents()[1];
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.rotate.steps; ++step) {
    const std::uint32_t after = u.exponents()[step + 2];
    send_slices(u, roots, form, step, e);
    send_products(u, at, step, next);
    add_products(u, roots, form, step, after);
    __syncthreads();
    e = next, next = after;
  }
  for (int w = static_cast<int>(threadIdx.x); w < S::kParts * S::kClass; w += blockDim.x) {
    const int component = w / S::kClass, i = w % S::kClass;
    c.finish(a, component * S::kN + i * S::kBlocks + static_cast<int>(u.rank),
             u.accumulator(a.rotate.steps, 0, component)[i]);
  }
  meet_cluster();  // nobody leaves before all have what they were sent
}

}  // namespace latticino::cuda
