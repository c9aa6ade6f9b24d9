// Blind rotation in FP64 (math/fourier.h): T threads carry a ciphertext through all steps. They
// take the digits of one row after the other, transform them in registers, and add the products
// with the key row for all components. Then they transform the sums back. Shared memory holds only
// the accumulators of a ciphertext, and one polynomial for exchanges between threads.
#pragma once

#include <cstdint>

#include "backend/cuda/launch/dispatch.h"
#include "backend/cuda/rotate/fft/keys.cuh"
#include "backend/cuda/rotate/fft/words.cuh"

namespace latticino::cuda {

// Roots are in shared memory if the key leaves room for them, else in the L1.
template <class S, int PARTS, int PRIMES>
constexpr int kFourierRoots = PARTS == 2 || (PRIMES == 1 && S::kLogN < 12) ? S::kM / 2 : 0;
// All levels take their digits from rounded differences. With k = 1 shared memory keeps these
// differences. With k = 2 they are computed again for each level. Over two primes at N = 2^12 they
// are computed again too, because in shared memory they would leave no room for a second ciphertext
// per block. Even a single ciphertext is 6 % faster this way (H200, keys fetched to the L2).
template <class S, int PARTS, int PRIMES>
constexpr bool kFourierKeeps = PARTS == 2 && !(PRIMES == 2 && S::kLogN == 12);
template <class S, int PARTS, int PRIMES>
__host__ __device__ constexpr std::size_t fourier_ciphertext_bytes(int levels) {
  const int kept = kFourierKeeps<S, PARTS, PRIMES> && levels > 1 ? 1 : 0;
  return sizeof(double2) * S::kSlot +
         sizeof(typename FourierDigits<PRIMES>::Value) * (PARTS + kept) * S::kN;
}

// The threads of a ciphertext.
template <class S, int PARTS, int PRIMES>
struct FourierUnit {
  using Digits = FourierDigits<PRIMES>;
  using Word = typename Digits::Word;
  using Value = typename Digits::Value;
  static constexpr bool kPlaced = kFourierRoots<S, PARTS, PRIMES> != 0;
  int t, barrier;
  FourierRoots<kPlaced> roots;
  double2* slot;  // polynomial through which threads exchange numbers
  Value* acc;     // [component][N]
  uint4* kept;    // rounded differences of a component, those of a thread together

  // Unit `unit` of `bytes` of a block's shared memory, which begins with roots.
  __device__ __forceinline__ void place(double2* shared_roots, int unit, std::size_t bytes,
                                        const FourierRotateArgs& a) {
    constexpr int kRoots = kFourierRoots<S, PARTS, PRIMES>;
    t = threadIdx.x % S::kThreads;
    barrier = 1 + unit;
    roots = {kRoots != 0 ? shared_roots : a.roots, a.first};
    slot = shared_roots + kRoots + unit * (bytes / sizeof(double2));
    acc = reinterpret_cast<Value*>(slot + S::kSlot);
    kept = reinterpret_cast<uint4*>(acc + PARTS * S::kN);
  }

  // Computes digit `level` of all coefficients, from pack(i) of coefficient i. Digits of the levels
  // before were computed earlier.
  template <class Pack>
  __device__ __forceinline__ void digits(Complex (&numbers)[S::kV], const Digits& form,
                                         const Pack& pack, int level) const {
    constexpr int kWords = 16 / sizeof(Word), kVectors = 2 * S::kV / kWords;
    union {
      uint4 vector[kVectors];
      Word word[2 * S::kV];
    } packed;
    if (!kFourierKeeps<S, PARTS, PRIMES> || level == 0) {
#pragma unroll
      for (int r = 0; r < 2 * S::kV; ++r) {
        const int i = S::index(0, t, r / 2) + r % 2 * S::kM;
        packed.word[r] = pack(i);
      }
      if (kFourierKeeps<S, PARTS, PRIMES> && form.levels > 1) {
#pragma unroll
        for (int i = 0; i < kVectors; ++i) kept[i * S::kThreads + t] = packed.vector[i];
      }
    } else {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) packed.vector[i] = kept[i * S::kThreads + t];
    }
#pragma unroll
    for (int r = 0; r < S::kV; ++r) {
      numbers[r] = {form.digit(packed.word[2 * r], level),
                    form.digit(packed.word[2 * r + 1], level)};
    }
  }

  // Transforms the sums of a step back and adds them.
  __device__ __forceinline__ void add(const Digits& form, Complex (&sums)[PARTS][S::kV]) const {
#pragma unroll
    for (int c = 0; c < PARTS; ++c) {
      fourier_inverse<S>(sums[c], slot, roots, t, barrier);
      Value* to = acc + c * S::kN;
#pragma unroll
      for (int r = 0; r < S::kV; ++r) {
        const int i = S::index(0, t, r), j = i + S::kM;
        to[i] = form.sum(to[i], sums[c][r].re);
        to[j] = form.sum(to[j], sums[c][r].im);
      }
    }
    sync_unit<S>(barrier);
  }

