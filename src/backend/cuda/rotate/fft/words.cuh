// Accumulators of blind rotations in FP64, their digits, and where they come from and go to. Over
// one prime they are centred integers, over two primes doubles (math/fourier.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/device/cluster.cuh"
#include "backend/cuda/device/partial_state.cuh"
#include "backend/cuda/device/uniform.cuh"
#include "backend/cuda/rotate/blind_rotate.cuh"
#include "backend/cuda/rotate/fft/transform.cuh"
#include "backend/cuda/rotate/parts.h"

namespace latticino::cuda {

struct FourierRotateArgs {
  RotateArgs rotate;
  const double2* key;    // [step][row][component], in the order of FourierKeyShape
  const double2* roots;  // N/4 roots of the transform, then fourier::unit_powers()
  Complex first[16];
  fourier::Rounding rounding;
  LweModulus moduli[2];
  // A group has per_block ciphertexts, or one less. A block takes a group, or one of the two parts
  // of a group that is cut (rotate/parts.h).
  RotationParts parts;
  // For second parts, which wait for the first part of their group. Word 0 counts the blocks that
  // have begun. The words after it say for each group that is cut, and each warp, whether its first
  // part is done. All words must be zero at the launch.
  std::uint32_t* flags;

  // The index of the ciphertext that unit `unit` of a group computes. Unit 0 of all groups comes
  // first, then unit 1, and so on. If the ciphertexts do not fill the last units, their index is
  // past the last ciphertext, and they have nothing to do.
  LATTICINO_HOST_DEVICE std::uint32_t ciphertext(std::uint32_t group, std::uint32_t unit) const {
    return unit * parts.groups + group;
  }
  // The number of the block. If blocks wait for earlier ones, they are numbered in the order in
  // which they begin.
  __device__ __forceinline__ std::uint32_t number() const {
    if (parts.cuts == 0) return blockIdx.x;
    std::uint32_t* shared = dynamic_shared();
    if (threadIdx.x == 0) *shared = atomicAdd(flags, 1u);
    __syncthreads();
    const std::uint32_t begun = uniform(*shared);
    __syncthreads();
    return begun;
  }
  // Words of `flags`.
  std::size_t flag_words(std::uint32_t threads) const {
    return 1 + std::size_t{parts.cuts} * (threads / 32);
  }
  // Ciphertexts of a part's group.
  __device__ __forceinline__ int units(const RotationPart& part) const {
    return static_cast<int>((rotate.total - part.group + parts.groups - 1) / parts.groups);
  }
  __device__ __forceinline__ std::uint32_t* flag_of(const RotationPart& part) const {
    return flags + 1 + (part.group * blockDim.x + threadIdx.x) / 32;
  }
};
static_assert(sizeof(FourierRotateArgs) <= 4096);

template <int PRIMES>
struct FourierDigits;

// The number that `levels` digits are taken from, as an unsigned number: B/2 is added to every
// digit.
template <class WORD>
struct PackedDigits {
  using Word = WORD;
  Word offset;
  int levels, log_base;

  __device__ __forceinline__ explicit PackedDigits(Gadget g)
      : offset(static_cast<Word>(gadget_offset<std::make_signed_t<Word>>(g)) +
               (Word{1} << (g.levels * g.log_base - 1))),
        levels(g.levels),
        log_base(g.log_base) {}

  // The low word of 2^52 + x is x, for x < 2^32.
  __device__ __forceinline__ double digit(Word packed, int level) const {
    const std::uint32_t mask = level == 0 ? ~0u : (1u << log_base) - 1;
    const auto low = static_cast<std::uint32_t>(packed >> (levels - 1 - level) * log_base) & mask;
    constexpr double kTwo52 = 0x1p52;
    return fourier::minus(__hiloint2double(0x43300000, static_cast<int>(low)),
                          kTwo52 + static_cast<double>(1u << (log_base - 1)));
  }
};

template <>
struct FourierDigits<1> : PackedDigits<std::uint32_t> {
  using Value = std::int32_t;
  const fourier::Rounding& rounding;
  Value q, half;
  int shift;
  Word add;  // added before the shift: the offset, and a half for rounding

  __device__ __forceinline__ FourierDigits(const RotateArgs& a, const fourier::Rounding& rounding)
      : PackedDigits(a.gadget),
        rounding(rounding),
        q(static_cast<Value>(a.modulus)),
        half(q / 2),
        shift(gadget_shift(a.gadget, a.bits)),
        add((offset << shift) + (shift != 0 ? 1u << (shift - 1) : 0)) {}

