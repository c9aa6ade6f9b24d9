// Loops of FourierKernels that compilers vectorise without help. They are compiled once for each
// instruction set (LATTICINO_FOURIER_TARGET, the namespace). Nothing is contracted, so all give the
// same integers.
#pragma once

#include "backend/cpu/fourier_kernels.h"
#include "math/fourier_selector.h"

namespace latticino::cpu::LATTICINO_FOURIER_TARGET {

inline void round_one(std::uint32_t* __restrict out, const double* __restrict x, std::size_t count,
                      const fourier::Rounding& rounding) {
  const fourier::Rounding local = rounding;
  const auto q = static_cast<std::int32_t>(local.modulus);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t y = local.one_prime(x[i]);
    out[i] = static_cast<std::uint32_t>(y + (y < 0 ? q : 0));
  }
}

inline void selectors(double* __restrict out, const FourierTable& table, std::uint32_t exponent) {
  const FourierTable local = table;
  const std::size_t half = std::size_t{1} << (local.log_n - 1);
  for (std::size_t i = 0; i < half; ++i) {
    const fourier::Complex x = fourier::selector(
        local.powers[fourier::power_index(local.exponents[i], exponent, local.log_n)]);
    out[i] = x.re, out[i + half] = x.im;
  }
}

// Eight numbers of a key polynomial at a time, so their selectors stay in registers.
inline void combine(double* __restrict key, const double* __restrict x,
                    const double* __restrict keys, int count, int polynomials, std::size_t n) {
  constexpr std::size_t kLine = FourierKeyOrder::kInterleaved;
  const std::size_t half = n / 2, one_key = static_cast<std::size_t>(polynomials) * n;
  for (std::size_t i = 0; i < half; i += kLine) {
    for (int p = 0; p < polynomials; ++p, key += 2 * kLine, keys += 2 * kLine) {
      double re[kLine] = {}, im[kLine] = {};
      for (int j = 0; j < count; ++j) {
        const double *k = keys + static_cast<std::size_t>(j) * one_key,
                     *f = x + static_cast<std::size_t>(j) * n + i;
        for (std::size_t v = 0; v < kLine; ++v) {
          fourier::Complex sum = {re[v], im[v]};
          fourier::multiply_add(sum, {f[v], f[v + half]}, {k[v], k[v + kLine]});
          re[v] = sum.re, im[v] = sum.im;
        }
      }
      for (std::size_t v = 0; v < kLine; ++v) key[v] = re[v], key[v + kLine] = im[v];
    }
  }
}

// out[i] = Rounding::difference(turned[i] sign, own[i]): the bits that digits are made from.
inline void differences(double* __restrict out, const double* __restrict own,
                        const double* __restrict turned, double sign, std::size_t count,
                        const fourier::Rounding& rounding) {
  const fourier::Rounding local = rounding;
  for (std::size_t i = 0; i < count; ++i) out[i] = local.difference(sign * turned[i], own[i]);
}

// Digit `level` of a difference. As an unsigned number, B/2 is added to every digit, so each digit
// is its bits minus B/2 (math/gadget.h).
struct RealDigit {
  static constexpr std::uint64_t kTwo52Bits = 0x4330000000000000;

  RealDigit(Gadget g, int level)
      : shift((g.levels - 1 - level) * g.log_base),
        half(std::uint64_t{1} << (g.log_base - 1)),
        mask(level == 0 ? ~std::uint64_t{0} : 2 * half - 1),
        offset(gadget_offset<std::uint64_t>(g) + (half << (g.levels - 1) * g.log_base) -
               static_cast<std::uint64_t>(fourier::Rounding::kShiftBits)),
        zero(0x1p52 + static_cast<double>(half)) {}
  double of(double difference) const {
    const auto packed = static_cast<std::uint64_t>(fourier::Rounding::bits(difference)) + offset;
    return __builtin_bit_cast(double, (packed >> shift & mask) | kTwo52Bits) - zero;
  }

  int shift;
  std::uint64_t half, mask, offset;
  double zero;
};

inline void real_digits(double* const* out, const double* acc, std::size_t n,
                        std::uint32_t rotation, Gadget gadget, const fourier::Rounding& rounding) {
  const std::size_t from = rotation % n;
  const double sign = rotation < n ? 1 : -1;
  // Holds the differences until this output is computed, which comes last.
  double* __restrict first = out[0];
  if (rotation == 2 * n) {
    const fourier::Rounding local = rounding;
    for (std::size_t i = 0; i < n; ++i) first[i] = local.difference(acc[i], 0);
  } else {
    differences(first, acc, acc + from, sign, n - from, rounding);
    differences(first + n - from, acc + n - from, acc, -sign, from, rounding);
  }
  for (int level = gadget.levels - 1; level > 0; --level) {
    const RealDigit digit(gadget, level);
    double* __restrict other = out[level];
    for (std::size_t i = 0; i < n; ++i) other[i] = digit.of(first[i]);
  }
  const RealDigit digit(gadget, 0);
  for (std::size_t i = 0; i < n; ++i) first[i] = digit.of(first[i]);
}

inline void add_sums(double* __restrict acc, const double* __restrict x, std::size_t count,
                     const fourier::Rounding& rounding) {
  const fourier::Rounding local = rounding;
  for (std::size_t i = 0; i < count; ++i) acc[i] = local.sum(acc[i], x[i]);
}

}  // namespace latticino::cpu::LATTICINO_FOURIER_TARGET
