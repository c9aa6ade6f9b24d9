// Signed digits of centred residues, defined once for every backend and for the noise formulas.
//
// A modulus of `bits` bits (2^(bits-1) < q < 2^bits), a gadget of `levels` digits in base
// B = 2^log_base. With s = bits - levels log_base, a centred residue x, |x| < 2^(bits-1), is
// rounded to a multiple of 2^s (halves up) and written as
//   x = sum_i d_i 2^(bits - (i + 1) log_base) + error,   |error| <= 2^(s-1),
// d_0 the most significant digit, all d_i in [-B/2, B/2), but d_0 may be B/2. Nothing wraps modulo
// q.
#pragma once

#include <cstdint>

#include "math/modulus.h"

namespace latticino {

struct Gadget {
  std::int32_t log_base = 0, levels = 0;
  bool operator==(const Gadget&) const = default;
};

LATTICINO_HD constexpr int gadget_shift(Gadget g, int bits) { return bits - g.levels * g.log_base; }

// log2 of the factor of digit i.
LATTICINO_HD constexpr int gadget_exponent(Gadget g, int bits, int i) {
  return bits - (i + 1) * g.log_base;
}

// x / 2^shift, rounded to nearest, halves up. |x| < 2^62.
LATTICINO_HD constexpr std::int64_t gadget_round(std::int64_t x, int shift) {
  return shift == 0 ? x : (x + (std::int64_t{1} << (shift - 1))) >> shift;
}

// Removes the least significant digit from y and returns it, for digits levels - 1 .. 1. What is
// left at the end is digit 0.
LATTICINO_HD constexpr std::int32_t gadget_take(std::int64_t& y, int log_base) {
  const std::int64_t half = std::int64_t{1} << (log_base - 1);
  const std::int64_t digit = ((y + half) & (2 * half - 1)) - half;
  y = (y - digit) >> log_base;
  return static_cast<std::int32_t>(digit);
}

// The offset B/2 (1 + B + .. + B^(levels - 2)). gadget_take() reads one digit after the other,
// because each digit may carry into the next one. The sum of the rounded number y and the offset
// already contains all carries, so all digits can be read at once. Write the sum in base B. Each of
// its lowest levels - 1 digits, minus B/2, is a digit of the gadget. The rest above them is the
// first digit of the gadget.
template <class Integer>
LATTICINO_HD constexpr Integer gadget_offset(Gadget g) {
  Integer offset = 0;
  for (int i = 1; i < g.levels; ++i) {
    offset = (offset << g.log_base) + (Integer{1} << (g.log_base - 1));
  }
  return offset;
}

constexpr int bit_length(std::uint64_t x) {
  int bits = 0;
  for (; x != 0; x >>= 1) ++bits;
  return bits;
}

// The centred integer with residues x0 modulo q0 and x1 modulo q1 is c0 + q0 t for the centred
// residues c0 of x0 and t of (x1 - x0) q0^-1 modulo q1. `inverse` is q0^-1 modulo q1.
LATTICINO_HD std::int64_t centred_pair(std::uint32_t x0, std::uint32_t x1, std::uint32_t q0,
                                       std::uint32_t q1, ShoupFactor inverse) {
  const std::int32_t c0 = centre(x0, q0);
  // |c0| <= q0 / 2, and 2 q1 > q0: one addition or subtraction brings it into [0, q1).
  const std::uint32_t c0_mod =
      c0 < 0 ? static_cast<std::uint32_t>(c0) + q1 : static_cast<std::uint32_t>(c0);
  const std::uint32_t t = mul_shoup(sub_mod(x1, c0_mod, q1), inverse, q1);
  return c0 + static_cast<std::int64_t>(q0) * centre(t, q1);
}

}  // namespace latticino
