// Blind rotation in FP64 of one ciphertext by the C blocks of a cluster, three key bits per step,
// k = 1; blocks and classes as in rotate/fft/cluster.cuh. The step's key at a number is
//   sum_j (X^-E_j - 1) K_j
// and depends on exponents alone. So separate warps make it a step ahead (KeyMaker), from key
// numbers that they load one step earlier still. The rest of a step is:
//   Slices: a warp for each row. Its digit of acc, the stages among numbers of the block; sent to
//   the blocks of the tuples.
//   Points: tuples of all rows. The last stages, the products with the key, the first stages back;
//   sent to the blocks of the slices.
//   Sums: the warps of the slices. The stages back, added to the accumulators.
// Numbers of other classes are not needed, because the key turns the products. Each warp of a
// component computes the sums of that component and keeps them in registers, as all need digits.
//
// Data arrive in the same order as in rotate/fft/cluster.cuh, so each buffer is needed only once.
// The key and its selectors alternate between two places; a block's warps meet once per step.
#pragma once

#include <cstdint>

#include "backend/cuda/device/fetch.cuh"
#include "backend/cuda/rotate/fft/cluster_thread.cuh"
#include "math/fourier_selector.h"

namespace latticino::cuda {

template <int LOG_N, int LOG_BLOCKS, int PRIMES, int LEVELS>
struct FourierGroupShape : FourierClusterShape<LOG_N, LOG_BLOCKS, PRIMES, LEVELS> {
  using Base = FourierClusterShape<LOG_N, LOG_BLOCKS, PRIMES, LEVELS>;
  using Base::kDigits, Base::kDigitBytes, Base::kParts, Base::kPointWarps, Base::kRows,
      Base::kSlice, Base::kTuples;
  static constexpr int kGroup = 3, kKeyCount = (1 << kGroup) - 1;
  static constexpr int kFrontWarps = Base::most(kRows, kPointWarps);
  // Numbers of a key at one position, and of a thread: as many as 168 registers per thread allow.
  static constexpr int kNumbers = kRows * kParts, kEach = LOG_BLOCKS == 3 ? 4 : 2;
  static constexpr int kMakers = kSlice * kNumbers / kEach;
  static constexpr int kThreads = 32 * kFrontWarps + kMakers;
  static_assert(kMakers % 32 == 0 && kMakers % kSlice == 0 && kNumbers % kEach == 0);

  // Shared memory, in bytes: as for single bits up to the digits, products [product_place], keys
  // [even or odd step][row][component][point], selectors [even or odd step][key of the step]
  // [place of a maker], exponents.
  static constexpr std::size_t kProducts = kDigits + kDigitBytes;
  static constexpr std::size_t kProductBytes = sizeof(double2) * kParts * kSlice;
  static constexpr std::size_t kKeys = kProducts + kProductBytes;
  static constexpr std::size_t kSelectors = kKeys + sizeof(double2) * 2 * kNumbers * kSlice;
  static constexpr std::size_t kExponents = kSelectors + sizeof(double2) * 2 * kKeyCount * kSlice;
  LATTICINO_HOST_DEVICE static constexpr std::size_t bytes(std::uint32_t steps) {
    return kExponents + sizeof(std::uint32_t) * kGroup * steps;
  }
};

// The numbers of a step's key at place `point` in shared memory.
template <class S>
__device__ __forceinline__ double2* made_keys(const FourierClusterUnit<S>& u, std::uint32_t step,
                                              int number, int point) {
  return u.keys() + ((static_cast<int>(step % 2) * S::kNumbers) + number) * S::kSlice + point;
}
template <class S>
__device__ __forceinline__ double2* made_selectors(const FourierClusterUnit<S>& u,
                                                   std::uint32_t step, int j, int place) {
  return reinterpret_cast<double2*>(u.shared + S::kSelectors) +
         (static_cast<int>(step % 2) * S::kKeyCount + j) * S::kSlice + place;
}

// A thread that computes kEach numbers of each step's key at one position, and some of the
// selectors.
template <class S>
struct KeyMaker {
  int maker, place, point, first;  // place: of its selectors; first: the first of its numbers
  std::uint32_t root;              // exponent of X at the position
  double2 key[S::kEach][S::kKeyCount];
  const double2* next;  // the numbers of the next step to load
  std::uint32_t left;   // number of steps still to load

