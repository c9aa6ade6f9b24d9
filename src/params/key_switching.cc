// How a key is used below the level that it was made for. Digit j of a key encrypts P on the primes
// of digit j and 0 elsewhere, so that
//   - the sum of two digits encrypts P on the primes of both: they can be switched as one digit, if
//     the product of the primes that are left of them is not too large for P. Lower levels have
//     lost terminals of the first digit and mains of the last one; the others are whole.
//   - all of Q below P' < P: modulo P' Q the key encrypts P = P' (P / P'), so a digit that is
//     multiplied by (P / P')^-1 beforehand is switched with P' alone. Where one digit holds all
//     primes that multiplication is left to the constants of conversion and division
//     (rlwe/constants.h).
//
// In a band of levels (SwitchBand), mains that these levels lack are auxiliary primes as well. A
// key of the band is an ordinary key for them. Its modulus divides P Q, which the security check
// bounds.
#include <algorithm>
#include <string>
#include <utility>

#include "math/big_uint.h"
#include "params/params.h"

namespace latticino {
namespace {

// A limit for errors of keys: the variance that they add, divided by the variance that rounding in
// the division by P adds. The noise of a switch then grows by one bit at most, and stays well below
// that of a public encryption.
constexpr double kMaxKeyErrors = 3;

Basis one_prime(int prime) {
  const auto begin = static_cast<std::uint16_t>(prime);
  return {{begin, static_cast<std::uint16_t>(begin + 1)}};
}

// The first `count` primes of a basis.
Basis leading(const Basis& basis, int count) {
  Basis out;
  for (int i = 0; i < basis.runs() && out.size() < count; ++i) {
    const PrimeRange run = basis.run(i);
    const int size = std::min(run.size(), count - out.size());
    out = out.with({{run.begin, static_cast<std::uint16_t>(run.begin + size)}});
  }
  return out;
}

}  // namespace

std::string SwitchBand::str() const {
  return std::to_string(lowest) + "-" + std::to_string(highest) + ":" + std::to_string(extra);
}

Params::KeyLayout Params::key_layout_of(int lowest, const std::vector<int>& primes,
                                        const Basis& aux) const {
  KeyLayout out{lowest, aux, {}};
  for (std::size_t i = 0; i < primes.size(); ++i) {
    if (i % aux.size() == 0) out.digits.emplace_back();
    out.digits.back() = out.digits.back().with(one_prime(primes[i]));
  }
  return out;
}

void Params::derive_keys() {
  band_.assign(literal_.levels.size(), 0);
  // The outer terminals count as the first primes, so that the first digit has them: low levels
  // then meet few digits.
  const int outer = static_cast<int>(literal_.outer.size()), inner = q_count() - outer;
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(q_count()));
  for (int i = 0; i < q_count(); ++i) all.push_back(i < outer ? inner + i : i - outer);
  key_layouts_.push_back(key_layout_of(0, all, aux_basis()));
  for (const SwitchBand& b : literal_.bands) {
    Basis q;
    for (int l = b.lowest; l <= b.highest; ++l) {
      q = q.with(basis(l).without(q));
      band_[l] = static_cast<int>(key_layouts_.size());
    }
    std::vector<int> primes;
    primes.reserve(static_cast<std::size_t>(q.size()));
    for (int i = 0; i < q.size(); ++i) primes.push_back(q.prime(i));
    const auto end = static_cast<std::uint16_t>(q_count());
    const Basis extra{{static_cast<std::uint16_t>(end - b.extra), end}};
    key_layouts_.push_back(key_layout_of(b.lowest, primes, extra.with(aux_basis())));
  }
  for (int l = 0; l <= top_level(); ++l) key_switching_.push_back(key_switching_at(l));
}

int Params::band(int level) const {
  check_level(level, 0, "params.band");
  return band_[level];
}

std::vector<int> Params::active_digits(int level) const {
  const std::vector<Basis>& digits = key_layout(level).digits;
  std::vector<int> out;
  for (int j = 0; j < static_cast<int>(digits.size()); ++j) {
    if (digits[j].intersect(basis(level)).size() > 0) out.push_back(j);
  }
  return out;
}

const std::vector<std::vector<int>>& Params::digit_groups(int level) const {
  check_level(level, 0, "params.digit_groups");
  return key_switching_[level].groups;
}

Basis Params::group_basis(int level, const std::vector<int>& group) const {
  Basis out;
  for (const int j : group) out = out.with(key_layout(level).digits[j].intersect(basis(level)));
  return out;
}

Basis Params::aux_basis(int level) const {
  check_level(level, 0, "params.aux_basis");
  return leading(key_layout(level).aux, key_switching_[level].aux);
}

Basis Params::extended(int level) const { return basis(level).with(aux_basis(level)); }

double Params::key_error_variance(int level) const {
  check_level(level, 0, "params.key_error_variance");
  return key_error_variance(level, key_switching_[level]);
}

// (N sigma^2 / 12) sum_j k_j (D_j / P)^2: a group is a fast conversion from k_j primes, that is k_j
// uniform terms of D_j^2 / 12; each of its digits brings errors of its own.
double Params::key_error_variance(int level, const KeySwitching& how) const {
  const BigUint p = product_of(leading(key_layout(level).aux, how.aux));
  double sum = 0;
  for (const std::vector<int>& group : how.groups) {
    const Basis primes = group_basis(level, group);
    const double ratio = BigUint::ratio(product_of(primes), p);
    sum += static_cast<double>(group.size()) * primes.size() * ratio * ratio;
  }
  return n() * kErrorSigma * kErrorSigma / 12 * sum;
}

double Params::key_switch_variance(int level, bool drop_level) const {
  const int aux = aux_basis(level).size();
  if (!drop_level) return key_error_variance(level) + division_variance(aux);
  const double factor = rescale_factor(level);
  return key_error_variance(level) / (factor * factor) +
         division_variance(aux + leaving(level).size());
}

Params::KeySwitching Params::key_switching_at(int level) const {
  KeySwitching how{{}, key_layout(level).aux.size()};
  for (const int j : active_digits(level)) how.groups.push_back({j});
  // A bootstrapping raises to the top level, with keys of one digit that use all of P.
  if (level == top_level()) return how;
  const auto allowed = [&](const KeySwitching& other) {
    return key_error_variance(level, other) <= kMaxKeyErrors * division_variance(other.aux);
  };
  if (how.groups.size() > 1) {
    KeySwitching merged = how;
    merged.groups.front().push_back(merged.groups.back().front());
    merged.groups.pop_back();
    if (allowed(merged)) how = std::move(merged);
  }
  while (how.groups.size() == 1 && how.aux > 1 && allowed({how.groups, how.aux - 1})) --how.aux;
  return how;
}

}  // namespace latticino
