// Bases of several runs, and views of them, compared with sets of primes.
#include "poly/basis.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "math/errors.h"
#include "poly/poly_view.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using Set = std::set<int>;
constexpr int kPrimes = 24;

int runs_of(const Set& x) {
  int runs = 0;
  for (const int p : x) runs += x.count(p - 1) == 0;
  return runs;
}

Set random_set(std::mt19937& random) {
  Set out;
  bool in = random() % 2 == 0;
  for (int p = 0; p < kPrimes; ++p) {
    if (random() % 4 == 0) in = !in;
    if (in) out.insert(p);
  }
  return out;
}

std::vector<PrimeRange> ranges(const Set& x) {
  std::vector<PrimeRange> out;
  for (const int p : x) {
    const auto at = static_cast<std::uint16_t>(p);
    if (x.count(p - 1) == 0) out.push_back({at, at});
    out.back().end = static_cast<std::uint16_t>(p + 1);
  }
  return out;
}

Set set_of(const Basis& x) {
  Set out;
  for (int i = 0; i < x.size(); ++i) out.insert(x.prime(i));
  return out;
}

// The result of an operation as a set, or that it is refused because it has more runs than a basis
// may have.
template <class Operation>
void expect_set(const Set& want, const Operation& operation) {
  if (runs_of(want) > Basis::kMaxRuns) {
    EXPECT_THROW(operation(), ShapeError);
    return;
  }
  const Basis have = operation();
  EXPECT_EQ(set_of(have), want);
  EXPECT_EQ(have.runs(), runs_of(want));
  EXPECT_EQ(have.size(), static_cast<int>(want.size()));
}

TEST(Basis, IsASetOfPrimes) {
  std::mt19937 random(1);
  int compared = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const Set x = random_set(random), y = random_set(random);
    expect_set(x, [&] { return Basis(ranges(x)); });
    if (std::max(runs_of(x), runs_of(y)) > Basis::kMaxRuns) continue;
    const Basis a(ranges(x)), b(ranges(y));
    Set both = x, common, rest;
    both.insert(y.begin(), y.end());
    for (const int p : x) (y.count(p) != 0 ? common : rest).insert(p);
    expect_set(both, [&] { return a.with(b); });
    expect_set(common, [&] { return a.intersect(b); });
    expect_set(rest, [&] { return a.without(b); });
    EXPECT_EQ(a.contains(b), std::includes(x.begin(), x.end(), y.begin(), y.end()));
    for (int p = 0; p < kPrimes; ++p) EXPECT_EQ(a.contains(p), x.count(p) != 0);
    EXPECT_EQ(a == b, x == y);
    EXPECT_THROW(static_cast<void>(a.prime(a.size())), ShapeError);
    ++compared;
    refused += runs_of(both) > Basis::kMaxRuns;
  }
  EXPECT_GT(compared, 1000);
  EXPECT_GT(refused, 10);
}

TEST(Basis, RefusesRunsOutOfOrder) {
  EXPECT_THROW((Basis{{3, 5}, {1, 2}}), ShapeError);
  EXPECT_THROW((Basis{{3, 5}, {4, 6}}), ShapeError);
  EXPECT_THROW((Basis{{5, 3}}), ShapeError);
  EXPECT_EQ((Basis{{1, 3}, {3, 5}, {7, 7}}).str(), "[1,5)");
  EXPECT_EQ((Basis{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}}).runs(), 5);
  EXPECT_THROW((Basis{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}}), ShapeError);
}

// Limbs stay where they are if views are restricted repeatedly.
TEST(PolyView, SelectsLimbsOfAnyRuns) {
  std::mt19937 random(2);
  const Ring ring(10, test::ntt_primes(10, kPrimes));
  std::vector<std::uint32_t> memory(std::size_t{kPrimes} << 10);
  int compared = 0;
  for (int round = 0; round < 2000; ++round) {
    const Set x = random_set(random), y = random_set(random);
    if (x.empty() || std::max(runs_of(x), runs_of(y)) > Basis::kMaxRuns) continue;
    const Basis a(ranges(x)), b(ranges(y));
    const PolyView v = PolyView::contiguous(memory.data(), ring, a, Domain::Eval);
    EXPECT_EQ(v.basis(), a);
    EXPECT_EQ(v.limbs(), a.size());
    int place = 0;
    for (const int p : x) EXPECT_EQ(v.limb(p), memory.data() + (std::size_t(place++) << 10));
    if (!a.contains(b)) {
      EXPECT_THROW(static_cast<void>(v.select(b)), ShapeError);
      continue;
    }
    if (b.size() == 0) continue;
    const PolyView part = v.select(b);
    EXPECT_EQ(part.basis(), b);
    EXPECT_EQ(int{part.segments}, b.runs());
    for (const int p : y) EXPECT_EQ(part.limb(p), v.limb(p));
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace latticino
