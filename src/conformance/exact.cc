#include "conformance/exact.h"

#include <cmath>

namespace latticino::conformance::exact {
namespace {

// The product of all primes except number j.
BigUint cofactor(const std::vector<std::uint32_t>& primes, std::size_t j) {
  BigUint product(1);
  for (std::size_t k = 0; k < primes.size(); ++k) {
    if (k != j) product *= primes[k];
  }
  return product;
}

}  // namespace

std::uint32_t power(std::uint64_t x, std::uint64_t e, std::uint32_t q) {
  std::uint32_t y = 1;
  for (; e != 0; e >>= 1) {
    if (e & 1) y = mul(y, x, q);
    x = mul(x, x, q);
  }
  return y;
}

std::uint32_t inverse(std::uint64_t x, std::uint32_t q) { return power(x, q - 2, q); }

std::uint32_t residue(std::int64_t x, std::uint32_t q) {
  const std::int64_t r = x % static_cast<std::int64_t>(q);
  return static_cast<std::uint32_t>(r < 0 ? r + q : r);
}

std::uint32_t reverse_bits(std::uint32_t x, int bits) {
  std::uint32_t y = 0;
  for (int i = 0; i < bits; ++i) y |= (x >> i & 1) << (bits - 1 - i);
  return y;
}

std::vector<std::size_t> positions(std::size_t n) {
  std::vector<std::size_t> out = {n / 2};
  const std::size_t step = n <= 4096 ? 1 : n / 2048 + 3;
  for (std::size_t i = 0; i < n; i += step) out.push_back(i);
  return out;
}

std::vector<std::size_t> samples(std::size_t n) {
  return {0, 1, n / 2 - 1, n / 2, n - 1, mix(n) % n, mix(n + 1) % n};
}

std::uint32_t source_index(std::uint32_t i, std::uint32_t g, int log_n) {
  const std::uint64_t exponent = std::uint64_t{g} * (2 * reverse_bits(i, log_n) + 1);
  return reverse_bits(static_cast<std::uint32_t>(exponent % (std::uint64_t{2} << log_n) / 2),
                      log_n);
}

std::uint32_t evaluate(const std::uint32_t* coefficients, std::size_t n, std::uint32_t x,
                       std::uint32_t q) {
  std::uint64_t value = 0;
  for (std::size_t k = n; k-- > 0;) value = (value * x + coefficients[k]) % q;
  return static_cast<std::uint32_t>(value);
}

long double coefficient(const std::vector<double>& z, std::size_t n, std::size_t index,
                        double factor) {
  const std::size_t slots = z.size() / 2, part = index / (n / 2), k = index % (n / 2);
  if (k % (n / 2 / slots) != 0) return 0;
  long double sum = 0;
  std::size_t power = k % (2 * n);
  for (std::size_t j = 0; j < slots; ++j, power = power * 5 % (2 * n)) {
    const long double angle = -std::acos(-1.0L) * power / n;
    const long double c = std::cos(angle), s = std::sin(angle);
    sum += part == 0 ? z[2 * j] * c - z[2 * j + 1] * s : z[2 * j] * s + z[2 * j + 1] * c;
  }
  return sum / slots * factor;
}

std::vector<std::uint32_t> primes(const Ring& ring, const Basis& basis) {
  std::vector<std::uint32_t> out;
  out.reserve(basis.size());
  for (int i = 0; i < basis.size(); ++i) out.push_back(ring.prime(basis.prime(i)));
  return out;
}

BigUint reconstruct(const std::vector<std::uint32_t>& residues,
                    const std::vector<std::uint32_t>& primes) {
  const BigUint modulus = product(primes);
  BigUint sum;
  for (std::size_t j = 0; j < primes.size(); ++j) {
    BigUint term = cofactor(primes, j);
    term *= mul(residues[j], inverse(term.mod(primes[j]), primes[j]), primes[j]);
    sum += term;
    if (sum >= modulus) sum -= modulus;
  }
  return sum;
}

BigUint converted(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& extra,
                  const std::vector<std::uint32_t>& primes) {
  BigUint sum;
  for (std::size_t j = 0; j < primes.size(); ++j) {
    const std::uint32_t q = primes[j];
    BigUint term = cofactor(primes, j);
    std::uint32_t y = mul(a[j], inverse(term.mod(q), q), q);
    for (const std::uint32_t u : extra) y = mul(y, u, q);
    term *= y > q / 2 ? y : y + q;  // centred(y) + q
    sum += term;
  }
  return sum;
}

}  // namespace latticino::conformance::exact
