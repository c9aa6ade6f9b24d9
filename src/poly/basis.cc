#include "poly/basis.h"

#include <string>
#include <vector>

#include "math/errors.h"

namespace latticino {
namespace {

// Rebuilds runs from a membership list in increasing order, merging neighbours.
template <class Keep>
Basis filtered(const Basis& x, Keep keep, const char* operation) {
  std::vector<PrimeRange> runs;
  for (int i = 0; i < x.runs(); ++i) {
    for (int p = x.run(i).begin; p < x.run(i).end; ++p) {
      if (!keep(p)) continue;
      if (!runs.empty() && runs.back().end == p) {
        runs.back().end = static_cast<std::uint16_t>(p + 1);
      } else {
        runs.push_back({static_cast<std::uint16_t>(p), static_cast<std::uint16_t>(p + 1)});
      }
    }
  }
  if (runs.size() > Basis::kMaxRuns) {
    throw ShapeError(operation, std::to_string(runs.size()) + " runs of primes", "at most 3",
                     "split the basis");
  }
  switch (runs.size()) {
    case 0: return {};
    case 1: return {runs[0]};
    case 2: return {runs[0], runs[1]};
    default: return {runs[0], runs[1], runs[2]};
  }
}

}  // namespace

Basis::Basis(std::initializer_list<PrimeRange> runs) {
  for (const PrimeRange& r : runs) {
    if (r.size() == 0) continue;
    const bool ordered = count_ == 0 || run_[count_ - 1].end <= r.begin;
    if (r.end < r.begin || !ordered) {
      throw ShapeError("Basis", "runs out of order", "increasing, disjoint runs", "sort them");
    }
    if (count_ > 0 && run_[count_ - 1].end == r.begin) {
      run_[count_ - 1].end = r.end;
    } else if (count_ == kMaxRuns) {
      throw ShapeError("Basis", "more than 3 runs of primes", "at most 3", "split the basis");
    } else {
      run_[count_++] = r;
    }
  }
}

int Basis::size() const {
  int n = 0;
  for (int i = 0; i < count_; ++i) n += run_[i].size();
  return n;
}

int Basis::prime(int i) const {
  for (int r = 0; r < count_; ++r) {
    if (i < run_[r].size()) return run_[r].begin + i;
    i -= run_[r].size();
  }
  throw ShapeError("Basis::prime", "index past the end", "an index below size()", "check the basis");
}

bool Basis::contains(int prime) const {
  for (int r = 0; r < count_; ++r) {
    if (run_[r].begin <= prime && prime < run_[r].end) return true;
  }
  return false;
}

bool Basis::contains(const Basis& other) const {
  for (int r = 0; r < other.count_; ++r) {
    for (int p = other.run_[r].begin; p < other.run_[r].end; ++p) {
      if (!contains(p)) return false;
    }
  }
  return true;
}

Basis Basis::without(const Basis& other) const {
  return filtered(*this, [&](int p) { return !other.contains(p); }, "Basis::without");
}

Basis Basis::intersect(const Basis& other) const {
  return filtered(*this, [&](int p) { return other.contains(p); }, "Basis::intersect");
}

Basis Basis::with(const Basis& other) const {
  if (other.count_ == 0) return *this;
  if (count_ == 0) return other;
  const Basis hull{{static_cast<std::uint16_t>(std::min(run_[0].begin, other.run_[0].begin)),
                    std::max(run_[count_ - 1].end, other.run_[other.count_ - 1].end)}};
  return filtered(
      hull, [&](int p) { return contains(p) || other.contains(p); }, "Basis::with");
}

std::string Basis::str() const {
  std::string s;
  for (int r = 0; r < count_; ++r) {
    if (r > 0) s += "+";
    s += "[" + std::to_string(run_[r].begin) + "," + std::to_string(run_[r].end) + ")";
  }
  return count_ == 0 ? "[]" : s;
}

}  // namespace latticino
