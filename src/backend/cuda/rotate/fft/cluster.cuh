// Blind rotation in FP64 of one ciphertext by the C blocks of a cluster, k = 1: for batches that do
// not fill the device. Block s holds the coefficients i = s modulo C. A step:
//   Slices: a warp for each row of digits. Digits of (X^-e - 1) acc and the stages among numbers of
//   the block; sent to the blocks of the tuples.
//   Points: tuples of all rows. The last stages, the products with the key, the first stages back;
//   sent to the blocks of the slices, and to those that turn them in the next step.
//   Sums: a warp for each component and class. The stages back, added to the accumulators.
// X^-e maps classes modulo C onto each other. So a block needs, beside its own class of the sums,
// the class that the next step turns onto it. It computes that class as well: it transforms the
// products of it, and adds them to the values that the class had a step before. Those were sent a
// step ago, so no block waits for them. A step waits for words of other blocks twice. What a block
// sends to another one is at least 64 bytes side by side, because a piece of that size costs no
// more than a single number (FourierClusterShape).
//
// Each buffer is needed only once, not twice. Digits arrive after every block has sent its products
// of the step before. A block does that after its points have met, and so after they have read the
// tuples. Products arrive after every block has sent its digits, which it does after all its warps
// have met. Only the values of classes from the step before alternate between two places.
#pragma once

#include <cstdint>

#include "backend/cuda/device/async_copy.cuh"
#include "backend/cuda/device/evict_first.cuh"
#include "backend/cuda/rotate/fft/cluster_thread.cuh"

namespace latticino::cuda {

// Computes the digits of the warp's row of (X^-e - 1) acc.
template <class S>
__device__ __forceinline__ void send_slices(const FourierClusterUnit<S>& u, const SliceSender<S>& w,
                                            const typename S::Digits& form, std::uint32_t step) {
  if (u.warp >= S::kRows) return;
  const int component = u.warp / S::kLevels, level = u.warp % S::kLevels;
  const auto *own = u.accumulator(step, 0, component), *turned = u.accumulator(step, 1, component);
  Complex x[S::kV];
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    const auto digit = [&](std::uint32_t i) {
      if constexpr (S::kPrimes == 2 && S::kLevels == 1) {
        return form.only(turned[i], own[i]);
      } else {
        return form.digit(form.pack(turned[i], own[i]), level);
      }
    };
    x[r] = {digit(32 * r + u.lane), digit(32 * r + u.lane + S::kSlice)};
  }
  send_slice(u, w, x);
}

// The COUNT numbers of each step's key that a thread needs. They come through a ring buffer in
// shared memory. Each thread copies what it reads itself. Its numbers have a distance of APART in
// the ring, and of KEY_APART in the key.
template <class S, int COUNT, int APART, int KEY_APART>
struct KeyRing {
  static constexpr int kStep = COUNT * APART;
  double2 *slots, *slot;  // [step of the ring][number][thread]
  const double2* next;    // number 0 of the next step to copy
  std::uint32_t left;     // number of steps still to copy

  __device__ __forceinline__ KeyRing(double2* shared, const double2* key, std::uint32_t steps)
      // Keeps ptxas from holding a part of the copies' address in a uniform register
      // (device/async_copy.cuh).
      : slots(held(shared)), slot(slots), next(key), left(steps) {}
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int i = 0; i < S::kKeySteps; ++i) copy(slots + i * kStep);
  }
  __device__ __forceinline__ void copy(double2* to) {
    if (left != 0) {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
        copy_async_once(reinterpret_cast<uint4*>(to + i * APART),
                        reinterpret_cast<const uint4*>(next + i * KEY_APART));
      }
      next += std::size_t{COUNT} * KEY_APART;
      --left;
    }
    end_group();
  }
  // Loads the numbers of the next step.
  __device__ __forceinline__ void take(Complex (&key)[COUNT]) {
    wait_for_groups<S::kKeySteps - 1>();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) key[i] = complex(slot[i * APART]);
    copy(slot);
    slot = slot == slots + (S::kKeySteps - 1) * kStep ? slots : slot + kStep;
  }
};

// A point and its numbers of the key, one of each row.
template <class S>
struct FourierPoint : TuplePoint<S> {
  KeyRing<S, S::kRows, S::kPoints, S::kParts * S::kM> key;

