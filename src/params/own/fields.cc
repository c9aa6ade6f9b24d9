// The fields of a request, and their ranges.
#include <algorithm>
#include <bit>
#include <cmath>
#include <regex>

#include "math/errors.h"
#include "math/text.h"
#include "params/bounds/security.h"
#include "params/names.h"
#include "params/own/plans.h"

namespace latticino::own {
namespace {

constexpr double kMaxScale = 60;
constexpr int kMaxLevels = 150;
constexpr double kMinBits = 5;  // bits of precision that a product keeps at least

using std::to_string;

// A division leaves (h + 1) / 12 in a coefficient, and N coefficients add up in a slot: the least
// scale that leaves kMinBits, for the densest secret.
double least_scale(int log_n) { return std::ceil(log_n + 0.5 * std::log2(1.0 / 18) + kMinBits); }

// Bits by which the modulus grows with a level. A packed one may exchange primes; others have
// primes of their own.
double least_step(const ParamsRequest& x) {
  return packs(x) ? 0.5 : std::countr_zero(static_cast<std::uint64_t>(x.n)) + 3.5;
}

std::string power(double bits) { return "2**" + number(bits); }

// A request with one field changed.
template <class Change>
Fault fault(const ParamsRequest& x, std::string had, std::string needs, std::string text,
            Change change) {
  Fault out{{std::move(had), std::move(needs)}, {std::move(text), change, x}};
  change(out.fix.request);
  return out;
}

std::optional<Fault> ring_fault(const ParamsRequest& x) {
  const bool power_of_two = x.n > 0 && std::has_single_bit(static_cast<std::uint64_t>(x.n));
  if (power_of_two && x.n >= 1 << 10 && x.n <= 1 << 17) return std::nullopt;
  const double bits = x.n < 1 ? 10 : std::round(std::log2(static_cast<double>(x.n)));
  const std::int64_t nearest = std::int64_t{1} << static_cast<int>(std::clamp(bits, 10.0, 17.0));
  return fault(x, "N=" + to_string(x.n), "a power of two, 2**10 to 2**17",
               "N=" + to_string(nearest), [=](auto& r) { r.n = nearest; });
}

std::optional<Fault> scale_fault(const ParamsRequest& x) {
  const int log_n = std::countr_zero(static_cast<std::uint64_t>(x.n));
  const double least = least_scale(log_n);
  const std::string needs = "scales of 2**" + number(least) + " to 2**60 at N=" + to_string(x.n) +
                            ": below, a product keeps less than " + number(kMinBits) + " bits";
  const auto in_range = [&](double s) { return s >= least && s <= kMaxScale; };
  const auto nearest = [&](double s) {
    return std::isnan(s) ? 40.0 : std::clamp(s, std::max(least, 30.0), kMaxScale);
  };
  if (!x.level_log_scale) {
    if (in_range(x.log_scale)) return std::nullopt;
    const double near = nearest(x.log_scale);
    return fault(x, "a scale of " + power(x.log_scale), needs, "scale=" + power(near),
                 [=](auto& r) { r.log_scale = near; });
  }
  const std::vector<double>& list = *x.level_log_scale;
  const std::size_t fewest = x.bootstrapping ? kStcLevels + 2 : 1;
  if (list.size() < fewest || list.size() > kMaxLevels) {
    return fault(x, to_string(list.size()) + " levels in the list",
                 "scales of " + to_string(fewest) + " to " + to_string(kMaxLevels) +
                     " levels, from level 0 upwards",
                 "levels=1 and scale=2**40", [](auto& r) {
                   r.level_log_scale.reset();
                   r.log_scale = 40, r.levels = 1;
                 });
  }
  const double step = least_step(x);
  for (std::size_t l = 0; l < list.size(); ++l) {
    std::string had = "a scale of " + power(list[l]) + " at level " + to_string(l), wants = needs;
    double near = nearest(list[l]);
    if (in_range(list[l])) {
      if (l == 0 || 2 * list[l] - list[l - 1] >= step) continue;
      near = std::ceil((list[l - 1] + step) / 2);
      had += " above " + power(list[l - 1]);
      wants = "2 log2(scale) - log2(scale of the level below) of " + number(step) +
              " bits and more: " +
              (packs(x) ? "by which the modulus grows"
                        : "the size of the primes that leave with a level");
    }
    return fault(x, had, wants, "levels[" + to_string(l) + "]=" + power(near),
                 [=](auto& r) { (*r.level_log_scale)[l] = near; });
  }
  return std::nullopt;
}

std::optional<Fault> count_fault(const ParamsRequest& x) {
  const std::int64_t most = kMaxLevels - kStcLevels;
  if (!x.level_log_scale && (x.levels < 0 || x.levels > most)) {
    const std::int64_t near = x.levels < 0 ? 1 : most;
    return fault(x, "levels=" + to_string(x.levels), "1 to " + to_string(most) + " levels",
                 "levels=" + to_string(near), [=](auto& r) { r.levels = near; });
  }
  if (!x.level_log_scale && x.levels == 0 && x.security == 0) {
    return fault(x, "no count of levels", "one where no security bounds it", "levels=1",
                 [](auto& r) { r.levels = 1; });
  }
  if (x.word != 0 && (x.word < 24 || x.word > 31)) {
    const std::int64_t near = std::clamp<std::int64_t>(x.word, 24, 31);
    return fault(x, "word=" + to_string(x.word), "primes below 2**24 to 2**31",
                 "word=" + to_string(near), [=](auto& r) { r.word = near; });
  }
  if (x.dnum < 0 || x.dnum > 200) {
    return fault(x, "dnum=" + to_string(x.dnum), "1 to 200 digits of a key switch", "dnum=None",
                 [](auto& r) { r.dnum = 0; });
  }
  return std::nullopt;
}

std::optional<Fault> security_fault(const ParamsRequest& x) {
  const std::int64_t s = x.security;
  if (s != 0 && s != 128 && s != 192 && s != 256) {
    const std::int64_t near = s <= 160 ? 128 : s <= 224 ? 192 : 256;
    return fault(x, "security=" + to_string(s), "128, 192 or 256 bits, or None for tests",
                 "security=" + to_string(near), [=](auto& r) { r.security = near; });
  }
  if (x.hamming_weight < 0 || x.hamming_weight > x.n) {
    return fault(x, "a secret of weight " + to_string(x.hamming_weight),
                 "'ternary', or a weight of 1 to N", "secret='ternary'",
                 [](auto& r) { r.hamming_weight = 0; });
  }
  if (s == 0) {
    if (!x.quantum) return std::nullopt;
    return fault(x, "quantum=True without a security", "a security of 128, 192 or 256 bits",
                 "quantum=False", [](auto& r) { r.quantum = false; });
  }
  const std::string asked =
      to_string(s) + " bits" + (x.quantum ? " against quantum computers" : "");
  if (x.bootstrapping && (s != 128 || x.quantum)) {
    return fault(x, asked + " with bootstrapping",
                 "128 classical bits: the sparse key of its encapsulation is in no other table",
                 "security=128 and quantum=False", [](auto& r) {
                   r.security = 128;
                   r.quantum = false;
                 });
  }
  const int log_n = std::countr_zero(static_cast<std::uint64_t>(x.n));
  if (x.bootstrapping && log_n < 16) {
    return fault(x, "bootstrapping at N=" + to_string(x.n), "N=65536 or 131072 for 128 bits",
                 "N=65536", [](auto& r) { r.n = 65536; });
  }
  const auto bound = [&](int weight) {
    return max_log_pq(log_n, static_cast<int>(s), x.quantum, weight);
  };
  if (bound(0) == 0) {
    return fault(x, asked + " at N=" + to_string(x.n), "a ring that the tables have", "N=2048",
                 [](auto& r) { r.n = 2048; });
  }
  if (bound(static_cast<int>(x.hamming_weight)) > 0) return std::nullopt;
  return fault(x, "a secret of weight " + to_string(x.hamming_weight) + " for " + asked,
               "'ternary', or a weight of N/2 and more", "secret='ternary'",
               [](auto& r) { r.hamming_weight = 0; });
}

std::optional<Fault> name_fault(const ParamsRequest& x) {
  if (x.name.empty()) return std::nullopt;
  const auto security =
      x.security == 0 ? ParamsLiteral::Security::Insecure : ParamsLiteral::Security::Bits128;
  const auto automatic = [](auto& r) { r.name.clear(); };
  std::optional<params::NameFault> found = params::name_fault(x.name, security);
  if (!found) found = params::plain_name_fault(x.name, security);
  if (found) return fault(x, found->had, found->needs, "name=None", automatic);
  static const std::regex imitates("(n[0-9]+-|cheddar-|test-|switch-|tfhe-|own-).*");
  if (!std::regex_match(x.name, imitates)) return std::nullopt;
  return fault(x, "the name '" + x.name + "', which begins like one of the library's sets",
               "a name that does not begin with n16-, own-, test-, cheddar-, switch- or tfhe-",
               "name=None", automatic);
}

}  // namespace

bool packs(const ParamsRequest& x) { return x.word == 0 || x.word >= 28; }

std::string number(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
  std::string out = formatted("%.4f", std::clamp(x, -1e30, 1e30));
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out;
}

std::optional<Fault> fault_of(const ParamsRequest& request) {
  for (const auto check : {ring_fault, scale_fault, count_fault, security_fault, name_fault}) {
    if (std::optional<Fault> found = check(request)) return found;
  }
  return std::nullopt;
}

std::string name_of(const ParamsRequest& x, int levels) {
  if (!x.name.empty()) return x.name;
  const int log_n = std::countr_zero(static_cast<std::uint64_t>(x.n));
  std::string out = "own-n" + to_string(log_n);
  out += x.level_log_scale ? "-mixed" : "-d" + number(x.log_scale);
  if (x.word != 0) out += "-w" + to_string(x.word);
  out += "-l" + to_string(levels);
  if (x.dnum != 0) out += "-k" + to_string(x.dnum);
  if (x.hamming_weight != 0) out += "-h" + to_string(x.hamming_weight);
  if (x.bootstrapping) out += "-boot";
  if (x.security == 0) out += "-insecure";
  if (x.security > 128) out += "-s" + to_string(x.security);
  if (x.quantum) out += "-quantum";
  return out;
}

}  // namespace latticino::own
