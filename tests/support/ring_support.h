// Small rings, random residues and uploaded polynomials for tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "math/modulus.h"
#include "runtime/queue.h"

namespace latticino::test {

using Words = std::vector<std::uint32_t>;

inline bool trial_prime(std::uint32_t q) {
  for (std::uint32_t d = 3; std::uint64_t{d} * d <= q; d += 2) {
    if (q % d == 0) return false;
  }
  return q % 2 == 1;
}

// The `count` largest primes below `bound` that are 1 modulo 2N.
inline Words ntt_primes(int log_n, int count, std::uint32_t bound = 1u << 31) {
  Words primes;
  const std::uint32_t step = 2u << log_n;
  for (std::uint32_t q = (bound - 2) / step * step + 1; static_cast<int>(primes.size()) < count;
       q -= step) {
    if (trial_prime(q)) primes.push_back(q);
  }
  return primes;
}

inline Basis range(int begin, int end) {
  return {{static_cast<std::uint16_t>(begin), static_cast<std::uint16_t>(end)}};
}

// Uniform canonical residues, limb after limb.
inline Words random_words(const Ring& ring, const Basis& basis, std::mt19937_64& random) {
  Words words;
  for (int i = 0; i < basis.size(); ++i) {
    for (int k = 0; k < ring.n(); ++k) {
      words.push_back(static_cast<std::uint32_t>(random() % ring.prime(basis.prime(i))));
    }
  }
  return words;
}

inline Poly upload(Queue& queue, const Ring& ring, const Basis& basis, Domain domain,
                   const Words& words) {
  Poly p = queue.allocate(ring, basis, domain);
  queue.upload(p.view, words.data());
  return p;
}

inline Words download(Queue& queue, const PolyView& v) {
  Words words(static_cast<std::size_t>(v.limbs()) * v.ring->n());
  queue.download(words.data(), v);
  return words;
}

// Ciphertexts without gaps between them.
inline Words download(Queue& queue, const LweView& v) {
  Words words(v.words()), packed;
  queue.copy_out(words.data(), v.data, words.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < v.count; ++i) {
    const auto at = words.begin() + static_cast<std::ptrdiff_t>(i * v.stride);
    packed.insert(packed.end(), at, at + v.dimension + 1);
  }
  return packed;
}

inline std::uint32_t bit_reverse(std::uint32_t x, int bits) {
  std::uint32_t y = 0;
  for (int i = 0; i < bits; ++i) y |= ((x >> i) & 1u) << (bits - 1 - i);
  return y;
}

}  // namespace latticino::test
