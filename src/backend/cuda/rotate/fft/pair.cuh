// Blind rotation in FP64 for k = 1 and one digit. A warp carries a component of a ciphertext, with
// 32 numbers per thread. It transforms its own digits with one exchange through shared memory,
// first of real parts and then of imaginary parts. The two warps of a ciphertext exchange the
// results through shared memory, in two halves. Each computes its component of the product and
// transforms it back, in the registers of its digits. So the two warps meet four times per step,
// and accumulators stay in registers from one step to the digits of the next.
#pragma once

#include "backend/cuda/device/uniform.cuh"
#include "backend/cuda/rotate/fft/block.cuh"

namespace latticino::cuda {

constexpr int kMaxPairThreads = 256;  // limited by registers

template <class S, int PRIMES>
struct FourierPair {
  using Digits = FourierDigits<PRIMES>;
  using Value = typename Digits::Value;
  static constexpr int kAhead = 6;  // key numbers that are being loaded
  // The key of the next step is fetched to the L2 by lines. It comes from the memory of the device,
  // and otherwise all threads would wait for the first one that needs it. A full block fetches all
  // of it, because blocks are at different steps.
  static constexpr int kLine = 128 / sizeof(double2), kFetched = kMaxPairThreads;
  static constexpr int kUnits = kMaxPairThreads / (2 * S::kThreads);
  static constexpr int kHalf = S::kV / 2, kShown = kHalf * S::kThreads;
  static constexpr int kSlotDoubles = S::kSlot > 2 * kShown ? S::kSlot : 2 * kShown;
  static constexpr std::size_t kWarpBytes = sizeof(double) * kSlotDoubles + sizeof(Value) * S::kN;
  static_assert(S::kThreads == 32 && S::kPhases == 2 && kWarpBytes % sizeof(double2) == 0);

  int t, component, barrier;
  FourierRoots<true> roots;
  double* slot;          // exchange memory of this warp
  const double2* shown;  // exchange memory of the other warp
  Value* acc;            // accumulator of this component, centred

  __device__ __forceinline__ void sync_pair() const { sync_threads(barrier, 2 * S::kThreads); }

  // Moves the numbers from the order of phase FROM to that of phase TO.
  template <int FROM, int TO>
  __device__ __forceinline__ void exchange(Complex (&x)[S::kV]) const {
    double* from = slot + S::place(S::index(FROM, t, 0));
    const double* to = slot + S::place(S::index(TO, t, 0));
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      __syncwarp();
#pragma unroll
      for (int r = 0; r < S::kV; ++r) {
        from[S::place(S::index(FROM, 0, r))] = part == 0 ? x[r].re : x[r].im;
      }
      __syncwarp();
#pragma unroll
      for (int r = 0; r < S::kV; ++r) {
        (part == 0 ? x[r].re : x[r].im) = to[S::place(S::index(TO, 0, r))];
      }
    }
  }

  __device__ __forceinline__ void digits(Complex (&x)[S::kV], const Value (&own)[2 * S::kV],
                                         const Digits& form, std::uint32_t e) const {
#pragma unroll
    for (int r = 0; r < S::kV; ++r) {
      const int i = S::index(0, t, r);
      x[r].re = form.only(Digits::turned(acc, i, e, S::kLogN), own[2 * r]);
      x[r].im = form.only(Digits::turned(acc, i + S::kM, e, S::kLogN), own[2 * r + 1]);
    }
  }

  // Numbers FIRST .. FIRST + kHalf - 1 become the sums of the rows' products with the component's
  // key polynomials, row 0 first. Rows lie 2 M apart. `ahead` are the key's next kAhead numbers.
  template <int COMPONENT, int FIRST>
  __device__ __forceinline__ void multiply(Complex (&x)[S::kV], double2 (&ahead)[kAhead][2],
                                           const double2* key) const {
#pragma unroll
    for (int r = 0; r < kHalf; ++r) {
      Complex& own = x[FIRST + r];
      const Complex other = complex(shown[r * S::kThreads + t]);
      double2(&k)[2] = ahead[(FIRST + r) % kAhead];
      Complex sum{};
      fourier::multiply_add(sum, COMPONENT == 0 ? own : other, complex(k[0]));
      fourier::multiply_add(sum, COMPONENT == 0 ? other : own, complex(k[1]));
      own = sum;
      if (FIRST + r + kAhead < S::kV) take_key(k, key, FIRST + r + kAhead);
    }
  }
  __device__ __forceinline__ void take_key(double2 (&k)[2], const double2* key, int r) const {
    k[0] = fetch(key + r * S::kThreads + t);
    k[1] = fetch(key + 2 * S::kM + r * S::kThreads + t);
  }
  template <int FIRST>
  __device__ __forceinline__ void products(Complex (&x)[S::kV], double2 (&ahead)[kAhead][2],
                                           const double2* key) const {
    auto* show = reinterpret_cast<double2*>(slot) + t;
    __syncwarp();
#pragma unroll
    for (int r = 0; r < kHalf; ++r) show[r * S::kThreads] = vector(x[FIRST + r]);
    if constexpr (FIRST == 0) {
#pragma unroll
      for (int r = 0; r < kAhead; ++r) take_key(ahead[r], key, r);
    }
    sync_pair();
    if (component == 0) {
      multiply<0, FIRST>(x, ahead, key);
    } else {
      multiply<1, FIRST>(x, ahead, key);
    }
    sync_pair();
  }

