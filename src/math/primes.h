// Primes that allow the negacyclic transform, and base-2 logarithms by which they are chosen.
// Everything here is integer arithmetic, so that a generated prime list is the same everywhere.
#pragma once

#include <cstdint>
#include <vector>

namespace latticino {

// Deterministic Miller-Rabin: bases 2, 3, 5, 7 decide every n below 3215031751 (Jaeschke 1993).
// Asks for n < 2^31.
bool is_prime(std::uint32_t n);

// q is prime, q < 2^31 and q = 1 mod 2N.
bool is_ntt_prime(int log_n, std::uint32_t q);

// log2 in units of 2^-40. The last unit may be wrong, but is the same on every machine.
using Log2 = std::int64_t;
inline constexpr int kLog2Bits = 40;
Log2 log2_fixed(std::uint32_t x);  // x >= 1
Log2 log2_fixed(double bits);      // `bits`, rounded to the nearest unit
inline double to_double(Log2 x) { return static_cast<double>(x) / (std::int64_t{1} << kLog2Bits); }

// The largest `count` NTT primes below `bound` (<= 2^31), in decreasing order.
std::vector<std::uint32_t> ntt_primes_below(int log_n, std::uint32_t bound, int count);

// At most `count` NTT primes q with |log2 q - target| <= distance, nearest first, none of
// `excluded`.
std::vector<std::uint32_t> ntt_primes_near(int log_n, Log2 target, Log2 distance, int count,
                                           const std::vector<std::uint32_t>& excluded);

}  // namespace latticino
