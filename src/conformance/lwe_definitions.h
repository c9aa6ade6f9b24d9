// What the definitions of the TFHE records share: integers, digits and batches.
#pragma once

#include <vector>

#include "conformance/exact.h"
#include "conformance/side.h"

namespace latticino::conformance {

using Operations = std::vector<Operation>;
__extension__ typedef __int128 Big;

inline std::int64_t floor_div(Big a, Big b) {
  const Big quotient = a / b;
  return static_cast<std::int64_t>(quotient * b > a ? quotient - 1 : quotient);
}

inline int bits_of(std::uint64_t x) { return x == 0 ? 0 : 1 + bits_of(x / 2); }

// Representative in (-q/2, q/2).
inline std::int64_t centred(std::uint64_t x, std::uint64_t q) {
  return static_cast<std::int64_t>(x) - (2 * x > q ? static_cast<std::int64_t>(q) : 0);
}

// Digits of a centred integer, most significant first.
inline std::vector<std::int64_t> digits(std::int64_t x, Gadget g, int bits) {
  const int shift = bits - g.levels * g.log_base;
  const std::int64_t base = std::int64_t{1} << g.log_base;
  std::int64_t y = shift == 0 ? x : floor_div(Big{2} * x + (Big{1} << shift), Big{2} << shift);
  std::vector<std::int64_t> out(g.levels);
  for (int i = g.levels - 1; i > 0; --i) {
    const std::int64_t up = floor_div(Big{y} + base / 2, base);
    out[i] = y - base * up;
    y = up;
  }
  out[0] = y;
  return out;
}

inline Gadget gadget_for(std::uint64_t q, int levels) {
  return {(bits_of(q) - 3) / levels < 9 ? (bits_of(q) - 3) / levels : 9, levels};
}

// The ciphertexts of a batch in memory of a side. There may be gaps between them.
struct Batch {
  const Words& words;
  std::size_t dimension, count;
  const std::uint32_t* operator[](std::size_t i) const {
    return count == 1 ? words.data()
                      : words.data() + i * ((words.size() - dimension - 1) / (count - 1));
  }
};

struct RotateShape {
  int k = 1, levels = 2, group = 1;
  bool ternary = false;
  std::uint32_t steps = 2, count = 3;
  BlindRotateArithmetic arithmetic = BlindRotateArithmetic::Exact;
  bool fourier() const { return arithmetic == BlindRotateArithmetic::Fft64; }
};
Case blind_rotate(const Ring& ring, const Basis& basis, const RotateShape& s);

}  // namespace latticino::conformance
