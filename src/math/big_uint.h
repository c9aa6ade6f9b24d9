// Unsigned integers of any size, for exact products of primes. Set-up only: simple, not fast.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace latticino {

class BigUint {
 public:
  BigUint() = default;
  explicit BigUint(std::uint64_t x);

  bool is_zero() const { return limbs_.empty(); }
  int bit_length() const;
  std::uint32_t mod(std::uint32_t q) const;  // q >= 1
  double log2() const;                       // log2 of a value that is not zero, to about 2^-50

  BigUint& operator*=(std::uint32_t x);
  BigUint operator*(const BigUint& other) const;
  BigUint& operator+=(const BigUint& other);
  BigUint& operator-=(const BigUint& other);  // requires other <= *this
  BigUint& operator<<=(int bits);
  BigUint divided_by(std::uint32_t x) const;  // rounded down
  std::strong_ordering operator<=>(const BigUint& other) const;
  bool operator==(const BigUint&) const = default;

  // numerator / denominator rounded once to the nearest double (ties to even); both non-zero and
  // the quotient within the normal range.
  static double ratio(BigUint numerator, BigUint denominator);

 private:
  void trim();
  std::vector<std::uint32_t> limbs_;  // digits in little endian, without leading zeros
};

// Product of a list of factors.
BigUint product(const std::vector<std::uint32_t>& factors);

// 2^x by correctly rounded square roots and products only: the same bits on every machine, within
// a few units of the last place of the true value.
double exp2_reproducible(double x);

}  // namespace latticino
