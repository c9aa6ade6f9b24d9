#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "poly/basis.h"
#include "poly/ring.h"

namespace latticino {

// Constants of one base conversion (paper: Cheddar, Sec. 2.3 and 4): immutable, shared, checked.
//   y_j   = centred(a_j * factor_j mod q_j),  |y_j| <= (q_j-1)/2
//   out_i = sum_j y_j * matrix[i][j]  mod p_i, canonical
// for source primes q_j and target primes p_i. Every path (scalar, SIMD, CUDA, matrix units)
// computes exactly these integers. The constructor asserts that with centred matrix entries times
// 2^64 mod p_i (the double-Montgomery table) the 64-bit accumulator cannot overflow.
class BaseConversion {
 public:
  // The fast conversion of x mod D (D = product of `from`) to `to`: factor_j = [extra_j *
  // (D/q_j)^-1]_{q_j}, matrix[i][j] = [D/q_j]_{p_i}. `extra` (one residue per source prime, or
  // empty for 1) multiplies x first: the rational-rescale factor prod(U) goes there. `scale` (one
  // residue per target prime, or empty for 1) multiplies what comes out, matrix[i][j] = [scale_i
  // D/q_j]_{p_i}: the 1/D of a division by D goes there.
  BaseConversion(const Ring& ring, const Basis& from, const Basis& to,
                 const std::vector<std::uint32_t>& extra = {},
                 const std::vector<std::uint32_t>& scale = {});

  const Ring& ring() const { return *ring_; }
  const Basis& from() const { return from_; }
  const Basis& to() const { return to_; }
  std::uint32_t factor(int j) const { return factor_[j]; }
  std::uint32_t matrix(int i, int j) const { return matrix_[i * from_.size() + j]; }
  // Largest |accumulator| the double-Montgomery table can reach, over all targets.
  std::uint64_t accumulator_bound() const { return accumulator_bound_; }

  // The terms of some source primes in the sums of some target primes: sums over disjoint sources
  // add up to the whole. For backends that take few runs of primes. Made on first use, and kept
  // with this table.
  const BaseConversion& part(const Basis& from, const Basis& to) const;

  std::shared_ptr<BackendTable>& backend_table() const { return backend_table_; }
  std::once_flag& backend_once() const { return backend_once_; }

 private:
  BaseConversion(const BaseConversion& whole, const Basis& from, const Basis& to);
  const Ring* ring_;
  Basis from_, to_;
  std::vector<std::uint32_t> factor_, matrix_;
  std::uint64_t accumulator_bound_ = 0;
  mutable std::shared_ptr<BackendTable> backend_table_;
  mutable std::once_flag backend_once_;
  mutable std::mutex parts_mutex_;
  mutable std::vector<std::unique_ptr<const BaseConversion>> parts_;
};

}  // namespace latticino
