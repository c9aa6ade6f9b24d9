#include "ckks/encoding/secret_slots.h"

#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "math/errors.h"

namespace latticino::ckks {
namespace {

__extension__ typedef __int128 Wide;
using Words = crypto::LockedVector<std::int64_t>;

// Bits of the fraction: a part of a root of unity fits into a word.
constexpr int kTwiddleBits = 62;
constexpr int kFraction = 61;  // bits of a part: the difference of two parts fits into a word

std::int64_t twiddle(double x) { return static_cast<std::int64_t>(std::ldexp(x, kTwiddleBits)); }

// Half of a product with a twiddle.
std::int64_t halved(Wide x) {
  return static_cast<std::int64_t>((x + (Wide{1} << kTwiddleBits)) >> (kTwiddleBits + 1));
}

// slots::inverse in fixed point, with the factor 1/n. Every stage halves, so a number never exceeds
// the largest value, and the rounding error of a stage is halved in each later stage.
void inverse(const FftTables& tables, std::int64_t* re, std::int64_t* im, std::size_t n) {
  for (std::size_t len = n; len >= 2; len /= 2) {
    const std::size_t half = len / 2;
    for (std::size_t j = 0; j < half; ++j) {
      const Wide w_re = twiddle(tables.re(static_cast<int>(len))[j]);
      const Wide w_im = twiddle(tables.im(static_cast<int>(len))[j]);
      for (std::size_t x = j; x < n; x += len) {
        const std::size_t y = x + half;
        const std::int64_t d_re = re[x] - re[y], d_im = im[x] - im[y];
        re[x] = (re[x] + re[y] + 1) >> 1;
        im[x] = (im[x] + im[y] + 1) >> 1;
        re[y] = halved(d_re * w_re + d_im * w_im);
        im[y] = halved(d_im * w_re - d_re * w_im);
      }
    }
  }
}

void bit_reverse(Words& x) {
  const std::size_t n = x.size();
  for (std::size_t i = 0, j = 0; i < n; ++i, j = slots::next_reversed(j, n)) {
    if (i < j) std::swap(x[i], x[j]);
  }
}

}  // namespace

crypto::LockedVector<std::int64_t> embed_secret(const SlotTransform& transform,
                                                std::span<const std::int8_t> values, double scale) {
  const std::size_t n = values.size();
  if (!std::has_single_bit(n) || n > static_cast<std::size_t>(transform.max_slots())) {
    throw ShapeError("ckks.embed_secret", std::to_string(n) + " slots",
                     "a power of two up to " + std::to_string(transform.max_slots()),
                     "pass the slots of one ciphertext");
  }
  if (!(scale >= 1 && scale < slots::kCoefficientLimit)) {
    throw ScaleError("ckks.embed_secret", "scale " + std::to_string(scale), "1 <= scale < 2^62",
                     "encode at the scale of the key");
  }
  Words re(n), im(n);
  for (std::size_t i = 0; i < n; ++i) {
    re[i] = std::int64_t{values[i]} * (std::int64_t{1} << kFraction);
  }
  inverse(transform.tables(), re.data(), im.data(), n);
  bit_reverse(re);
  bit_reverse(im);
  // scale = mantissa 2^(exponent - 53). The shift removes the fraction: 52 to 113 bits.
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(scale, &exponent), 53));
  const int shift = kFraction + 53 - exponent;
  const auto scaled = [&](std::int64_t x) {
    const Wide product = static_cast<Wide>(x) * mantissa;
    const Wide odd = (product >> shift) & 1;
    return static_cast<std::int64_t>((product + (Wide{1} << (shift - 1)) - 1 + odd) >> shift);
  };
  const auto half = static_cast<std::size_t>(transform.max_slots());
  const std::size_t gap = half / n;
  Words out(2 * half);
  for (std::size_t k = 0; k < n; ++k) {
    out[k * gap] = scaled(re[k]);
    out[half + k * gap] = scaled(im[k]);
  }
  return out;
}

}  // namespace latticino::ckks
