#include "poly/basis.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "math/errors.h"

namespace latticino {
namespace {

// The primes that `keep` chooses, depending on whether x and y have them. This changes only at the
// ends of runs, so runs are compared and not primes, because bases are computed for every record.
template <class Keep>
Basis chosen(const Basis& x, const Basis& y, Keep keep, const char* operation) {
  std::array<std::uint16_t, 4 * Basis::kMaxRuns> edge;
  int edges = 0;
  for (const Basis* basis : {&x, &y}) {
    for (int r = 0; r < basis->runs(); ++r) {
      edge[edges++] = basis->run(r).begin;
      edge[edges++] = basis->run(r).end;
    }
  }
  std::sort(edge.begin(), edge.begin() + edges);
  std::array<PrimeRange, 4 * Basis::kMaxRuns> run;
  int runs = 0;
  for (int e = 0; e + 1 < edges; ++e) {
    const PrimeRange between{edge[e], edge[e + 1]};
    if (between.size() == 0 || !keep(x.contains(between.begin), y.contains(between.begin)))
      continue;
    if (runs > 0 && run[runs - 1].end == between.begin) {
      run[runs - 1].end = between.end;
    } else {
      run[runs++] = between;
    }
  }
  if (runs > Basis::kMaxRuns) {
    throw ShapeError(operation, std::to_string(runs) + " runs of primes",
                     "at most " + std::to_string(Basis::kMaxRuns), "split the basis");
  }
  return Basis(std::span(run.data(), static_cast<std::size_t>(runs)));
}

}  // namespace

Basis::Basis(std::span<const PrimeRange> runs) {
  for (const PrimeRange& r : runs) {
    if (r.size() == 0) continue;
    const bool ordered = count_ == 0 || run_[count_ - 1].end <= r.begin;
    if (r.end < r.begin || !ordered) {
      throw ShapeError("Basis", "runs out of order", "increasing, disjoint runs", "sort them");
    }
    if (count_ > 0 && run_[count_ - 1].end == r.begin) {
      run_[count_ - 1].end = r.end;
    } else if (count_ == kMaxRuns) {
      throw ShapeError("Basis", std::to_string(runs.size()) + " runs of primes",
                       "at most " + std::to_string(kMaxRuns), "split the basis");
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
  throw ShapeError("Basis::prime", "index past the end", "an index below size()",
                   "check the basis");
}

bool Basis::contains(int prime) const {
  for (int r = 0; r < count_; ++r) {
    if (run_[r].begin <= prime && prime < run_[r].end) return true;
  }
  return false;
}

// Neighbouring runs are joined, so each run of the other basis lies within one run of this one.
bool Basis::contains(const Basis& other) const {
  for (int o = 0; o < other.count_; ++o) {
    bool within = false;
    for (int r = 0; r < count_; ++r) {
      within = within || (run_[r].begin <= other.run_[o].begin && other.run_[o].end <= run_[r].end);
    }
    if (!within) return false;
  }
  return true;
}

Basis Basis::without(const Basis& other) const {
  return chosen(
      *this, other, [](bool x, bool y) { return x && !y; }, "Basis::without");
}

Basis Basis::intersect(const Basis& other) const {
  return chosen(
      *this, other, [](bool x, bool y) { return x && y; }, "Basis::intersect");
}

Basis Basis::with(const Basis& other) const {
  return chosen(
      *this, other, [](bool x, bool y) { return x || y; }, "Basis::with");
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
