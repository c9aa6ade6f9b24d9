// Blind rotation in FP64 (math/fourier.h): T threads carry a ciphertext through all steps. They
// take the digits of one row after the other, transform them in registers and add the products with
// the key row up there, for all components; then transform these back. Of a ciphertext only the
// accumulators and one polynomial that changes hands are in shared memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/blind_rotate.cuh"
#include "backend/cuda/dispatch.h"
#include "backend/cuda/fourier.cuh"

namespace latticino::cuda {

struct FourierRotateArgs {
  RotateArgs rotate;
  const double2* key;  // [step][row][component][V][T]
  const double2* roots;
  Complex first[8];
  fourier::Rounding rounding;
  LweModulus moduli[2];
};
static_assert(sizeof(FourierRotateArgs) <= 4096);

template <int PRIMES>
using FourierWord = std::conditional_t<PRIMES == 1, std::uint32_t, std::uint64_t>;

// Registers limit the threads of a block.
template <int PARTS>
constexpr int kMostFourierThreads = PARTS == 2 ? 256 : 384;

// Roots are in shared memory where the key leaves them room, else in the L1.
template <class S, int PARTS, int PRIMES>
constexpr int kFourierRoots = PARTS == 2 || PRIMES == 1 ? S::kM / 2 : 0;
template <class S, int PARTS, int PRIMES>
constexpr std::size_t kFourierCiphertextBytes = sizeof(double2) * S::kM +
                                                sizeof(FourierWord<PRIMES>) * PARTS* S::kN;

// A signed integer below 2^31 in size as a double, without a conversion.
__device__ __forceinline__ double small_double(std::int32_t x) {
  const int high = static_cast<int>(fourier::Rounding::kShiftBits >> 32) + (x >> 31);
  return fourier::minus(__hiloint2double(high, x), fourier::Rounding::kShift);
}

// The threads of a ciphertext.
template <class S, int PARTS, int PRIMES>
struct FourierUnit {
  using Word = FourierWord<PRIMES>;
  using Integer = typename DigitForm<PRIMES>::Integer;
  int t, barrier;
  FourierRoots roots;
  double2* slot;  // of the polynomial that changes hands
  Word* acc;      // [component][N], in [0, q)
  Word q;

  // Digit `level` of entry i of (X^-e - 1) x.
  __device__ __forceinline__ double digit(const DigitForm<PRIMES>& form, const Word* x, int i,
                                          std::uint32_t e, int level) const {
    const Word a = turned(x, i, e, S::kLogN, q), b = x[i];
    const Word d = a >= b ? a - b : a - b + q;
    const Integer centred = static_cast<Integer>(d > q / 2 ? d - q : d);
    return small_double(form.signed_digit(centred, level));
  }

  __device__ __forceinline__ void add(Word& at, double x, const fourier::Rounding& rounding) const {
    Integer y;
    if constexpr (PRIMES == 1) {
      y = rounding.one_prime(x);
    } else {
      y = rounding.two_primes(x);
    }
    const Word sum = at + static_cast<Word>(y < 0 ? y + static_cast<Integer>(q) : y);
    at = sum >= q ? sum - q : sum;
  }
};

// Key rows straight through the L1, which the ciphertexts of a block share: they read the same ones
// at about the same time.
template <class S, int PARTS>
struct KeyStream {
  static constexpr int kParts = PARTS;  // components of a chunk
  static constexpr std::size_t kNumbers = 0;

  const double2* next;