  // The accumulators of a part, before its first step and after its last step. The part and the
  // ciphertext are computed again at the end, to keep registers free during the steps.
  using Ciphertext = FourierCiphertext<S, PARTS, PRIMES>;
  __device__ __forceinline__ void begin(const FourierRotateArgs& a, const RotationPart& part,
                                        const Ciphertext& c) const {
    if (part.first) {
      for (int i = t; i < PARTS * S::kN; i += S::kThreads) acc[i] = c.start(a.rotate, i);
    } else {
      wait_until_published(a.flag_of(part));
      for (int i = t; i < PARTS * S::kN; i += S::kThreads) acc[i] = c.partial_state()[i];
    }
    sync_unit<S>(barrier);
  }
  __device__ __forceinline__ void end(const FourierRotateArgs& a, const RotationPart& part,
                                      int unit) const {
    const Ciphertext c(a.rotate, a.ciphertext(part.group, unit));
    const bool last = part.to == a.rotate.steps;
    for (int i = t; i < PARTS * S::kN; i += S::kThreads) {
      if (last) {
        c.finish(a, i, acc[i]);
      } else {
        c.partial_state()[i] = acc[i];
      }
    }
    if (!last) publish(a.flag_of(part));
  }
};

// sums += x times the key row.
template <class S, int PARTS, int PRIMES, class Keys>
__device__ __forceinline__ void add_key_products(Complex (&sums)[PARTS][S::kV],
                                                 const Complex (&x)[S::kV], Keys& keys, int t) {
  using K = FourierKeyShape<S::kLogN, PARTS, PRIMES>;
  const int own = key_place<S, K>(t, 0);
  const double2* row = keys.take() + own;
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
#pragma unroll
    for (int c = 0; c < PARTS; ++c) {
      fourier::multiply_add(sums[c][r], x[r], Keys::load(row + c * S::kM + key_place<S, K>(0, r)));
    }
  }
  keys.leave();
}

template <class S, int PARTS, int PRIMES>
__device__ __forceinline__ void fourier_step(const FourierUnit<S, PARTS, PRIMES>& u,
                                             const FourierRotateArgs& a, std::uint32_t e,
                                             FourierKeyPath<S, PARTS, PRIMES>& keys) {
  const FourierDigits<PRIMES> form(a.rotate, a.rounding);
  Complex sums[PARTS][S::kV] = {};
  auto* acc = u.acc;
#pragma unroll 1
  for (int c = 0; c < PARTS; ++c, acc += S::kN) {
#pragma unroll 1
    for (int level = 0; level < form.levels; ++level) {
      Complex x[S::kV];
      const auto pack = [&](int i) {
        return form.pack(FourierDigits<PRIMES>::turned(acc, i, e, S::kLogN), acc[i]);
      };
      u.digits(x, form, pack, level);
      fourier_forward<S>(x, u.slot, u.roots, u.t, u.barrier);
      add_key_products<S, PARTS, PRIMES>(sums, x, keys, u.t);
    }
  }
  u.add(form, sums);
}

template <class S, int PARTS, int PRIMES>
__global__ void __launch_bounds__(kMaxFourierThreads<S, PARTS>)
    blind_rotate_fft(const __grid_constant__ FourierRotateArgs a) {
  using Unit = FourierUnit<S, PARTS, PRIMES>;
  using Keys = FourierKeyPath<S, PARTS, PRIMES>;
  const std::uint32_t number = a.number();
  auto* shared = reinterpret_cast<double2*>(dynamic_shared());
  double2* roots = shared + Keys::kNumbers;
  if constexpr (kFourierRoots<S, PARTS, PRIMES> != 0) place_roots<S>(roots, a.roots);
  const RotationPart part = a.parts.part(number);
  const int unit = threadIdx.x / S::kThreads, units = a.units(part);
  const int rows = a.rotate.rows();
  Keys keys(shared, a.key + std::size_t{part.from} * rows * Keys::kChunk, part.steps() * rows,
            units);
  if (unit >= units) return;
  Unit u;
  u.place(roots, unit, fourier_ciphertext_bytes<S, PARTS, PRIMES>(a.rotate.gadget.levels), a);

  const FourierCiphertext<S, PARTS, PRIMES> c(a.rotate, a.ciphertext(part.group, unit));
  u.begin(a, part, c);
  const std::uint32_t* exponents = c.exponents + part.from;
  std::uint32_t next = __ldg(exponents);
#pragma unroll 1
  for (std::uint32_t left = part.steps(); left != 0; --left) {
    const std::uint32_t e = next;
    next = __ldg(++exponents);  // after the exponents of the steps comes that of the start
    fourier_step(u, a, e, keys);
  }
  u.end(a, a.parts.part(number), unit);
}

// The parameters of launches of one shape.
struct FourierLimits {
  int threads = 0, most_threads = 0;  // threads per ciphertext, and the most per block
  // Bytes for what ciphertexts share, and for each ciphertext.
  std::size_t shared_bytes = 0, ciphertext_bytes = 0;
  int latency = 0;  // on an H200 a block of c takes about c + latency units of time
};
template <class S, int PARTS, int PRIMES, class Keys = FourierKeyPath<S, PARTS, PRIMES>>
constexpr FourierLimits fourier_limits(int levels) {
  return {S::kThreads, kMaxFourierThreads<S, PARTS>,
          sizeof(double2) * (kFourierRoots<S, PARTS, PRIMES> + Keys::kNumbers),
          fourier_ciphertext_bytes<S, PARTS, PRIMES>(levels), S::kV == 8 ? 4 : 8};
}

// k = 2 has its own file (rotate/fft/block_k2.cu), as have several key bits per step
// (rotate/fft/group.cu).
FourierLimits fourier_group_limits(int log_n, int parts, int primes, int levels);
void launch_blind_rotate_fft_group(Launcher& launcher, const FourierRotateArgs& args, int primes,
                                   const Shape& shape);
void launch_blind_rotate_fft_k2(Launcher& launcher, const FourierRotateArgs& args, int primes,
                                const Shape& shape);

}  // namespace latticino::cuda