  // The centred one of x, x - q and x + q.
  __device__ __forceinline__ Value centred(Value x) const {
    return x > half ? x - q : x < -half ? x + q : x;
  }
  // Entry i of X^-e x, e < 2N.
  static __device__ __forceinline__ Value turned(const Value* x, std::uint32_t i, std::uint32_t e,
                                                 int log_n) {
    const std::uint32_t n = 1u << log_n, from = i + e;
    const Value sign = -static_cast<Value>(from >> log_n & 1);
    return (x[from & (n - 1)] ^ sign) - sign;
  }
  // -x if `bit` is 1, else x.
  static __device__ __forceinline__ Value negated(Value x, std::uint32_t bit) {
    const Value sign = -static_cast<Value>(bit);
    return (x ^ sign) - sign;
  }
  // All digits of a difference.
  __device__ __forceinline__ Word pack(Value turned, Value own) const {
    return (static_cast<Word>(centred(turned - own)) + add) >> shift;
  }
  __device__ __forceinline__ Value sum(Value at, double x) const {
    return centred(at + rounding.one_prime(x));  // at most q
  }
};

template <>
struct FourierDigits<2> : PackedDigits<std::uint64_t> {
  using Value = double;
  const fourier::Rounding& rounding;

  __device__ __forceinline__ FourierDigits(const RotateArgs& a, const fourier::Rounding& rounding)
      : PackedDigits(a.gadget), rounding(rounding) {
    offset -= static_cast<Word>(fourier::Rounding::kShiftBits);
  }

  static __device__ __forceinline__ Value turned(const Value* x, std::uint32_t i, std::uint32_t e,
                                                 int log_n) {
    const std::uint32_t n = 1u << log_n, from = i + e;
    const double v = x[from & (n - 1)];
    const std::uint32_t sign = from << (31 - log_n) & 0x80000000u;
    return __hiloint2double(__double2hiint(v) ^ static_cast<int>(sign), __double2loint(v));
  }
  // -x if `bit` is 1, else x.
  static __device__ __forceinline__ Value negated(Value x, std::uint32_t bit) {
    return __hiloint2double(__double2hiint(x) ^ static_cast<int>(bit << 31), __double2loint(x));
  }
  __device__ __forceinline__ Word pack(Value turned, Value own) const {
    return static_cast<Word>(fourier::Rounding::bits(rounding.difference(turned, own))) + offset;
  }
  // The digit of a level, if the gadget has that level.
  __device__ __forceinline__ double only(Value turned, Value own) const {
    return fourier::minus(rounding.difference(turned, own), fourier::Rounding::kShift);
  }
  __device__ __forceinline__ Value sum(Value at, double x) const { return rounding.sum(at, x); }
};

// A ciphertext of a launch: its accumulators at the beginning, and where they go at the end.
template <class S, int PARTS, int PRIMES>
struct FourierCiphertext {
  using Value = typename FourierDigits<PRIMES>::Value;
  const std::uint32_t* exponents;  // the exponents of the steps, then that of the start
  const std::uint32_t* table;
  std::uint32_t* out;
  std::uint32_t turn;

  __device__ __forceinline__ FourierCiphertext(const RotateArgs& a, std::uint32_t index) {
    const RotateArgs::Item& item = a.item_of(index);
    exponents = item.exponents + (index - item.first) * item.stride;
    table = item.table;
    out = item.out + std::size_t(index - item.first) * PARTS * PRIMES * S::kN;
    turn = exponents[a.dimension];
  }
  // The accumulators of a group that changes blocks lie where the result will be.
  __device__ __forceinline__ Value* partial_state() const {
    static_assert(sizeof(Value) == sizeof(std::uint32_t) * PRIMES);
    return reinterpret_cast<Value*>(out);
  }
  // Entry i of the polynomial (table, 0, ..) times X^-turn.
  __device__ __forceinline__ Value start(const RotateArgs& a, int i) const {
    if (i >= S::kN) return 0;
    const int turned = (i + turn) & (2 * S::kN - 1), from = turned % S::kN;
    Value x;
    if constexpr (PRIMES == 1) {
      x = centre(table[from], static_cast<std::uint32_t>(a.modulus));
    } else {
      x = __ll2double_rn(centred_pair(table[from], table[S::kN + from],
                                      a.ring.modulus[a.prime[0]].q, a.ring.modulus[a.prime[1]].q,
                                      a.inverse));
    }
    return turned < S::kN ? x : -x;
  }
  __device__ __forceinline__ void finish(const FourierRotateArgs& a, int i, Value x) const {
    if constexpr (PRIMES == 1) {
      out[i] = x < 0 ? x + static_cast<Value>(a.rotate.modulus) : x;
    } else {
      const long long whole = __double2ll_rn(x);
      const std::uint64_t canonical = whole + (whole < 0 ? a.rotate.modulus : 0);
#pragma unroll
      for (int p = 0; p < PRIMES; ++p) {
        out[(i / S::kN * PRIMES + p) * S::kN + i % S::kN] = reduce_u64(canonical, a.moduli[p]);
      }
    }
  }
};

// The roots of the block, at the places of root_place().
template <class S>
__device__ __forceinline__ void place_roots(double2* shared, const double2* roots) {
  for (int i = threadIdx.x; i < S::kM / 2; i += blockDim.x) {
    shared[S::root_place(i)] = __ldg(roots + i);
  }
  __syncthreads();
}

}  // namespace latticino::cuda
