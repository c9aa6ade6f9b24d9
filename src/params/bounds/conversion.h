// The 64-bit bound of base conversion with centred inputs.
#pragma once

#include <cstdint>
#include <vector>

namespace latticino {

// Largest possible |accumulator| of the conversion of the source primes q_j to the target primes
// p_i, over 2^63: max_i sum_j |T_ij| (q_j - 1)/2, T_ij = the centred residue of (D/q_j) 2^64 mod
// p_i, D = product of the sources; `divided`: of q_j^-1 2^64, as of a division by D. Below 1 the
// sum of products never overflows a signed 64-bit integer, whatever the data. No target may be a
// source.
double conversion_load(const std::vector<std::uint32_t>& sources,
                       const std::vector<std::uint32_t>& targets, bool divided = false);

}  // namespace latticino