  __device__ __forceinline__ FourierPoint(const FourierClusterUnit<S>& u)
      : TuplePoint<S>(u),
        key(u.keys() + (32 * static_cast<std::uint32_t>(u.warp) + u.lane) % S::kPoints,
            u.a.key + (this->component * S::kM + key_number<S>(this->position)), u.a.rotate.steps) {
    if (u.warp < S::kPointWarps) key.begin();
  }
};

// Tuples: the last stages, the products, and the first stages back, which are sent to the blocks of
// the classes. `e_next` is the exponent of the next step.
template <class S>
__device__ __forceinline__ void send_products(const FourierClusterUnit<S>& u, FourierPoint<S>& at,
                                              std::uint32_t step, std::uint32_t e_next) {
  static_assert(!S::kSplits, "warps without points have nothing to do here");
  if (u.warp >= S::kPointWarps) return;
  Complex key[S::kRows], rows[S::kRows];
  at.key.take(key);
  u.wait(u.digit_arrivals(), step, S::kDigitBytes);
  tuple_rows<S>(u, at, rows);
  const uint4 v = u.words(tuple_products<S>(u, at, rows, key));
  const std::uint32_t place = at.place(u), block = at.to;
  u.push(u.products(0) + place, u.product_arrivals(), block, v);
  u.push(u.products(1) + place, u.product_arrivals(), (block - e_next) % S::kBlocks, v);
}

// What a lane has of a class, as vectors of 16 bytes: the coefficients 32 r + lane, then those of
// the imaginary parts.
template <class S>
union ClassValues {
  uint4 vector[S::kVectors];
  typename S::Value value[2 * S::kV];
};

// The warps of the sums. The class that the next step turns has warps of its own, which take digits
// of it as well. Meanwhile the other warps send their block's own class to other blocks.
template <class S>
struct SumWarp {
  int which, component;  // 0: the own class

  __device__ __forceinline__ explicit SumWarp(const FourierClusterUnit<S>& u)
      : which(1 - u.warp / S::kParts), component(u.warp % S::kParts) {}
};

// Where coefficients of a class lie for digits, X^-e of the step applied to another block's class.
template <class S>
struct ClassPlaces {
  std::uint32_t shift;

  __device__ __forceinline__ ClassPlaces(const FourierClusterUnit<S>& u, int which, std::uint32_t e)
      : shift(which == 0 ? 0 : (u.rank + e) >> S::kLogBlocks) {}
  __device__ __forceinline__ void put(typename S::Value* to, std::uint32_t i,
                                      typename S::Value x) const {
    const std::uint32_t at = i - shift;
    to[S::coefficient(at % S::kClass)] = S::Digits::negated(x, at >> (S::kLogSlice + 1) & 1);
  }
};

// Transforms the products of the own class back, and those of the class that the next step turns by
// `e_next`. Then adds them to the sums.
template <class S>
__device__ __forceinline__ void add_products(const FourierClusterUnit<S>& u, const SliceRoots<S>& w,
                                             const typename S::Digits& form, std::uint32_t step,
                                             std::uint32_t e_next, ClassValues<S>& values) {
  if (u.warp >= S::kSumWarps) return;
  const SumWarp<S> at(u);
  const auto* acc = u.accumulator(step, at.which, at.component);
  if (at.which == 0) {
#pragma unroll
    for (int r = 0; r < 2 * S::kV; ++r) values.value[r] = acc[32 * r + u.lane];
  } else {
    if (step > 0) {
      u.previous_arrivals(step).wait((step - 1) / 2 & 1);
      if (u.first) u.previous_arrivals(step).expect(S::kBeforeBytes);
    }
#pragma unroll
    for (int i = 0; i < S::kVectors; ++i) {
      values.vector[i] = u.before(step, at.component)[32 * i + u.lane];
    }
  }
  const ClassPlaces<S> places(u, at.which, e_next);
  auto* sums = u.accumulator(step + 1, at.which, at.component);
  u.wait(u.product_arrivals(), step, S::kProductBytes);
  add_slice(u, w, form, at.which, at.component, values.value);
#pragma unroll
  for (int r = 0; r < 2 * S::kV; ++r) places.put(sums, 32 * r + u.lane, values.value[r]);
}

