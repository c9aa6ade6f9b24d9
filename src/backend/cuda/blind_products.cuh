// The arithmetic of one step of a blind rotation, for both of its kernels: the digits of
// (X^-e - 1) acc, sums of their products with key rows, and selectors X^-e - 1 in Eval.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/lwe.cuh"
#include "backend/cuda/product_sums.cuh"
#include "backend/cuda/tables.h"

namespace latticino::cuda {

constexpr int kRotateItems = 64;

// What both kernels are told.
struct RotateArgs {
  RingView ring;
  const std::uint32_t* key;  // [step][key of the step][row][component][prime][N]
  int prime[2];              // of the ring
  Gadget gadget;
  int bits, parts, group, keys;
  bool ternary;
  std::uint32_t steps, dimension, total, per_block;
  ShoupFactor inverse;  // of the first prime modulo the second
  int items;
  struct Item {
    const std::uint32_t *exponents, *table;
    std::uint32_t* out;
    std::size_t stride;
    std::uint32_t first;  // ciphertext of the launch
  } item[kRotateItems];

  LATTICINO_HOST_DEVICE int rows() const { return parts * gadget.levels; }
  LATTICINO_HOST_DEVICE const Item& item_of(std::uint32_t ciphertext) const {
    int i = items - 1;
    while (item[i].first > ciphertext) --i;
    return item[i];
  }
};
static_assert(sizeof(RotateArgs) <= 4000);

// Entry i of X^-e x in [0, q), e < 2N.
__device__ __forceinline__ std::uint32_t turned(const std::uint32_t* x, std::uint32_t i,
                                                std::uint32_t e, int log_n, std::uint32_t q) {
  const std::uint32_t n = 1u << log_n, from = (i + e) & (2 * n - 1);
  const std::uint32_t v = x[from & (n - 1)];
  return from < n ? v : neg_mod(v, q);
}

// Digits in closed form: with B/2 (1 + B + .. + B^(levels - 2)) added, those below the first are
// those of an unsigned number less B/2, and the carries of gadget_take() happen by themselves.
template <int PRIMES>
struct DigitForm {
  using Integer = std::conditional_t<PRIMES == 1, std::int32_t, std::int64_t>;
  int levels, log_base, shift;
  Integer half, offset;

  __device__ __forceinline__ DigitForm(Gadget gadget, int bits)
      : levels(gadget.levels),
        log_base(gadget.log_base),
        shift(gadget_shift(gadget, bits)),
        half(Integer{1} << (gadget.log_base - 1)),
        offset(0) {
    for (int i = 1; i < levels; ++i) offset = (offset << log_base) + half;
  }

  // Digit `level` (0 the most significant) of the centred integer with residues v, modulo q.
  __device__ __forceinline__ std::uint32_t digit(const std::uint32_t (&v)[PRIMES], int level,
                                                 const std::uint32_t (&primes)[PRIMES],
                                                 ShoupFactor inverse, std::uint32_t q) const {
    Integer x;
    if constexpr (PRIMES == 1) {
      x = centred(v[0], primes[0]);
    } else {
      x = centred_pair(v[0], v[1], primes[0], primes[1], inverse);
    }
    if (shift != 0) x = (x + (Integer{1} << (shift - 1))) >> shift;
    const Integer z = (x + offset) >> (levels - 1 - level) * log_base;
    const auto d = static_cast<std::int32_t>(level == 0 ? z : (z & (2 * half - 1)) - half);
    return d < 0 ? static_cast<std::uint32_t>(d) + q : static_cast<std::uint32_t>(d);
  }
};

// (X^-e - 1) at the roots of the entries first .. first + 3 (logical), Montgomery words. `psi` is
// the prime's table.
__device__ __forceinline__ uint4 selector(const std::uint32_t* psi, std::uint32_t e,
                                          std::uint32_t first, int log_n, const Modulus& m) {
  const std::uint32_t n = 1u << log_n;
  std::uint32_t word[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const std::uint32_t root = 2 * (__brev(first + w) >> (32 - log_n)) + 1;
    const std::uint32_t power = (0u - e) * root & (2 * n - 1);
    const std::uint32_t x = __ldg(psi + (__brev(power & (n - 1)) >> (32 - log_n)));
    word[w] = sub_mod(power < n ? x : neg_mod(x, m.q), m.r, m.q);
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

// E of key j of a step with these exponents (ops/lwe_operations.h).
__device__ __forceinline__ std::uint32_t selected_exponent(const RotateArgs& a,
                                                           const std::uint32_t* exponents, int j) {
  if (a.ternary) return j == 0 ? exponents[0] : 0u - exponents[0];
  std::uint32_t e = 0;
  for (int i = 0; i < a.group; ++i) {
    if ((j + 1) >> i & 1) e += exponents[i];
  }
  return e;
}

}  // namespace latticino::cuda
