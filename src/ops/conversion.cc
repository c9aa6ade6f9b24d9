#include "ops/conversion.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "math/errors.h"
#include "math/modulus.h"

namespace latticino {
namespace {

std::vector<std::uint32_t> primes_of(const Ring& ring, const Basis& basis) {
  std::vector<std::uint32_t> primes(basis.size());
  for (int i = 0; i < basis.size(); ++i) {
    if (basis.prime(i) >= ring.prime_count()) {
      throw ShapeError("BaseConversion", "basis " + basis.str(),
                       "primes of a ring with " + std::to_string(ring.prime_count()),
                       "check the basis");
    }
    primes[i] = ring.prime(basis.prime(i));
  }
  return primes;
}

// products[j] = prod_{k != j} q_k mod m, from prefix and suffix products.
std::vector<std::uint32_t> cofactors(const std::vector<std::uint32_t>& q, const Modulus& m) {
  std::vector<std::uint32_t> products(q.size());
  std::uint32_t prefix = 1;
  for (std::size_t j = 0; j < q.size(); ++j) {
    products[j] = prefix;
    prefix = mul_mod(prefix, q[j] % m.q, m);
  }
  std::uint32_t suffix = 1;
  for (std::size_t j = q.size(); j-- > 0;) {
    products[j] = mul_mod(products[j], suffix, m);
    suffix = mul_mod(suffix, q[j] % m.q, m);
  }
  return products;
}

}  // namespace

BaseConversion::BaseConversion(const Ring& ring, const Basis& from, const Basis& to,
                               const std::vector<std::uint32_t>& extra,
                               const std::vector<std::uint32_t>& scale)
    : ring_(&ring), from_(from), to_(to) {
  const std::vector<std::uint32_t> q = primes_of(ring, from), p = primes_of(ring, to);
  if (q.empty() || p.empty() || from.intersect(to).size() != 0) {
    throw ShapeError("BaseConversion", from.str() + " -> " + to.str(),
                     "two disjoint, non-empty sets of primes", "check the bases");
  }
  if (!extra.empty() && extra.size() != q.size()) {
    throw ShapeError("BaseConversion", std::to_string(extra.size()) + " extra factors",
                     "one per source prime, or none", "check the factors");
  }
  if (!scale.empty() && scale.size() != p.size()) {
    throw ShapeError("BaseConversion", std::to_string(scale.size()) + " scales",
                     "one per target prime, or none", "check the scales");
  }
  for (std::size_t j = 0; j < q.size(); ++j) {
    const Modulus m = make_modulus(q[j]);
    const std::uint32_t inverse = inverse_mod(cofactors(q, m)[j], m);
    factor_.push_back(extra.empty() ? inverse : mul_mod(inverse, extra[j] % m.q, m));
  }
  matrix_.reserve(p.size() * q.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    const std::uint32_t target = p[i];
    const Modulus m = make_modulus(target);
    const std::uint32_t r = reduce_u64(std::uint64_t{1} << 32, m);
    const std::uint32_t r2 = mul_mod(r, r, m);
    const std::vector<std::uint32_t> entries = cofactors(q, m);
    std::uint64_t bound = 0;  // saturates at 2^63; each term is below 2^60
    for (std::size_t j = 0; j < q.size(); ++j) {
      const std::uint32_t entry =
          scale.empty() ? entries[j] : mul_mod(entries[j], scale[i] % m.q, m);
      const std::int64_t stored = centre(mul_mod(entry, r2, m), target);
      const std::uint64_t term = static_cast<std::uint64_t>(std::abs(stored)) * ((q[j] - 1) / 2);
      bound = std::min(bound + term, std::uint64_t{1} << 63);
      matrix_.push_back(entry);
    }
    accumulator_bound_ = std::max(accumulator_bound_, bound);
  }
  if (accumulator_bound_ >= std::uint64_t{1} << 63) {
    throw ParameterError("BaseConversion",
                         from.str() + " -> " + to.str() + " whose sums can reach 2^63",
                         "64-bit signed sums", "use fewer or smaller source primes");
  }
}

BaseConversion::BaseConversion(const BaseConversion& whole, const Basis& from, const Basis& to)
    : ring_(whole.ring_), from_(from), to_(to), accumulator_bound_(whole.accumulator_bound_) {
  if (from.size() == 0 || to.size() == 0 || !whole.from_.contains(from) ||
      !whole.to_.contains(to)) {
    throw ShapeError("BaseConversion::part", from.str() + " -> " + to.str(),
                     "primes of " + whole.from_.str() + " -> " + whole.to_.str(),
                     "check the bases");
  }
  for (int j = 0; j < whole.from_.size(); ++j) {
    if (from.contains(whole.from_.prime(j))) factor_.push_back(whole.factor(j));
  }
  for (int i = 0; i < whole.to_.size(); ++i) {
    for (int j = 0; j < whole.from_.size(); ++j) {
      const bool kept = to.contains(whole.to_.prime(i)) && from.contains(whole.from_.prime(j));
      if (kept) matrix_.push_back(whole.matrix(i, j));
    }
  }
}

const BaseConversion& BaseConversion::part(const Basis& from, const Basis& to) const {
  if (from == from_ && to == to_) return *this;
  const std::scoped_lock lock(parts_mutex_);
  for (const auto& made : parts_) {
    if (made->from_ == from && made->to_ == to) return *made;
  }
  parts_.emplace_back(new BaseConversion(*this, from, to));
  return *parts_.back();
}

}  // namespace latticino
