#include "params/chain/groups.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>

#include "math/errors.h"

namespace latticino {
namespace {

constexpr int kPool = 70;  // number of candidates that a pair is chosen from
const Log2 kWidths[] = {log2_fixed(0.25), log2_fixed(0.5), log2_fixed(1.0)};
// The error of a pair above which wider pools are tried.
const Log2 kAcceptedError = log2_fixed(0.005);
const Log2 kEqualErrors = log2_fixed(2e-4);  // errors up to this count as equal

std::string bits(Log2 x) { return "2^" + std::to_string(to_double(x)); }

// Compared first by the error, where all up to kEqualErrors are equal, and then by how far the
// primes are from equal size.
using Rank = std::tuple<Log2, Log2, std::uint32_t, std::uint32_t>;

Rank best_pair(const std::vector<std::uint32_t>& pool, Log2 target) {
  std::vector<Log2> logs;
  logs.reserve(pool.size());
  for (const std::uint32_t q : pool) logs.push_back(log2_fixed(q));
  Rank best{log2_fixed(4.0), 0, 0, 0};
  for (std::size_t i = 0; i < pool.size(); ++i) {
    for (std::size_t j = i + 1; j < pool.size(); ++j) {
      const Log2 error = std::abs(logs[i] + logs[j] - target);
      const Log2 spread = std::abs(2 * logs[i] - target) + std::abs(2 * logs[j] - target);
      const auto [low, high] = std::minmax(pool[i], pool[j]);
      best = std::min(best, Rank{std::max(error, kEqualErrors), spread, low, high});
    }
  }
  return best;
}

}  // namespace

void PrimeGroups::fail(const std::string& what) const {
  throw ParameterError(
      "params.pick_primes", "too few " + what + " at N = 2^" + std::to_string(log_n_),
      "distinct primes q = 1 mod 2N near the target", "choose other word sizes or fewer levels");
}

std::vector<std::uint32_t> PrimeGroups::near(Log2 target, Log2 width, int count) const {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t q : ntt_primes_near(log_n_, target, width, kPool, used_)) {
    if (q < bound_ && static_cast<int>(out.size()) < count) out.push_back(q);
  }
  return out;
}

void PrimeGroups::take(std::uint32_t q, std::vector<std::uint32_t>& list) {
  list.push_back(q);
  used_.push_back(q);
}

void PrimeGroups::take_nearest(Log2 target, std::vector<std::uint32_t>& list) {
  const std::vector<std::uint32_t> one = near(target, kWidths[2], 1);
  if (one.empty()) fail("main primes near " + bits(target));
  take(one[0], list);
}

void PrimeGroups::take_pair(Log2 target, std::vector<std::uint32_t>& list) {
  Rank best;
  for (const Log2 width : kWidths) {
    best = best_pair(near(target / 2, width, kPool), target);
    if (std::get<0>(best) <= kAcceptedError) break;
  }
  if (std::get<2>(best) == 0) fail("primes for a pair of " + bits(target));
  take(std::get<2>(best), list);
  take(std::get<3>(best), list);
}

void PrimeGroups::take_group(Log2 target, int count, std::vector<std::uint32_t>& list) {
  for (; count > 2; --count) {
    take_nearest(target / count, list);
    target -= log2_fixed(list.back());
  }
  if (count == 2) take_pair(target, list);
  if (count == 1) take_nearest(target, list);
}

}  // namespace latticino
