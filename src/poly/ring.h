#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace latticino {

// What a backend stores with a table of constants, such as copies on the device or derived tables.
class BackendTable {
 public:
  virtual ~BackendTable() = default;
};

// Z[X]/(X^N+1) with an ordered list of NTT primes q = 1 mod 2N, q < 2^31. Immutable.
// A CKKS ring lists terminals in reverse, then mains, then outer terminals in reverse, then
// auxiliaries: levels are few runs.
class Ring {
 public:
  Ring(int log_n, std::vector<std::uint32_t> primes);

  int log_n() const { return log_n_; }
  int n() const { return 1 << log_n_; }
  int prime_count() const { return static_cast<int>(primes_.size()); }
  std::uint32_t prime(int i) const { return primes_[i]; }
  const std::vector<std::uint32_t>& primes() const { return primes_; }
  // The primitive 2N-th root that is used for prime i: x^((q-1)/2N) for the least x >= 2 that gives
  // one.
  std::uint32_t psi(int i) const { return psi_[i]; }

  // The derived tables of the backend that owns the ring. The first operation that needs them
  // builds them, once. A Ring serves one backend instance.
  std::shared_ptr<BackendTable>& backend_table() const { return backend_table_; }
  std::once_flag& backend_once() const { return backend_once_; }

 private:
  int log_n_;
  std::vector<std::uint32_t> primes_;
  std::vector<std::uint32_t> psi_;
  mutable std::shared_ptr<BackendTable> backend_table_;
  mutable std::once_flag backend_once_;
};

}  // namespace latticino
