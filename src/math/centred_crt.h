// Exact reconstruction of centred integers from residues.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "math/modulus.h"

namespace latticino {

// Moduli of any length. The integer is guessed from the first few residues (balanced mixed radix,
// below 2^120), and the guess is compared with all other residues. It is right for every value far
// below Q, at the cost of one reduction per residue. Values that fail the comparison are
// reconstructed in full. Branches depend on the value, so only the owner of the key may use it.
class CentredCrt {
 public:
  explicit CentredCrt(std::span<const std::uint32_t> primes);

  // The integer x in (-Q/2, Q/2) with these residues (one per prime, canonical), divided by `scale`
  // > 0: x is rounded once (to nearest) and the quotient once. Infinite above the double range.
  double divided(std::span<const std::uint32_t> residues, double scale) const;

 private:
  void digits(std::span<const std::uint32_t> residues, std::span<std::int32_t> out) const;
  double full(std::span<const std::uint32_t> residues, double scale) const;

  std::vector<Modulus> moduli_;
  // prefix_[i][j] = q_0 .. q_(j-1) mod q_i for j < i; inverse_[i] = (q_0 .. q_(i-1))^-1 mod q_i.
  std::vector<std::vector<std::uint32_t>> prefix_;
  std::vector<std::uint32_t> inverse_;
  std::vector<std::uint32_t> two_64_;  // 2^64 mod q_i
  std::size_t few_ = 0;                // number of primes that the guess is made from
};

}  // namespace latticino
