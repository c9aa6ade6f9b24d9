#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace latticino {

// A run of consecutive primes of a Ring.
struct PrimeRange {
  std::uint16_t begin = 0;
  std::uint16_t end = 0;
  int size() const { return end - begin; }
  bool operator==(const PrimeRange&) const = default;
};

// An ordered set of primes: a few increasing, disjoint, non-empty runs of a Ring's prime list.
// Where levels take the first primes of lists, a level with the auxiliary primes is two runs, and a
// ModUp target (all but one digit, with the auxiliary primes) three. Free terminals need more; with
// five a PolyView fills one line of the cache.
class Basis {
 public:
  static constexpr int kMaxRuns = 5;
  Basis() = default;
  Basis(std::initializer_list<PrimeRange> runs) : Basis(std::span(runs.begin(), runs.size())) {}
  explicit Basis(std::span<const PrimeRange> runs);

  int runs() const { return count_; }
  const PrimeRange& run(int i) const { return run_[i]; }
  int size() const;        // number of primes
  int prime(int i) const;  // index in the Ring of prime number i, 0 <= i < size()
  bool contains(int prime) const;
  bool contains(const Basis& other) const;
  Basis without(const Basis& other) const;  // set difference; ShapeError over kMaxRuns runs
  Basis with(const Basis& other) const;     // union of disjoint sets, in the order of primes
  Basis intersect(const Basis& other) const;
  bool operator==(const Basis&) const = default;
  std::string str() const;  // text such as "[2,7)+[47,59)"

 private:
  std::array<PrimeRange, kMaxRuns> run_{};
  int count_ = 0;
};

}  // namespace latticino
