// How a key is used below the level that it was made for. Digit j of a key encrypts P on the primes
// of digit j and 0 elsewhere, so that
//   - the sum of two digits encrypts P on the primes of both: they can be switched as one digit, if
//     the product of the primes that are left of them is not too large for P. Lower levels have
//     lost terminals of the first digit and mains of the last one; the others are whole.
//   - all of Q below P' < P: modulo P' Q the key encrypts P = P' (P / P'), so a digit that is
//     multiplied by (P / P')^-1 beforehand is switched with P' alone. Where one digit holds all
//     primes that multiplication is left to the constants of conversion and division
//     (rlwe/constants.h).
#include <utility>

#include "math/big_uint.h"
#include "params/params.h"

namespace latticino {
namespace {

// A limit for errors of keys: the variance that they add, divided by the variance that rounding in
// the division by P adds. The noise of a switch then grows by one bit at most, and stays well below
// that of a public encryption.
constexpr double kMaxKeyErrors = 3;

}  // namespace

const std::vector<std::vector<int>>& Params::digit_groups(int level) const {
  check_level(level, 0, "params.digit_groups");
  return key_switching_[level].groups;
}

Basis Params::group_basis(int level, const std::vector<int>& group) const {
  Basis out;
  for (const int j : group) out = out.with(digit(j).intersect(basis(level)));
  return out;
}

Basis Params::aux_basis(int level) const {
  check_level(level, 0, "params.aux_basis");
  const int begin = q_count();
  return {{static_cast<std::uint16_t>(begin),
           static_cast<std::uint16_t>(begin + key_switching_[level].aux)}};
}

Basis Params::extended(int level) const { return basis(level).with(aux_basis(level)); }

double Params::key_error_variance(int level) const {
  check_level(level, 0, "params.key_error_variance");
  return key_error_variance(level, key_switching_[level]);
}

// (N sigma^2 / 12) sum_j k_j (D_j / P)^2: a group is a fast conversion from k_j primes, that is k_j
// uniform terms of D_j^2 / 12; each of its digits brings errors of its own.
double Params::key_error_variance(int level, const KeySwitching& how) const {
  const auto begin = static_cast<std::uint16_t>(q_count());
  const BigUint p = product_of({{begin, static_cast<std::uint16_t>(begin + how.aux)}});
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
  KeySwitching how{{}, alpha()};
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
