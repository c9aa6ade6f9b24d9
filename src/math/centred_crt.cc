#include "math/centred_crt.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace latticino {
namespace {

constexpr std::size_t kMaxFew = 8;  // number of primes that the guess is made from

__extension__ typedef __int128 Signed128;

// x / scale for x = magnitude (64-bit words, low first) of the given sign.
double quotient(std::span<const std::uint64_t> words, bool negative, double scale) {
  int top = static_cast<int>(words.size()) - 1;
  while (top >= 0 && words[top] == 0) --top;
  if (top < 0) return 0.0;
  // The leading 64 bits, with everything below them in the last one (sticky): rounds like x.
  const int shift = std::countl_zero(words[top]);
  std::uint64_t lead = words[top] << shift;
  if (top > 0 && shift > 0) lead |= words[top - 1] >> (64 - shift);
  bool rest = top > 0 && shift < 64 && (words[top - 1] << shift) != 0;
  for (int i = top - 2; i >= 0; --i) rest = rest || words[i] != 0;
  const double mantissa = static_cast<double>(lead | (rest ? 1 : 0));
  int exponent = 0;
  const double divisor = std::frexp(scale, &exponent);
  const double magnitude = std::ldexp(mantissa / divisor, 64 * top - shift - exponent);
  return negative ? -magnitude : magnitude;
}

}  // namespace

CentredCrt::CentredCrt(std::span<const std::uint32_t> primes) {
  double bits = 0;
  for (std::size_t i = 0; i < primes.size(); ++i) {
    const Modulus m = make_modulus(primes[i]);
    moduli_.push_back(m);
    std::vector<std::uint32_t> prefix{1 % m.q};
    for (std::size_t j = 0; j < i; ++j) {
      prefix.push_back(mul_mod(prefix.back(), primes[j] % m.q, m));
    }
    inverse_.push_back(inverse_mod(prefix.back(), m));
    prefix_.push_back(std::move(prefix));
    two_64_.push_back(reduce_u64(reduce_u64(~std::uint64_t{0}, m) + 1, m));
    bits += std::log2(primes[i]);
    if (bits < 120 && few_ == i && i < kMaxFew) few_ = i + 1;
  }
}

// Balanced mixed radix (Garner): x = sum_i d_i q_0 .. q_(i-1), |d_i| <= (q_i - 1)/2. The digits of
// the extremes are +-(q_i - 1)/2 and add up to +-(Q - 1)/2, so x is centred by construction.
void CentredCrt::digits(std::span<const std::uint32_t> residues,
                        std::span<std::int32_t> out) const {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Modulus& m = moduli_[i];
    // |digit| < 2^30, prefix < 2^31: folded after every product, |sum| stays below 2^62.
    std::int64_t sum = 0;
    for (std::size_t j = 0; j < i; ++j) {
      sum += static_cast<std::int64_t>(out[j]) * prefix_[i][j];
      sum = reduce_s64(sum, m);
    }
    const std::uint32_t rest = sub_mod(residues[i], static_cast<std::uint32_t>(sum), m.q);
    out[i] = centre(mul_mod(rest, inverse_[i], m), m.q);
  }
}

double CentredCrt::divided(std::span<const std::uint32_t> residues, double scale) const {
  std::int32_t d[kMaxFew];
  digits(residues, std::span(d, few_));
  Signed128 x = 0;
  for (std::size_t i = few_; i-- > 0;) x = x * moduli_[i].q + d[i];
  const bool negative = x < 0;
  const auto magnitude = static_cast<unsigned __int128>(negative ? -x : x);
  const std::uint64_t words[2] = {static_cast<std::uint64_t>(magnitude),
                                  static_cast<std::uint64_t>(magnitude >> 64)};
  for (std::size_t i = few_; i < moduli_.size(); ++i) {
    const Modulus& m = moduli_[i];
    const std::uint64_t high = static_cast<std::uint64_t>(reduce_u64(words[1], m)) * two_64_[i];
    const std::uint32_t residue = reduce_u64(high + reduce_u64(words[0], m), m);
    if ((negative ? neg_mod(residue, m.q) : residue) != residues[i]) return full(residues, scale);
  }
  return quotient(words, negative, scale);
}

double CentredCrt::full(std::span<const std::uint32_t> residues, double scale) const {
  std::vector<std::int32_t> d(moduli_.size());
  digits(residues, d);
  std::size_t top = d.size();
  while (top > 0 && d[top - 1] == 0) --top;
  if (top == 0) return 0.0;
  // The highest digit gives the sign: what is below it adds up to less than half of its weight.
  const bool negative = d[top - 1] < 0;
  std::vector<std::uint64_t> words(top / 2 + 1);  // 31 bits per prime
  for (std::size_t i = top; i-- > 0;) {
    unsigned __int128 carry = 0;
    for (std::uint64_t& w : words) {
      carry += static_cast<unsigned __int128>(w) * moduli_[i].q;
      w = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    // The partial value is at least 1 above the first digit, so adding d never goes below 0.
    std::int64_t add = negative ? -d[i] : d[i];
    for (std::uint64_t& w : words) {
      const Signed128 sum = static_cast<Signed128>(w) + add;
      w = static_cast<std::uint64_t>(sum);
      add = static_cast<std::int64_t>(sum >> 64);
    }
  }
  return quotient(words, negative, scale);
}

}  // namespace latticino