// Sends the present values of the own class to the block where the step after the next one turns
// it, by `e_after`.
template <class S>
__device__ __forceinline__ void send_class(const FourierClusterUnit<S>& u, std::uint32_t step,
                                           std::uint32_t e_after, const ClassValues<S>& values) {
  const SumWarp<S> at(u);
  if (u.warp >= S::kSumWarps || at.which != 0 || step + 1 >= u.a.rotate.steps) return;
#pragma unroll
  for (int i = 0; i < S::kVectors; ++i) {
    u.push(u.before(step + 1, at.component) + 32 * i + u.lane, u.previous_arrivals(step + 1),
           (u.rank - e_after) % S::kBlocks, values.vector[i]);
  }
}

// Exponents and accumulators before the first step, and the counts of arrivals. Counting begins at
// once, because no block sends before all blocks of the cluster have met. All threads must call it.
template <class S, class Ciphertext>
__device__ __forceinline__ void begin_rotation(const FourierClusterUnit<S>& u,
                                               const Ciphertext& c) {
  const std::uint32_t steps = u.a.rotate.steps;
  for (std::uint32_t i = threadIdx.x; i < steps + 2; i += blockDim.x) {
    u.exponents()[i] = i < steps ? c.exponents[i] : 0;
  }
  const auto start = [&](int component, std::uint32_t of_class, std::uint32_t i) {
    return c.start(u.a.rotate, component * S::kN + (i << S::kLogBlocks) + of_class % S::kBlocks);
  };
  const std::uint32_t next = u.rank + c.exponents[0],
                      after = u.rank + (steps > 1 ? c.exponents[1] : 0);
  const ClassPlaces<S> turned(u, 1, c.exponents[0]);
  for (int w = static_cast<int>(threadIdx.x); w < S::kParts * S::kClass; w += blockDim.x) {
    const int component = w / S::kClass, i = w % S::kClass;
    u.accumulator(0, 0, component)[S::coefficient(i)] = start(component, u.rank, i);
    turned.put(u.accumulator(0, 1, component), i, start(component, next, i));
    auto* before = reinterpret_cast<typename S::Value*>(u.before(0, component));
    before[S::before_place(i)] = start(component, after, i);
  }
  if (threadIdx.x == 0) {
    u.digit_arrivals().begin(S::kDigitBytes);
    u.product_arrivals().begin(S::kProductBytes);
    u.previous_arrivals(0).begin(S::kBeforeBytes);
    u.previous_arrivals(1).begin(S::kBeforeBytes);
  }
}

// The accumulators after the last step. All threads must call it.
template <class S, class Ciphertext>
__device__ __forceinline__ void end_rotation(const FourierClusterUnit<S>& u, const Ciphertext& c) {
  for (int w = static_cast<int>(threadIdx.x); w < S::kParts * S::kClass; w += blockDim.x) {
    const int component = w / S::kClass, i = w % S::kClass;
    c.finish(u.a, component * S::kN + i * S::kBlocks + static_cast<int>(u.rank),
             u.accumulator(u.a.rotate.steps, 0, component)[S::coefficient(i)]);
  }
  sync_cluster();  // a block stays until all blocks have received what was sent to them
}

// For batches in which several blocks share a multiprocessor, a thread has 168 registers.
template <class S>
__global__ void __launch_bounds__(S::kThreads, S::kLogBlocks == 3 ? 65536 / 168 / S::kThreads : 1)
    blind_rotate_fft_cluster(const __grid_constant__ FourierRotateArgs a) {
  const FourierClusterUnit<S> u(a, reinterpret_cast<unsigned char*>(dynamic_shared()));
  const FourierCiphertext<S, S::kParts, S::kPrimes> c(a.rotate, blockIdx.x / S::kBlocks);
  begin_rotation(u, c);
  sync_cluster();
  __syncthreads();
  const SliceSender<S> sender(u);
  const typename S::Digits form(a.rotate, a.rounding);
  FourierPoint<S> at(u);
  std::uint32_t next = u.exponents()[1];
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.rotate.steps; ++step) {
    const std::uint32_t after = u.exponents()[step + 2];
    send_slices(u, sender, form, step);
    send_products(u, at, step, next);
    sync_others(u, S::kThreads);
    ClassValues<S> values;
    add_products(u, sender.roots, form, step, next, values);
    __syncthreads();
    send_class(u, step, after, values);
    next = after;
  }
  end_rotation(u, c);
}

}  // namespace latticino::cuda
