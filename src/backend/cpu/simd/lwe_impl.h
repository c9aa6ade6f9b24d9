// The kernels of the TFHE records over `Vec`; see ntt_impl.h.
#pragma once

#include "backend/cpu/simd/fetch.h"
#include "backend/cpu/simd/ntt_impl.h"

namespace latticino::cpu::LATTICINO_SIMD_TARGET {

// Any 64-bit sums x to x 2^-64 mod p in [0, p): two Montgomery steps, the first result in 64 bits.
inline Vec montgomery_twice(Wide x, Vec p, Vec m) {
  x.montgomery_step(p, m);
  return add_where_negative(x.montgomery(p, m), p);
}

// 2^64 mod q as a Shoup pair: undoes montgomery_twice.
inline Factor two_to_64(std::uint32_t q) {
  const std::uint64_t r = (~std::uint64_t{0} % q + 1) % q;
  return {static_cast<std::uint32_t>(r), static_cast<std::uint32_t>((r << 32) / q)};
}

template <int kPrimes>
inline void store_digit(std::uint32_t* const* out, int i, std::size_t at, Vec digit,
                        const Prime* p) {
  for (int k = 0; k < kPrimes; ++k) {
    add_where_negative(digit, p[k].q).store(out[i * kPrimes + k] + at);
  }
}

template <int kPrimes>
inline void store_digit(double* const* out, int i, std::size_t at, Vec digit, const Prime*) {
  digit.store_doubles(out[i] + at);
}

// Digits of values of at most 32 bits, already rounded: most significant first in `out`.
template <int kPrimes, int kLevels, class Word>
inline void store_digits(Word* const* out, std::size_t at, Vec y, Gadget g, const Prime* p) {
  const Vec half = Vec::set(1u << (g.log_base - 1)), mask = Vec::set((1u << g.log_base) - 1);
  for (int i = (kLevels > 0 ? kLevels : g.levels) - 1; i > 0; --i) {
    const Vec digit = ((y + half) & mask) - half;
    y = shift_right_signed(y - digit, g.log_base);
    store_digit<kPrimes>(out, i, at, digit, p);
  }
  store_digit<kPrimes>(out, 0, at, y, p);
}

// X^-rotation x - x at 16 positions, canonical.
inline Vec difference(const std::uint32_t* x, std::size_t at, std::size_t from, bool rotated,
                      const Prime& p) {
  const Vec v = Vec::load(x + at);
  if (!rotated) return v;
  const Vec d = Vec::load(x + from) - v;
  return min_u(d, d + p.q);
}

inline void plain_digits(std::uint32_t* const* out, const std::uint32_t* const* x,
                         std::uint32_t rotation, const DigitTable& t) {
  reference_lwe_kernels().rotated_digits(out, x, rotation, t);
}

inline void plain_digits(double* const* out, const std::uint32_t* const* x, std::uint32_t rotation,
                         const DigitTable& t) {
  reference_lwe_kernels().rotated_real_digits(out, x, rotation, t);
}

// Digits over one prime. With kLevels 0 the number of digits is known only at run time. Every load
// comes before the stores that might change what it reads.
template <int kLevels, class Word>
inline void rotated_digits_of_one(Word* const* out, const std::uint32_t* x, std::uint32_t rotation,
                                  const DigitTable& t) {
  const Gadget g = t.gadget;
  const int shift = t.bits - g.levels * g.log_base;
  const std::size_t n = static_cast<std::size_t>(t.n), wrap = 2 * n - 1;
  const bool rotated = rotation < 2 * n;
  const Prime p(t.q[0]);
  const Vec bound = Vec::set((t.q[0] - 1) / 2), half = Vec::set(shift == 0 ? 0 : 1u << (shift - 1));
  Word* to[kLevels > 0 ? kLevels : kMaxLevels];
  for (int i = 0; i < (kLevels > 0 ? kLevels : g.levels); ++i) to[i] = out[i];
  for (std::size_t i = 0; i < n; i += Vec::kLanes) {
    const Vec d = difference(x, i, (i + rotation) & wrap, rotated, p);
    const Vec y = sub_where_greater(d, bound, p.q) + half;  // below 2^31 in magnitude
    store_digits<1, kLevels>(to, i, shift_right_signed(y, shift), g, &p);
  }
}

template <class Word>
inline void rotated_digits(Word* const* out, const std::uint32_t* const* x, std::uint32_t rotation,
                           const DigitTable& t) {
  const int digit_bits = t.gadget.levels * t.gadget.log_base, shift = t.bits - digit_bits;
  if (digit_bits > 31 || t.gadget.log_base > 30) {
    return plain_digits(out, x, rotation, t);
  }
  if (t.primes == 1) {
    if (t.gadget.levels == 2) return rotated_digits_of_one<2>(out, x[0], rotation, t);
    if (t.gadget.levels == 3) return rotated_digits_of_one<3>(out, x[0], rotation, t);
    return rotated_digits_of_one<0>(out, x[0], rotation, t);
  }
  const std::size_t n = static_cast<std::size_t>(t.n), wrap = 2 * n - 1;
  const bool rotated = rotation < 2 * n;
  const Prime p[2] = {Prime(t.q[0]), Prime(t.q[1])};
  const Vec bound = Vec::set((t.q[0] - 1) / 2), bound_1 = Vec::set((t.q[1] - 1) / 2);
  const Factor inverse(t.inverse);
  const int first = shift < 32 ? shift : 32;
  for (std::size_t i = 0; i < n; i += Vec::kLanes) {
    const std::size_t from = (i + rotation) & wrap;
    const Vec c0 = sub_where_greater(difference(x[0], i, from, rotated, p[0]), bound, p[0].q);
    Vec d = difference(x[1], i, from, rotated, p[1]) - add_where_negative(c0, p[1].q);
    d = min_u(d, d + p[1].q);
    d = p[1].below_q(shoup(d, inverse.w, inverse.quotient, p[1].q));
    Wide value = Wide::set(shift == 0 ? 0 : std::int64_t{1} << (shift - 1));
    value.add_product(sub_where_greater(d, bound_1, p[1].q), p[0].q);
    value.add_product(c0, Vec::set(1));
    store_digits<2, 0>(out, i, shift_right_signed(value.shifted(first), shift - first), t.gadget,
                       p);
  }
}

inline void add_mirrored(std::uint32_t* x, const std::uint32_t* y, std::size_t n, std::uint32_t q) {
  const Prime p(q);
  for (std::size_t i = 0; i < n; i += Vec::kLanes) {
    const Vec v = p.below_q(Vec::load(x + i) + Vec::load(y + i));
    v.store(x + i);
    p.below_q(p.q - v).store(x + n + i);
  }
  for (std::size_t i = 0; i < kMirrorTail; i += Vec::kLanes) Vec::load(x + i).store(x + 2 * n + i);
}

// Centred digits times residues are below q^2 / 2: four such products fit 63 bits for every prime,
// sixteen for primes below 2^30.
template <int kOutputs>
inline void row_products_some(std::uint32_t* const* out, const std::uint32_t* const* digits,
                              const std::uint32_t* const* keys, int rows, std::size_t count,
                              const Modulus& mod) {
  const int terms = mod.q < (1u << 30) ? 16 : 4;
  const Prime p(mod.q);
  const Vec m = Vec::set(static_cast<std::uint32_t>(mod.q_inverse));
  const Vec bound = Vec::set((mod.q - 1) / 2);
  for (std::size_t k = 0; k < count; k += Vec::kLanes) {
    Wide sum[kOutputs];  // carries a factor 2^-32; each term is below 2^32
    for (int c = 0; c < kOutputs; ++c) sum[c] = Wide::zero();
    for (int first = 0; first < rows; first += terms) {
      const int last = first + terms < rows ? first + terms : rows;
      Wide x[kOutputs];
      for (int c = 0; c < kOutputs; ++c) x[c] = Wide::zero();
      for (int r = first; r < last; ++r) {
        const Vec d = sub_where_greater(Vec::load(digits[r] + k), bound, p.q);
        const Vec d_odd = odd_lanes(d);
        for (int c = 0; c < kOutputs; ++c) {
          const std::uint32_t* key = keys[r * kOutputs + c] + k;
          x[c].add_pairs(Vec::load(key), Vec::load_odd(key), d, d_odd);
        }
      }
      for (int c = 0; c < kOutputs; ++c) {
        x[c].montgomery_step(p.q, m);
        sum[c].add(x[c]);
      }
    }
    for (int c = 0; c < kOutputs; ++c) {
      add_where_negative(sum[c].montgomery(p.q, m), p.q).store(out[c] + k);
    }
  }
}

inline void row_products(std::uint32_t* const* out, int outputs, const std::uint32_t* const* digits,
                         const std::uint32_t* const* keys, int rows, std::size_t count,
                         const Modulus& mod) {
  switch (outputs) {
    case 2:
      return row_products_some<2>(out, digits, keys, rows, count, mod);
    case 3:
      return row_products_some<3>(out, digits, keys, rows, count, mod);
    case 4:
      return row_products_some<4>(out, digits, keys, rows, count, mod);
    default:
      return row_products_some<5>(out, digits, keys, rows, count, mod);
  }
}

// Sums of 16 words lie as even then odd ones; the words behind the last whole vector in order.
inline void multiply_add_rows(std::int64_t* sums, const std::uint32_t* const* rows,
                              const std::int32_t* factors, int count, std::size_t words,
                              Prefetch& ahead) {
  std::size_t k = 0;
  Fetch fetch(ahead, words / Vec::kLanes);
  for (; k + Vec::kLanes <= words; k += Vec::kLanes) {
    fetch.piece();
    Wide x = Wide::load(sums + k);
    for (int r = 0; r < count; ++r) {
      x.add_broadcast(Vec::load(rows[r] + k), Vec::load_odd(rows[r] + k),
                      Vec::set(static_cast<std::uint32_t>(factors[r])));
    }
    x.store(sums + k);
  }
  for (; k < words; ++k) {
    for (int r = 0; r < count; ++r) {
      sums[k] += static_cast<std::int64_t>(factors[r]) * rows[r][k];
    }
  }
}

inline void reduce_sums(std::uint32_t* out, std::int64_t* sums, std::size_t words,
                        const Modulus& mod) {
  const Prime p(mod.q);
  const Vec m = Vec::set(static_cast<std::uint32_t>(mod.q_inverse));
  const Factor plain = two_to_64(mod.q);
  std::size_t k = 0;
  for (; k + Vec::kLanes <= words; k += Vec::kLanes) {
    const Vec r = montgomery_twice(Wide::load(sums + k), p.q, m);
    const Vec x = p.below_q(shoup(r, plain.w, plain.quotient, p.q));
    p.below_q(Vec::load(out + k) + x).store(out + k);
    Wide::zero().store(sums + k);
  }
  if (k < words) reference_lwe_kernels().reduce_sums(out + k, sums + k, words - k, mod);
}

inline const LweKernels& lwe_kernels() {
  static const LweKernels table{rotated_digits<std::uint32_t>,
                                rotated_digits<double>,
                                add_mirrored,
                                row_products,
                                multiply_add_rows,
                                reduce_sums};
  return table;
}

}  // namespace latticino::cpu::LATTICINO_SIMD_TARGET
