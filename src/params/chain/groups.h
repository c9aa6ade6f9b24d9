// Primes by the size of their product: one, a pair, or a few that multiply to a target.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "math/primes.h"

namespace latticino {

// Primes of one ring below a bound. Each is taken at most once.
class PrimeGroups {
 public:
  PrimeGroups(int log_n, std::uint32_t bound) : log_n_(log_n), bound_(bound) {}

  void reserve(std::uint32_t q) { used_.push_back(q); }  // primes that are never taken
  void release() { used_.pop_back(); }                   // the last one reserved or taken

  // Each appends to `list` and throws ParameterError if no primes are near the target.
  void take_nearest(Log2 target, std::vector<std::uint32_t>& list);
  // The pair whose product is nearest to 2^target, from the narrowest pool that has a good pair.
  void take_pair(Log2 target, std::vector<std::uint32_t>& list);
  // Takes `count` primes with product 2^target.
  void take_group(Log2 target, int count, std::vector<std::uint32_t>& list);

 private:
  std::vector<std::uint32_t> near(Log2 target, Log2 width, int count) const;
  void take(std::uint32_t q, std::vector<std::uint32_t>& list);
  [[noreturn]] void fail(const std::string& what) const;
  int log_n_;
  std::uint32_t bound_;
  std::vector<std::uint32_t> used_;
};

}  // namespace latticino
