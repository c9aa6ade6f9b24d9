#include "math/big_uint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace latticino {

BigUint::BigUint(std::uint64_t x)
    : limbs_{static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32)} {
  trim();
}

void BigUint::trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
}

int BigUint::bit_length() const {
  return limbs_.empty() ? 0
                        : static_cast<int>(limbs_.size() - 1) * 32 + std::bit_width(limbs_.back());
}

std::uint32_t BigUint::mod(std::uint32_t q) const {
  std::uint64_t rest = 0;
  for (auto it = limbs_.rbegin(); it != limbs_.rend(); ++it) rest = ((rest << 32) | *it) % q;
  return static_cast<std::uint32_t>(rest);
}

double BigUint::log2() const {
  const std::size_t top = std::min<std::size_t>(limbs_.size(), 3);
  double leading = 0;
  for (std::size_t i = 0; i < top; ++i) {
    leading = leading * 4294967296.0 + limbs_[limbs_.size() - 1 - i];
  }
  return std::log2(leading) + 32.0 * static_cast<double>(limbs_.size() - top);
}

BigUint& BigUint::operator*=(std::uint32_t x) {
  std::uint64_t carry = 0;
  for (std::uint32_t& limb : limbs_) {
    carry += static_cast<std::uint64_t>(limb) * x;
    limb = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  limbs_.push_back(static_cast<std::uint32_t>(carry));
  trim();
  return *this;
}

BigUint BigUint::operator*(const BigUint& other) const {
  BigUint out;
  for (std::size_t i = other.limbs_.size(); i-- > 0;) {
    BigUint part = *this;
    part *= other.limbs_[i];
    out <<= 32;
    out += part;
  }
  return out;
}

BigUint& BigUint::operator+=(const BigUint& other) {
  limbs_.resize(std::max(limbs_.size(), other.limbs_.size()) + 1);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    carry += limbs_[i];
    if (i < other.limbs_.size()) carry += other.limbs_[i];
    limbs_[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  trim();
  return *this;
}

BigUint& BigUint::operator-=(const BigUint& other) {
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    std::int64_t digit = borrow + limbs_[i];
    if (i < other.limbs_.size()) digit -= other.limbs_[i];
    limbs_[i] = static_cast<std::uint32_t>(digit);
    borrow = digit < 0 ? -1 : 0;
  }
  trim();
  return *this;
}

BigUint& BigUint::operator<<=(int bits) {
  if (limbs_.empty()) return *this;
  if (bits % 32 != 0) *this *= std::uint32_t{1} << (bits % 32);
  limbs_.insert(limbs_.begin(), static_cast<std::size_t>(bits / 32), 0);
  return *this;
}

BigUint BigUint::divided_by(std::uint32_t x) const {
  BigUint out = *this;
  std::uint64_t rest = 0;
  for (auto it = out.limbs_.rbegin(); it != out.limbs_.rend(); ++it) {
    rest = (rest << 32) | *it;
    *it = static_cast<std::uint32_t>(rest / x);
    rest %= x;
  }
  out.trim();
  return out;
}

std::strong_ordering BigUint::operator<=>(const BigUint& other) const {
  if (limbs_.size() != other.limbs_.size()) return limbs_.size() <=> other.limbs_.size();
  for (std::size_t i = limbs_.size(); i-- > 0;) {
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] <=> other.limbs_[i];
  }
  return std::strong_ordering::equal;
}

double BigUint::ratio(BigUint numerator, BigUint denominator) {
  // Align so that numerator / denominator lies in [1/2, 2), then divide bit by bit: 55 quotient
  // bits hold the 53 of the result and at least one rounding bit; the rest only breaks ties.
  const int shift = numerator.bit_length() - denominator.bit_length();
  (shift > 0 ? denominator : numerator) <<= std::abs(shift);
  std::uint64_t quotient = 0;
  for (int i = 0; i < 56; ++i) {
    quotient <<= 1;
    if (numerator >= denominator) {
      numerator -= denominator;
      quotient |= 1;
    }
    numerator <<= 1;
  }
  if (!numerator.is_zero()) quotient |= 1;  // sticky: below the rounding bit of 55 or 56 bits
  return std::ldexp(static_cast<double>(quotient), shift - 55);
}

BigUint product(const std::vector<std::uint32_t>& factors) {
  BigUint out(1);
  for (const std::uint32_t f : factors) out *= f;
  return out;
}

double exp2_reproducible(double x) {
  const double whole = std::floor(x);
  double rest = x - whole, root = 2, y = 1;  // root = 2^(2^-i)
  for (int i = 1; i <= 52 && rest > 0; ++i) {
    root = std::sqrt(root);
    rest *= 2;
    if (rest >= 1) {
      y *= root;
      rest -= 1;
    }
  }
  return std::ldexp(y, static_cast<int>(whole));
}

}  // namespace latticino