  __device__ __forceinline__ void step(Value (&own)[2 * S::kV], const Digits& form, std::uint32_t e,
                                       const double2* key) const {
    Complex x[S::kV];
    digits(x, own, form, e);
    forward_phase<S, 0>(x, roots, t);
    exchange<0, 1>(x);
    forward_phase<S, 1>(x, roots, t);
    double2 ahead[kAhead][2];
    products<0>(x, ahead, key);
    products<kHalf>(x, ahead, key);
    inverse_phase<S, 1>(x, roots, t);
    exchange<1, 0>(x);
    inverse_phase<S, 0>(x, roots, t);
#pragma unroll
    for (int r = 0; r < S::kV; ++r) {
      const int i = S::index(0, t, r);
      own[2 * r] = form.sum(acc[i], x[r].re);
      own[2 * r + 1] = form.sum(acc[i + S::kM], x[r].im);
      acc[i] = own[2 * r], acc[i + S::kM] = own[2 * r + 1];
    }
    __syncwarp();
  }

  // Calls f(coefficient of the ciphertext, index in the thread, index in the warp) for the thread's
  // accumulators.
  template <class F>
  __device__ __forceinline__ void each(Value (&own)[2 * S::kV], const F& f) const {
#pragma unroll
    for (int r = 0; r < 2 * S::kV; ++r) {
      const int i = S::index(0, t, r / 2) + r % 2 * S::kM;
      f(component * S::kN + i, own[r], acc[i]);
    }
  }

  // The accumulators before a part's first step and after its last one, as in rotate/fft/block.cuh.
  using Ciphertext = FourierCiphertext<S, 2, PRIMES>;
  __device__ __forceinline__ void begin(Value (&own)[2 * S::kV], const FourierRotateArgs& a,
                                        const RotationPart& part, const Ciphertext& c) const {
    if (part.first) {
      each(own, [&](int i, Value& x, Value&) { x = c.start(a.rotate, i); });
    } else {
      wait_until_published(a.flag_of(part));
      each(own, [&](int i, Value& x, Value&) { x = c.partial_state()[i]; });
    }
    each(own, [&](int, Value& x, Value& shared) { shared = x; });
    __syncwarp();
  }

  __device__ __forceinline__ void end(Value (&own)[2 * S::kV], const FourierRotateArgs& a,
                                      const RotationPart& part, int unit) const {
    const Ciphertext c(a.rotate, a.ciphertext(part.group, unit));
    if (part.to == a.rotate.steps) {
      each(own, [&](int i, Value& x, Value&) { c.finish(a, i, x); });
    } else {
      each(own, [&](int i, Value& x, Value&) { c.partial_state()[i] = x; });
      publish(a.flag_of(part));
    }
  }
};

template <class S, int PRIMES>
__global__ void __launch_bounds__(kMaxPairThreads)
    blind_rotate_fft_pair(const __grid_constant__ FourierRotateArgs a) {
  using Pair = FourierPair<S, PRIMES>;
  // Devices begin blocks in the order of their indices. a.number() would not rely on that, but
  // costs 1.6 % here, because of the code that ptxas makes of a step (docs/lab/tfhe.md).
  const std::uint32_t number = blockIdx.x;
  auto* roots = reinterpret_cast<double2*>(dynamic_shared());
  place_roots<S>(roots, a.roots);
  const RotationPart part = a.parts.part(number);
  const int warp = threadIdx.x / 32, unit = warp / 2;
  const std::uint32_t index = a.ciphertext(part.group, unit);
  if (index >= a.rotate.total) return;
  constexpr std::size_t kWarp = Pair::kWarpBytes / sizeof(double2);
  double2* first = roots + S::kM / 2 + unit * 2 * kWarp;
  Pair p;
  p.t = threadIdx.x % 32;
  p.component = warp % 2;
  p.barrier = 1 + unit;
  p.roots = {roots, a.first};
  p.slot = reinterpret_cast<double*>(first + p.component * kWarp);
  p.shown = first + (1 - p.component) * kWarp;
  p.acc = reinterpret_cast<typename Pair::Value*>(p.slot + Pair::kSlotDoubles);

  const FourierCiphertext<S, 2, PRIMES> c(a.rotate, index);
  typename Pair::Value own[2 * S::kV];
  p.begin(own, a, part, c);
  const FourierDigits<PRIMES> form(a.rotate, a.rounding);
  constexpr int kStep = 4 * S::kM;  // key numbers
  const double2* key = a.key + std::size_t{part.from} * kStep + p.component * S::kM;
  // Blocks that run side by side need the same key of the next step in the L2 cache. Each unit
  // fetches another part of it ahead of time.
  const std::uint32_t place = (number * a.rotate.per_block + unit) % Pair::kUnits;
  const double2* far = a.key + (std::size_t{part.from} + 1) * kStep +
                       (place * 2 * S::kThreads + threadIdx.x % (2 * S::kThreads)) * Pair::kLine;
  const std::uint32_t* exponents = c.exponents + part.from;
  std::uint32_t e = __ldg(exponents);
#pragma unroll 1
  for (std::uint32_t left = uniform(part.steps()); left != 0; --left, key += kStep) {
    const std::uint32_t now = e;
    // After the last step this loads the exponent of the start, which is not used.
    e = __ldg(++exponents);
    if (left != 1) {
#pragma unroll
      for (int i = 0; i < kStep; i += Pair::kFetched * Pair::kLine) fetch_to_l2(far + i);
      far += kStep;
    }
    p.step(own, form, now, key);
  }
  p.end(own, a, a.parts.part(number), unit);
}

template <class S, int PRIMES>
constexpr FourierLimits kFourierPairLimits{2 * S::kThreads, kMaxPairThreads,
                                           sizeof(double2) * S::kM / 2,
                                           2 * FourierPair<S, PRIMES>::kWarpBytes, 6};

}  // namespace latticino::cuda