  __device__ __forceinline__ KeyStream(double2*, const double2* key, std::size_t) : next(key) {}
  __device__ __forceinline__ const double2* take() {
    const double2* row = next;
    next += PARTS * S::kM;
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
template <class S, int PARTS, class Keys>
__device__ __forceinline__ void add_key_products(Complex (&sums)[PARTS][S::kV],
                                                 const Complex (&x)[S::kV], Keys& keys, int t) {
#pragma unroll
  for (int first = 0; first < PARTS; first += Keys::kParts) {
    const double2* chunk = keys.take() + t;
#pragma unroll
    for (int c = 0; c < Keys::kParts; ++c) {
#pragma unroll
      for (int r = 0; r < S::kV; ++r) {
        fourier::multiply_add(sums[first + c][r], x[r],
                              Keys::load(chunk + c * S::kM + r * S::kThreads));
      }
    }
  }
}

template <class S, int PARTS, int PRIMES>
__device__ __forceinline__ void fourier_step(const FourierUnit<S, PARTS, PRIMES>& u,
                                             const FourierRotateArgs& a, std::uint32_t e,
                                             FourierKeyPath<S, PARTS, PRIMES>& keys) {
  const DigitForm<PRIMES> form(a.rotate.gadget, a.rotate.bits);
  Complex sums[PARTS][S::kV] = {};
  auto* acc = u.acc;
#pragma unroll 1
  for (int c = 0; c < PARTS; ++c, acc += S::kN) {
#pragma unroll 1
    for (int level = 0; level < form.levels; ++level) {
      Complex x[S::kV];
#pragma unroll
      for (int r = 0; r < S::kV; ++r) {
        const int i = S::index(0, u.t, r);
        x[r] = {u.digit(form, acc, i, e, level), u.digit(form, acc, i + S::kM, e, level)};
      }
      fourier_forward<S>(x, u.slot, u.roots, u.t, u.barrier);
      add_key_products<S>(sums, x, keys, u.t);
    }
  }
#pragma unroll
  for (int c = 0; c < PARTS; ++c) {
    fourier_inverse<S>(sums[c], u.slot, u.roots, u.t, u.barrier);
#pragma unroll
    for (int r = 0; r < S::kV; ++r) {
      const int i = c * S::kN + S::index(0, u.t, r);
      u.add(u.acc[i], sums[c][r].re, a.rounding);
      u.add(u.acc[i + S::kM], sums[c][r].im, a.rounding);
    }
  }
  meet<S>(u.barrier);
}

// Between residues and integers in [0, q).
template <class S, int PRIMES>
__device__ __forceinline__ FourierWord<PRIMES> integer_at(const RotateArgs& a,
                                                          const std::uint32_t* limbs, int i,
                                                          FourierWord<PRIMES> q) {
  if constexpr (PRIMES == 1) {
    return limbs[i];
  } else {
    const std::int64_t x = centred_pair(limbs[i], limbs[S::kN + i], a.ring.modulus[a.prime[0]].q,
                                        a.ring.modulus[a.prime[1]].q, a.inverse);
    return static_cast<std::uint64_t>(x < 0 ? x + static_cast<std::int64_t>(q) : x);
  }
}

template <class S, int PARTS, int PRIMES>
__global__ void __launch_bounds__(kMostFourierThreads<PARTS>)
    blind_fourier(const __grid_constant__ FourierRotateArgs a) {
  using Word = FourierWord<PRIMES>;
  extern __shared__ uint4 rotate_shared[];
  auto* roots = reinterpret_cast<double2*>(rotate_shared);
  constexpr int kRoots = kFourierRoots<S, PARTS, PRIMES>;
  for (int i = threadIdx.x; i < kRoots; i += blockDim.x) roots[i] = __ldg(a.roots + i);
  if constexpr (kRoots != 0) __syncthreads();
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
  FourierUnit<S, PARTS, PRIMES> u;
  u.t = threadIdx.x % S::kThreads;
  u.barrier = 1 + unit;
  u.roots = {kRoots != 0 ? roots : a.roots, a.first};
  u.slot =
      free + Keys::kNumbers + unit * (kFourierCiphertextBytes<S, PARTS, PRIMES> / sizeof(double2));
  u.acc = reinterpret_cast<Word*>(u.slot + S::kM);
  u.q = static_cast<Word>(a.rotate.modulus);

  const RotateArgs::Item& item = a.rotate.item_of(index);
  const std::uint32_t* exponents = item.exponents + (index - item.first) * item.stride;
  const std::uint32_t e = exponents[a.rotate.dimension];
  for (int i = u.t; i < PARTS * S::kN; i += S::kThreads) {
    Word x = 0;
    if (i < S::kN) {
      const int from = (i + e) & (2 * S::kN - 1);
      x = integer_at<S, PRIMES>(a.rotate, item.table, from % S::kN, u.q);
      if (from >= S::kN && x != 0) x = u.q - x;
    }
    u.acc[i] = x;
  }
  meet<S>(u.barrier);
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.rotate.steps; ++step) {
    fourier_step(u, a, __ldg(exponents + step), keys);
  }
  std::uint32_t* out = item.out + std::size_t(index - item.first) * PARTS * PRIMES * S::kN;
  for (int i = u.t; i < PARTS * S::kN; i += S::kThreads) {
    if constexpr (PRIMES == 1) {
      out[i] = u.acc[i];
    } else {
#pragma unroll
      for (int p = 0; p < PRIMES; ++p) {
        out[(i / S::kN * PRIMES + p) * S::kN + i % S::kN] = reduce_u64(u.acc[i], a.moduli[p]);
      }
    }
  }
}

// What a launch of one shape holds.
struct FourierLimits {
  int threads = 0, most_threads = 0;                   // of a ciphertext, of a block
  std::size_t shared_bytes = 0, ciphertext_bytes = 0;  // of all ciphertexts, of one
};
template <class S, int PARTS, int PRIMES>
constexpr FourierLimits kFourierLimits{
    S::kThreads, kMostFourierThreads<PARTS>,
    sizeof(double2) *
        (kFourierRoots<S, PARTS, PRIMES> + FourierKeyPath<S, PARTS, PRIMES>::kNumbers),
    kFourierCiphertextBytes<S, PARTS, PRIMES>};

template <class S, int PARTS, int PRIMES>
void launch_blind_fourier(Launcher& launcher, const FourierRotateArgs& args) {
  constexpr FourierLimits kLimits = kFourierLimits<S, PARTS, PRIMES>;
  const std::uint32_t c = args.rotate.per_block;
  launcher.launch(blind_fourier<S, PARTS, PRIMES>,
                  {dim3((args.rotate.total + c - 1) / c), dim3(c * S::kThreads),
                   kLimits.shared_bytes + c * kLimits.ciphertext_bytes},
                  args);
}

// k = 2 has a file of its own (blind_fourier_k2.cu).
void launch_blind_fourier_k2(Launcher& launcher, const FourierRotateArgs& args, int primes);

}  // namespace latticino::cuda
