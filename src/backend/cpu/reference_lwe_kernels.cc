#include "backend/cpu/lwe_kernels.h"

namespace latticino::cpu {
namespace {

using u32 = std::uint32_t;

void store_digit(u32* const* out, int i, std::size_t at, std::int32_t digit, const DigitTable& t) {
  for (int p = 0; p < t.primes; ++p) out[i * t.primes + p][at] = from_signed(digit, t.q[p]);
}

void store_digit(double* const* out, int i, std::size_t at, std::int32_t digit, const DigitTable&) {
  out[i][at] = digit;
}

template <class Word>
void store_digits(Word* const* out, std::size_t at, std::int64_t x, const DigitTable& t) {
  std::int64_t y = gadget_round(x, gadget_shift(t.gadget, t.bits));
  for (int i = t.gadget.levels - 1; i >= 0; --i) {
    const auto digit = i > 0 ? gadget_take(y, t.gadget.log_base) : static_cast<std::int32_t>(y);
    store_digit(out, i, at, digit, t);
  }
}

template <class Word>
void rotated_digits(Word* const* out, const u32* const* x, u32 rotation, const DigitTable& t) {
  const u32 n = static_cast<u32>(t.n);
  for (u32 i = 0; i < n; ++i) {
    u32 v[2] = {};
    for (int p = 0; p < t.primes; ++p) {
      v[p] = x[p][i];
      if (rotation < 2 * n) v[p] = sub_mod(x[p][(i + rotation) & (2 * n - 1)], v[p], t.q[p]);
    }
    const std::int64_t value =
        t.primes == 1 ? centre(v[0], t.q[0]) : centred_pair(v[0], v[1], t.q[0], t.q[1], t.inverse);
    store_digits(out, i, value, t);
  }
}

void add_mirrored(u32* x, const u32* y, std::size_t n, u32 q) {
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = add_mod(x[i], y[i], q);
    x[n + i] = neg_mod(x[i], q);
  }
  for (std::size_t i = 0; i < kMirrorTail; ++i) x[2 * n + i] = x[i];
}

void row_products(u32* const* out, int outputs, const u32* const* digits, const u32* const* keys,
                  int rows, std::size_t count, const Modulus& m) {
  for (int c = 0; c < outputs; ++c) {
    for (std::size_t i = 0; i < count; ++i) {
      u32 sum = 0;
      for (int r = 0; r < rows; ++r) {
        sum = add_mod(sum, mul_mod(digits[r][i], keys[r * outputs + c][i], m), m.q);
      }
      out[c][i] = montgomery_twice(sum, m);
    }
  }
}

void multiply_add_rows(std::int64_t* sums, const u32* const* rows, const std::int32_t* factors,
                       int count, std::size_t words, Prefetch&) {
  for (int r = 0; r < count; ++r) {
    for (std::size_t i = 0; i < words; ++i) {
      sums[i] += static_cast<std::int64_t>(factors[r]) * rows[r][i];
    }
  }
}

void reduce_sums(u32* out, std::int64_t* sums, std::size_t words, const Modulus& m) {
  for (std::size_t i = 0; i < words; ++i) {
    out[i] = add_mod(out[i], reduce_s64(sums[i], m), m.q);
    sums[i] = 0;
  }
}

}  // namespace

const LweKernels& reference_lwe_kernels() {
  static constexpr LweKernels kernels{rotated_digits<u32>, rotated_digits<double>, add_mirrored,
                                      row_products,        multiply_add_rows,      reduce_sums};
  return kernels;
}

}  // namespace latticino::cpu
