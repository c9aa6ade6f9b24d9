// Arithmetic for checking results against their definitions. It shares no code with any backend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/side.h"
#include "math/big_uint.h"

namespace latticino::conformance::exact {

inline std::uint32_t mul(std::uint64_t a, std::uint64_t b, std::uint32_t q) {
  return static_cast<std::uint32_t>(a % q * (b % q) % q);
}
inline std::uint32_t add(std::uint64_t a, std::uint64_t b, std::uint32_t q) {
  return static_cast<std::uint32_t>((a % q + b % q) % q);
}
inline std::uint32_t negate(std::uint64_t a, std::uint32_t q) {
  return static_cast<std::uint32_t>((q - a % q) % q);
}
std::uint32_t power(std::uint64_t x, std::uint64_t e, std::uint32_t q);
std::uint32_t inverse(std::uint64_t x, std::uint32_t q);
std::uint32_t residue(std::int64_t x, std::uint32_t q);
std::uint32_t reverse_bits(std::uint32_t x, int bits);

// Positions that a cheap check looks at: all of a small polynomial, some thousands of a large one.
std::vector<std::size_t> positions(std::size_t n);
// A few positions of a polynomial: both ends, the middle, some in between.
std::vector<std::size_t> samples(std::size_t n);

// Eval index that the automorphism by g takes output entry i from (poly/domain.h).
std::uint32_t source_index(std::uint32_t i, std::uint32_t g, int log_n);

// The polynomial with these coefficients at x.
std::uint32_t evaluate(const std::uint32_t* coefficients, std::size_t n, std::uint32_t x,
                       std::uint32_t q);

// Coefficient `index` of the integers that slots z (pairs) stand for at scale `factor`, by its
// definition: the mean of z_j zeta^(-5^j k), zeta = exp(i pi / n).
long double coefficient(const std::vector<double>& z, std::size_t n, std::size_t index,
                        double factor);

std::vector<std::uint32_t> primes(const Ring& ring, const Basis& basis);
// The x in [0, prod primes) with these residues.
BigUint reconstruct(const std::vector<std::uint32_t>& residues,
                    const std::vector<std::uint32_t>& primes);
// sum_j (y_j + q_j) D/q_j for y_j = centred(a_j U (D/q_j)^-1 mod q_j), D and U the products of
// `primes` and `extra`: the converted value plus (number of primes) D, so that it is positive.
BigUint converted(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& extra,
                  const std::vector<std::uint32_t>& primes);

// Reports the first difference, if there is one.
class Verdict {
 public:
  void expect(const char* what, int prime, std::size_t index, std::uint32_t got,
              std::uint32_t want) {
    if (got == want || !text_.empty()) return;
    text_ = std::string(what) + " at prime " + std::to_string(prime) + " entry " +
            std::to_string(index) + ": " + std::to_string(got) + ", exact " + std::to_string(want);
  }
  void expect(const char* what, bool holds) {
    if (!holds && text_.empty()) text_ = what;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace latticino::conformance::exact
