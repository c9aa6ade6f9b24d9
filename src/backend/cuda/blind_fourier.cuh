// Blind rotation in FP64 (math/fourier.h): T threads carry a ciphertext through all steps. They
// take the digits of one row after the other, transform them in registers and add the products with
// the key row up there, for all components; then transform these back. Of a ciphertext only the
// accumulators and one polynomial that changes hands are in shared memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/dispatch.h"
#include "backend/cuda/fourier_words.cuh"

namespace latticino::cuda {

// Registers limit the threads of a block.
template <int PARTS>
constexpr int kMostFourierThreads = PARTS == 2 ? 256 : 384;

// Roots are in shared memory where the key leaves them room, else in the L1.
template <class S, int PARTS, int PRIMES>
constexpr int kFourierRoots = PARTS == 2 || (PRIMES == 1 && S::kLogN < 12) ? S::kM / 2 : 0;
// Rounded differences, from which all levels take their digits, wait in shared memory where k = 1;
// with k = 2 they are made again for each level.
template <class S, int PARTS, int PRIMES>
__host__ __device__ constexpr std::size_t fourier_ciphertext_bytes(int levels) {
  const int kept = PARTS == 2 && levels > 1 ? 1 : 0;
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
  double2* slot;  // of the polynomial that changes hands
  Value* acc;     // [component][N]
  uint4* kept;    // rounded differences of a component, those of a thread together

  // All digits `level` of (X^-e - 1) x, after those of the levels before.
  __device__ __forceinline__ void digits(Complex (&numbers)[S::kV], const Digits& form,
                                         const Value* x, std::uint32_t e, int level) const {
    constexpr int kWords = 16 / sizeof(Word), kVectors = 2 * S::kV / kWords;
    union {
      uint4 vector[kVectors];
      Word word[2 * S::kV];
    } packed;
    if (PARTS == 3 || level == 0) {
#pragma unroll
      for (int r = 0; r < 2 * S::kV; ++r) {
        const int i = S::index(0, t, r / 2) + r % 2 * S::kM;
        packed.word[r] = form.pack(Digits::turned(x, i, e, S::kLogN), x[i]);
      }
      if (PARTS == 2 && form.levels > 1) {
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
};

// Key rows straight through the L1, which the ciphertexts of a block share: they read the same ones
// at about the same time. Who takes a row up has a part of the next one fetched there: the first
// warp to wait for the L2 would hold up all others, who soon stand behind it.
template <class S, int PARTS>
struct KeyStream {
  static constexpr int kParts = PARTS;  // components of a chunk
  static constexpr std::size_t kNumbers = 0;
  static constexpr int kRow = PARTS * S::kM, kSector = 2;                       // numbers
  static constexpr int kFetched = kRow / kSector / kMostFourierThreads<PARTS>;  // of a thread

  const double2* next;
  std::uint32_t left;  // rows

  __device__ __forceinline__ KeyStream(double2*, const double2* key, std::size_t numbers)
      : next(key), left(numbers / kRow) {}
  __device__ __forceinline__ const double2* take() {
    const double2* row = next;
    next += kRow;
    if (--left != 0) {
#pragma unroll
      for (int i = 0; i < kFetched; ++i) {
        const double2* sector = next + kSector * (threadIdx.x + i * blockDim.x);
        asm volatile("prefetch.global.L1 [%0];" ::"l"(sector));
      }
    }
    return row;
  }
  static __device__ __forceinline__ Complex load(const double2* x) { return complex(__ldg(x)); }
};

// Key rows on their way through shared memory, in chunks of all components or one: all but one slot
// of the ring are under way, and all threads of the block copy and meet once a chunk.
template <class S, int PARTS, int PRIMES>
struct KeyRing {
  static constexpr int kParts = S::kLogN == 10 ? PARTS : 1;
  static constexpr int kSlots = PRIMES == 1 && S::kLogN < 12 ? 3 : 2;
  static constexpr int kChunk = kParts * S::kM;
  static constexpr std::size_t kNumbers = std::size_t{kSlots} * kChunk;  // of shared memory

  double2* slots;
  const double2* next;
  const double2* end;
  int arrived, free;

  __device__ __forceinline__ void copy() {
    if (next != end) {
      for (int i = threadIdx.x; i < kChunk; i += blockDim.x) {
        copy_async(reinterpret_cast<uint4*>(slots + free * kChunk + i),
                   reinterpret_cast<const uint4*>(next + i));
      }
      next += kChunk;
    }
    end_group();
    free = free + 1 == kSlots ? 0 : free + 1;
  }
  __device__ __forceinline__ KeyRing(double2* shared, const double2* key, std::size_t numbers)
      : slots(shared), next(key), end(key + numbers), arrived(-1), free(0) {
#pragma unroll
    for (int i = 0; i + 1 < kSlots; ++i) copy();
  }
  // The next chunk; the one before is given back.
  __device__ __forceinline__ const double2* take() {
    wait_for_groups<kSlots - 2>();
    __syncthreads();
    copy();
    arrived = arrived + 1 == kSlots ? 0 : arrived + 1;
    return slots + arrived * kChunk;
  }
  static __device__ __forceinline__ Complex load(const double2* x) { return complex(*x); }
};

// What was faster on an H200: with k = 1 the meetings of a ring cost more than waiting for the L2.
template <class S, int PARTS, int PRIMES>
using FourierKeyPath =
    std::conditional_t<PARTS == 2, KeyStream<S, PARTS>, KeyRing<S, PARTS, PRIMES>>;

// sums += x times the key row.
template <class S, int PARTS, int PRIMES, class Keys>
__device__ __forceinline__ void add_key_products(Complex (&sums)[PARTS][S::kV],
                                                 const Complex (&x)[S::kV], Keys& keys, int t) {
  using K = FourierKeyShape<S::kLogN, PARTS, PRIMES>;
  const int own = key_place<S, K>(t, 0);
#pragma unroll
  for (int first = 0; first < PARTS; first += Keys::kParts) {
    const double2* chunk = keys.take() + own;
#pragma unroll
    for (int r = 0; r < S::kV; ++r) {
#pragma unroll
      for (int c = 0; c < Keys::kParts; ++c) {
        fourier::multiply_add(sums[first + c][r], x[r],
                              Keys::load(chunk + c * S::kM + key_place<S, K>(0, r)));
      }
    }
  }
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
      u.digits(x, form, acc, e, level);
      fourier_forward<S>(x, u.slot, u.roots, u.t, u.barrier);
      add_key_products<S, PARTS, PRIMES>(sums, x, keys, u.t);
    }
  }
#pragma unroll
  for (int c = 0; c < PARTS; ++c) {
    fourier_inverse<S>(sums[c], u.slot, u.roots, u.t, u.barrier);
    acc = u.acc + c * S::kN;
#pragma unroll
    for (int r = 0; r < S::kV; ++r) {
      const int i = S::index(0, u.t, r), j = i + S::kM;
      acc[i] = form.sum(acc[i], sums[c][r].re);
      acc[j] = form.sum(acc[j], sums[c][r].im);
    }
  }
  meet<S>(u.barrier);
}

template <class S, int PARTS, int PRIMES>
__global__ void __launch_bounds__(kMostFourierThreads<PARTS>)
    blind_fourier(const __grid_constant__ FourierRotateArgs a) {
  using Unit = FourierUnit<S, PARTS, PRIMES>;
  extern __shared__ uint4 rotate_shared[];
  auto* roots = reinterpret_cast<double2*>(rotate_shared);
  constexpr int kRoots = kFourierRoots<S, PARTS, PRIMES>;
  if constexpr (kRoots != 0) place_roots<S>(roots, a.roots);
  using Keys = FourierKeyPath<S, PARTS, PRIMES>;
  double2* free = roots + kRoots;
  const int unit = threadIdx.x / S::kThreads, rows = a.rotate.rows();
  const std::uint32_t index = blockIdx.x * a.rotate.per_block + unit;
  Keys keys(free, a.key, std::size_t(a.rotate.steps) * rows * PARTS * S::kM);
  if (index >= a.rotate.total) {  // no ciphertext: others still meet these threads
    const std::uint32_t chunks = a.rotate.steps * rows * (PARTS / Keys::kParts);
    for (std::uint32_t i = 0; i < chunks; ++i) keys.take();
    return;
  }
  Unit u;
  u.t = threadIdx.x % S::kThreads;
  u.barrier = 1 + unit;
  u.roots = {kRoots != 0 ? roots : a.roots, a.first};
  const std::size_t bytes = fourier_ciphertext_bytes<S, PARTS, PRIMES>(a.rotate.gadget.levels);
  u.slot = free + Keys::kNumbers + unit * (bytes / sizeof(double2));
  u.acc = reinterpret_cast<typename Unit::Value*>(u.slot + S::kSlot);
  u.kept = reinterpret_cast<uint4*>(u.acc + PARTS * S::kN);

  const FourierCiphertext<S, PARTS, PRIMES> c(a.rotate, index);
  for (int i = u.t; i < PARTS * S::kN; i += S::kThreads) u.acc[i] = c.start(a.rotate, i);
  meet<S>(u.barrier);
  std::uint32_t next = __ldg(c.exponents);
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.rotate.steps; ++step) {
    const std::uint32_t e = next;
    next = __ldg(c.exponents + step + 1);  // after the last step's: that of the start
    fourier_step(u, a, e, keys);
  }
  for (int i = u.t; i < PARTS * S::kN; i += S::kThreads) c.finish(a, i, u.acc[i]);
}

// What a launch of one shape holds.
struct FourierLimits {
  int threads = 0, most_threads = 0;                   // of a ciphertext, of a block
  std::size_t shared_bytes = 0, ciphertext_bytes = 0;  // of all ciphertexts, of one
};
template <class S, int PARTS, int PRIMES>
constexpr FourierLimits fourier_limits(int levels) {
  return {S::kThreads, kMostFourierThreads<PARTS>,
          sizeof(double2) *
              (kFourierRoots<S, PARTS, PRIMES> + FourierKeyPath<S, PARTS, PRIMES>::kNumbers),
          fourier_ciphertext_bytes<S, PARTS, PRIMES>(levels)};
}

template <class S, int PARTS, int PRIMES>
void launch_blind_fourier(Launcher& launcher, const FourierRotateArgs& args) {
  const FourierLimits limits = fourier_limits<S, PARTS, PRIMES>(args.rotate.gadget.levels);
  const std::uint32_t c = args.rotate.per_block;
  launcher.launch(blind_fourier<S, PARTS, PRIMES>,
                  {dim3((args.rotate.total + c - 1) / c), dim3(c * S::kThreads),
                   limits.shared_bytes + c * limits.ciphertext_bytes},
                  args);
}

// k = 2 has a file of its own (blind_fourier_k2.cu).
void launch_blind_fourier_k2(Launcher& launcher, const FourierRotateArgs& args, int primes);

}  // namespace latticino::cuda