  __device__ __forceinline__ explicit KeyMaker(const FourierClusterUnit<S>& u)
      : maker(static_cast<int>(threadIdx.x) - 32 * S::kFrontWarps),
        place(maker % S::kSlice),
        point(place % S::kTuples * S::kBlocks + place / S::kTuples),
        first(maker / S::kSlice * S::kEach),
        left(u.a.rotate.steps) {
    const std::uint32_t position = tuple_position<S>(u, point);
    root = fourier::root_exponent(position, S::kLogN);
    next = u.a.key + first * S::kM + key_number<S>(position);
    load();
  }
  // Loads without a condition: with one, the thread would wait for the registers at once. After the
  // last step, its numbers are loaded again.
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int i = 0; i < S::kEach; ++i) {
#pragma unroll
      for (int j = 0; j < S::kKeyCount; ++j) {
        key[i][j] = fetch(next + (j * S::kNumbers + i) * S::kM);
      }
    }
    if (left > 1) next += S::kKeyCount * S::kNumbers * S::kM, --left;
  }
  // Computes the selectors of a step. The makers read them after a barrier of all makers.
  __device__ __forceinline__ void select(const FourierClusterUnit<S>& u, std::uint32_t step) const {
    if (step >= u.a.rotate.steps) return;
    const std::uint32_t* e = u.exponents() + S::kGroup * step;
    const double2* powers = u.a.roots + S::kM / 2;
    constexpr int kAtOnce = S::kMakers / S::kSlice;
#pragma unroll
    for (int i = 0; i < S::kKeyCount; i += kAtOnce) {
      const int j = i + maker / S::kSlice;
      if (j >= S::kKeyCount) continue;
      const std::uint32_t index =
          fourier::power_index(root, selected_exponent(e, j, S::kGroup), S::kLogN);
      *made_selectors(u, step, j, place) =
          vector(fourier::selector(complex(__ldg(powers + index))));
    }
  }
  // Computes the key of a step from the numbers that were loaded for it.
  __device__ __forceinline__ void combine(const FourierClusterUnit<S>& u,
                                          std::uint32_t step) const {
    Complex x[S::kKeyCount];
#pragma unroll
    for (int j = 0; j < S::kKeyCount; ++j) x[j] = complex(*made_selectors(u, step, j, place));
#pragma unroll
    for (int i = 0; i < S::kEach; ++i) {
      Complex sum{};
#pragma unroll
      for (int j = 0; j < S::kKeyCount; ++j) fourier::multiply_add(sum, x[j], complex(key[i][j]));
      *made_keys(u, step, first + i, point) = vector(sum);
    }
  }
};

// Each warp computes one row: one digit of one component of the accumulator. `acc` has the warp's
// values of that component. This takes the digit of each value, and sends the results to the blocks
// that need them.
template <class S>
__device__ __forceinline__ void send_slices(const FourierClusterUnit<S>& u, const SliceSender<S>& w,
                                            const typename S::Digits& form,
                                            const typename S::Value (&acc)[2 * S::kV]) {
  const int level = u.warp % S::kLevels;
  Complex x[S::kV];
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    const auto digit = [&](typename S::Value v) {
      if constexpr (S::kPrimes == 2 && S::kLevels == 1) {
        return form.only(v, 0);
      } else {
        return form.digit(form.pack(v, 0), level);
      }
    };
    x[r] = {digit(acc[r]), digit(acc[S::kV + r])};
  }
  send_slice(u, w, x);
}

