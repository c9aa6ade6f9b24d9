#include "math/primes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "math/modulus.h"

namespace latticino {
namespace {

constexpr std::uint32_t kPrimeLimit = std::uint32_t{1} << 31;

bool contains(const std::vector<std::uint32_t>& list, std::uint32_t q) {
  return std::find(list.begin(), list.end(), q) != list.end();
}

// Walks k in q = 2N k + 1 away from a starting point, in one direction.
class Walk {
 public:
  Walk(int log_n, std::int64_t k, int step) : shift_(log_n + 1), k_(k), step_(step) {}

  // The next prime of the walk, or 0 at the end of the range.
  std::uint32_t next() {
    for (;; k_ += step_) {
      const std::int64_t q = (k_ << shift_) + 1;
      if (k_ < 1 || q >= kPrimeLimit) return 0;
      if (!is_prime(static_cast<std::uint32_t>(q))) continue;
      k_ += step_;
      return static_cast<std::uint32_t>(q);
    }
  }

 private:
  int shift_;
  std::int64_t k_;
  int step_;
};

// Least x with log2_fixed(x) >= target, at most 2^31.
std::uint32_t exp2_ceiling(Log2 target) {
  std::uint32_t low = 1, high = kPrimeLimit;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (log2_fixed(middle) < target) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

bool is_prime(std::uint32_t n) {
  if (n < 2) return false;
  for (const std::uint32_t p : {2u, 3u, 5u, 7u, 11u, 13u}) {
    if (n % p == 0) return n == p;
  }
  const Modulus m = make_modulus(n);
  const int twos = std::countr_zero(n - 1);
  for (const std::uint32_t base : {2u, 3u, 5u, 7u}) {
    std::uint32_t x = pow_mod(base, (n - 1) >> twos, m);
    if (x == 1 || x == n - 1) continue;
    bool witness = true;
    for (int i = 1; i < twos && witness; ++i) {
      x = mul_mod(x, x, m);
      witness = x != n - 1;
    }
    if (witness) return false;
  }
  return true;
}

bool is_ntt_prime(int log_n, std::uint32_t q) {
  const std::uint32_t order_mask = (std::uint32_t{2} << log_n) - 1;
  return q < kPrimeLimit && (q & order_mask) == 1 && is_prime(q);
}

Log2 log2_fixed(std::uint32_t x) {
  const int exponent = std::bit_width(x) - 1;
  std::uint64_t mantissa = static_cast<std::uint64_t>(x) << (63 - exponent);  // [1, 2) times 2^63
  Log2 log = exponent;
  for (int i = 0; i < kLog2Bits; ++i) {
    const std::uint64_t square = mulhi_u64(mantissa, mantissa);  // [1, 4) times 2^62
    const bool bit = (square >> 63) != 0;
    mantissa = bit ? square : square << 1;
    log = log * 2 + (bit ? 1 : 0);
  }
  return log;
}

Log2 log2_fixed(double bits) { return std::llround(std::ldexp(bits, kLog2Bits)); }

std::vector<std::uint32_t> ntt_primes_below(int log_n, std::uint32_t bound, int count) {
  std::vector<std::uint32_t> out;
  Walk down(log_n, (static_cast<std::int64_t>(bound) - 2) >> (log_n + 1), -1);
  while (static_cast<int>(out.size()) < count) {
    const std::uint32_t q = down.next();
    if (q == 0) break;
    out.push_back(q);
  }
  return out;
}

std::vector<std::uint32_t> ntt_primes_near(int log_n, Log2 target, Log2 distance, int count,
                                           const std::vector<std::uint32_t>& excluded) {
  const std::int64_t middle = exp2_ceiling(target) >> (log_n + 1);
  Walk up(log_n, middle + 1, 1), down(log_n, middle, -1);
  std::uint32_t above = up.next(), below = down.next();
  std::vector<std::uint32_t> out;
  while (static_cast<int>(out.size()) < count && (above != 0 || below != 0)) {
    const Log2 far = std::int64_t{1} << 60;
    const Log2 to_above = above == 0 ? far : std::abs(log2_fixed(above) - target);
    const Log2 to_below = below == 0 ? far : std::abs(log2_fixed(below) - target);
    if (std::min(to_above, to_below) > distance) break;
    const bool take_below = to_below <= to_above;
    const std::uint32_t q = take_below ? below : above;
    (take_below ? below : above) = take_below ? down.next() : up.next();
    if (!contains(excluded, q)) out.push_back(q);
  }
  return out;
}

}  // namespace latticino
