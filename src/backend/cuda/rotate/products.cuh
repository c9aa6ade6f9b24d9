// The arithmetic of one step of a blind rotation, shared by all of its kernels: the digits of (X^-e
// - 1) acc, sums of their products with key rows, and selectors X^-e - 1 in Eval.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/device/layout.h"
#include "backend/cuda/device/tables.h"
#include "backend/cuda/lwe/lwe.cuh"
#include "backend/cuda/poly/product_sums.cuh"

namespace latticino::cuda {

constexpr int kRotateItems = 64;

// Arguments of all kernels.
struct RotateArgs {
  RingView ring;
  const std::uint32_t* key;  // [step][key of the step][row][component][prime][N]
  int prime[2];              // index of the primes in the ring
  Gadget gadget;
  std::uint64_t modulus;  // the primes' product
  int bits, parts, group, keys;
  bool ternary;
  std::uint32_t steps, dimension, total, per_block;
  ShoupFactor inverse;  // inverse of the first prime modulo the second
  int items;
  struct Item {
    const std::uint32_t *exponents, *table;
    std::uint32_t* out;
    std::size_t stride;
    std::uint32_t first;  // number of the ciphertext in the launch
  } item[kRotateItems];

  LATTICINO_HOST_DEVICE int rows() const { return parts * gadget.levels; }
  LATTICINO_HOST_DEVICE const Item& item_of(std::uint32_t ciphertext) const {
    int i = items - 1;
    while (item[i].first > ciphertext) --i;
    return item[i];
  }
};
static_assert(sizeof(RotateArgs) <= 4000);

// Entry i of X^-e x in [0, q), e < 2N. Words of 32 or 64 bits.
template <class Word>
__device__ __forceinline__ Word turned(const Word* x, std::uint32_t i, std::uint32_t e, int log_n,
                                       Word q) {
  const std::uint32_t n = 1u << log_n, from = (i + e) & (2 * n - 1);
  const Word v = x[from & (n - 1)];
  return from < n || v == 0 ? v : q - v;
}

// Digits of residues.
template <int PRIMES>
struct DigitForm {
  using Integer = std::conditional_t<PRIMES == 1, std::int32_t, std::int64_t>;
  Gadget gadget;
  int levels, bits;
  Integer offset;

  __device__ __forceinline__ DigitForm(Gadget g, int bits)
      : gadget(g),
        levels(g.levels),
        bits(bits),
        offset((gadget_offset<Integer>(g) << gadget_shift(g, bits)) +
               ((Integer{1} << gadget_shift(g, bits)) >> 1)) {}

  // Digit `level` (0 is the most significant) of a centred integer. Half a unit is added for
  // rounding, and the offset adds its carries (math/gadget.h). The result is less than 2^bits in
  // magnitude. One expression serves all levels, as neighbouring threads may need different ones.
  __device__ __forceinline__ std::int32_t signed_digit(Integer x, int level) const {
    const Integer half = level == 0 ? 0 : Integer{1} << (gadget.log_base - 1);  // 0: all bits
    const Integer top = (x + offset) >> gadget_exponent(gadget, bits, level);
    return static_cast<std::int32_t>((top & (2 * half - 1)) - half);
  }
  // The same for the integer with residues v. A residue equal to its prime counts as 0.
  __device__ __forceinline__ std::int32_t value(const std::uint32_t (&v)[PRIMES], int level,
                                                const std::uint32_t (&primes)[PRIMES],
                                                ShoupFactor inverse) const {
    Integer x;
    if constexpr (PRIMES == 1) {
      x = centred(v[0], primes[0]);
    } else {
      x = centred_pair(v[0], v[1], primes[0], primes[1], inverse);
    }
    return signed_digit(x, level);
  }
  // Modulo q.
  __device__ __forceinline__ std::uint32_t digit(const std::uint32_t (&v)[PRIMES], int level,
                                                 const std::uint32_t (&primes)[PRIMES],
                                                 ShoupFactor inverse, std::uint32_t q) const {
    const std::int32_t d = value(v, level, primes, inverse);
    return d < 0 ? static_cast<std::uint32_t>(d) + q : static_cast<std::uint32_t>(d);
  }
};

// (X^-e - 1) at the roots of the entries first .. first + 3 (logical; a multiple of 4), Montgomery
// words. `psi` is the prime's table: a random place of it for all four, as their roots differ by
// powers of psi^(N/2), a square root of -1.
__device__ __forceinline__ uint4 selector(const std::uint32_t* psi, std::uint32_t e,
                                          std::uint32_t first, int log_n, const Modulus& m) {
  const std::uint32_t n = 1u << log_n;
  const std::uint32_t root = 2 * (__brev(first) >> (32 - log_n)) + 1;
  const std::uint32_t power = (0u - e) * root & (2 * n - 1);
  std::uint32_t x = __ldg(psi + (__brev(power & (n - 1)) >> (32 - log_n)));
  x = power < n ? x : neg_mod(x, m.q);
  std::uint32_t y = (e & 1) != 0 ? mul_mod(x, __ldg(psi + 1), m) : x;  // multiplied by psi^(-e N/2)
  y = ((e + 1) & 2) != 0 ? neg_mod(y, m.q) : y;
  const auto less_one = [&](std::uint32_t z) { return sub_mod(z, m.r, m.q); };
  const std::uint32_t minus_x = neg_mod(x, m.q), minus_y = neg_mod(y, m.q);
  return make_uint4(less_one(x), less_one((e & 1) != 0 ? minus_x : x), less_one(y),
                    less_one((e & 1) != 0 ? minus_y : y));
}

// E of key j of a step with these exponents (ops/lwe_operations.h), of a binary key.
__device__ __forceinline__ std::uint32_t selected_exponent(const std::uint32_t* exponents, int j,
                                                           int group) {
  std::uint32_t e = 0;
  for (int i = 0; i < group; ++i) {
    if ((j + 1) >> i & 1) e += exponents[i];
  }
  return e;
}
__device__ __forceinline__ std::uint32_t selected_exponent(const RotateArgs& a,
                                                           const std::uint32_t* exponents, int j) {
  if (a.ternary) return j == 0 ? exponents[0] : 0u - exponents[0];
  return selected_exponent(exponents, j, a.group);
}

}  // namespace latticino::cuda