template <class S>
__device__ __forceinline__ void send_products(const FourierClusterUnit<S>& u,
                                              const TuplePoint<S>& at, std::uint32_t step) {
  Complex key[S::kRows], rows[S::kRows];
#pragma unroll
  for (int row = 0; row < S::kRows; ++row) {
    key[row] = complex(*made_keys(u, step, row * S::kParts + at.component, at.point));
  }
  u.wait(u.digit_arrivals(), step, S::kDigitBytes);
  tuple_rows<S>(u, at, rows);
  if (u.warp >= S::kPointWarps) return;
  u.push(u.products(0) + at.place(u), u.product_arrivals(), at.to,
         u.words(tuple_products<S>(u, at, rows, key)));
}

// Runs the steps of a thread that holds the ciphertext.
template <class S, class Ciphertext>
__device__ __forceinline__ void carry(const FourierClusterUnit<S>& u, const Ciphertext& c) {
  const SliceSender<S> sender(u);
  const typename S::Digits form(u.a.rotate, u.a.rounding);
  const TuplePoint<S> at(u);
  const bool slices = u.warp < S::kRows, points = u.warp < S::kTupleWarps;
  const int component = u.warp / S::kLevels;
  const auto coefficient = [&](int v) {  // coefficient of value v
    return component * S::kN + (32 * v + static_cast<int>(u.lane)) * S::kBlocks +
           static_cast<int>(u.rank);
  };
  typename S::Value acc[2 * S::kV] = {};
#pragma unroll
  for (int v = 0; v < 2 * S::kV; ++v) {
    if (slices) acc[v] = c.start(u.a.rotate, coefficient(v));
  }
#pragma unroll 1
  for (std::uint32_t step = 0; step < u.a.rotate.steps; ++step) {
    if (slices) send_slices<S>(u, sender, form, acc);
    if (points) send_products<S>(u, at, step);
    sync_others(u, 32 * S::kFrontWarps);
    if (slices) {
      u.wait(u.product_arrivals(), step, S::kProductBytes);
      add_slice<S>(u, sender.roots, form, 0, component, acc);
    }
    __syncthreads();
  }
  if (slices && u.warp % S::kLevels == 0) {
#pragma unroll
    for (int v = 0; v < 2 * S::kV; ++v) c.finish(u.a, coefficient(v), acc[v]);
  }
}

template <class S>
__global__ void __launch_bounds__(S::kThreads, 1)
    blind_rotate_fft_group_cluster(const __grid_constant__ FourierRotateArgs a) {
  const FourierClusterUnit<S> u(a, reinterpret_cast<unsigned char*>(dynamic_shared()));
  const FourierCiphertext<S, S::kParts, S::kPrimes> c(a.rotate, blockIdx.x / S::kBlocks);
  const std::uint32_t steps = a.rotate.steps;
  for (std::uint32_t i = threadIdx.x; i < S::kGroup * steps; i += blockDim.x) {
    u.exponents()[i] = c.exponents[i];
  }
  if (u.first) {
    u.digit_arrivals().prepare();
    u.product_arrivals().prepare();
  }
  sync_cluster();
  if (u.first) {
    u.digit_arrivals().expect(S::kDigitBytes);
    u.product_arrivals().expect(S::kProductBytes);
  }
  if (u.warp >= S::kFrontWarps) {
    __syncthreads();  // the exponents have arrived
    KeyMaker<S> maker(u);
    maker.select(u, 0);
    __syncthreads();
    maker.combine(u, 0);
    maker.load();
    maker.select(u, 1);
    __syncthreads();
#pragma unroll 1
    for (std::uint32_t step = 0; step < steps; ++step) {
      if (step + 1 < steps) maker.combine(u, step + 1);
      maker.load();
      maker.select(u, step + 2);
      sync_threads(kMakerBarrier, S::kMakers);
      __syncthreads();
    }
  } else {
    __syncthreads();
    __syncthreads();
    __syncthreads();
    carry<S>(u, c);
  }
  sync_cluster();  // a block stays until all blocks have received what was sent to them
}

}  // namespace latticino::cuda
