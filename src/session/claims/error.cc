#include "session/claims/error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "session/claims/computation.h"

namespace latticino::session {
namespace {

constexpr std::size_t kMaxParts = 24;
constexpr double kAll = HUGE_VAL;  // all values may have the same error

// Expected largest modulus of n complex normal numbers of mean square 1.
double largest_of_normal(double n) { return std::sqrt(std::log(n) + 1); }

// The same for products of two such numbers. Such a product exceeds x with probability sqrt(pi x)
// exp(-2 x). The largest of n lies about 0.3 beyond the x where this probability is 1/n.
double largest_of_products(double n) {
  double x = 1;
  for (int i = 0; i < 20; ++i) {
    x = std::max(0.5, (std::log(n) + 0.5 * std::log(std::numbers::pi * x)) / 2);
  }
  return x + 0.3;
}

}  // namespace

Error Error::fresh(double rms, bool white, bool by_secret) {
  Error out;
  if (rms > 0) {
    const std::uint64_t id = Computation::new_id();
    out.parts_.push_back({id, id, rms, rms, white ? 1 : kAll, by_secret, white ? rms : 0});
  }
  return out;
}

double Uneven::elsewhere() const {
  return part > 0 ? std::sqrt((1 - part * factor * factor) / (1 - part)) : 1;
}

// The largest error is then the largest one of the fewer slots that have larger errors.
Error Error::uneven(double rms, bool by_secret, const Uneven& where, double slots) {
  Error out = fresh(rms, true, by_secret);
  const double few = where.part * slots;
  if (few < 1) return out;
  const double ratio = by_secret ? largest_of_products(few) / largest_of_products(slots)
                                 : largest_of_normal(few) / largest_of_normal(slots);
  for (ErrorPart& part : out.parts_) part.largest *= std::max(1.0, where.factor * ratio);
  return out;
}

Error Error::common(double size, double rest) {
  Error out = fresh(size, false, false);
  for (ErrorPart& part : out.parts_) part.common_rest = rest;
  return out;
}

Error Error::of_copies(double rms, double copies, double rest) {
  Error out = fresh(rms, false);
  for (ErrorPart& part : out.parts_) {
    part.alike = copies;
    part.rest = rest;
  }
  return out;
}

Error Error::of_values(double rms, double worst, double slots) {
  Error out = fresh(rms, false, false);
  for (ErrorPart& part : out.parts_) {
    part.largest = std::max(rms, worst / largest_of_normal(slots));
  }
  return out;
}

Error Error::bounded(double bound) {
  Error out = fresh(bound, false, false);
  for (ErrorPart& part : out.parts_) part.bound = bound;
  return out;
}

double Error::rms() const {
  double squares = 0;
  for (const ErrorPart& part : parts_) squares += part.rms * part.rms;
  return std::sqrt(squares);
}

double Error::largest() const {
  double squares = 0;
  for (const ErrorPart& part : parts_) squares += part.largest * part.largest;
  return std::sqrt(squares);
}

double Error::rest() const {
  double squares = 0;
  for (const ErrorPart& part : parts_) squares += part.rest * part.rest;
  return std::sqrt(squares);
}

double Error::common_rest() const {
  double squares = 0;
  for (const ErrorPart& part : parts_) squares += part.common_rest * part.common_rest;
  return std::sqrt(squares);
}

double Error::worst(double slots, bool full) const {
  const double normal = largest_of_normal(slots);
  const double product = full ? std::max(normal, largest_of_products(slots)) : normal;
  double squares = 0, unbounded = 0, bounds = 0;
  for (const ErrorPart& part : parts_) {
    const double size = part.largest * (part.by_secret ? product : normal);
    squares += size * size;
    if (part.bound < size) {
      bounds += part.bound;
    } else {
      unbounded += size * size;
    }
  }
  return std::min(std::sqrt(squares), bounds + std::sqrt(unbounded));
}

void Error::add(const ErrorPart& part) {
  if (!(part.rms > 0) && !(part.largest > 0)) return;
  const auto at = std::ranges::find(parts_, part.id, &ErrorPart::id);
  if (at != parts_.end()) {
    at->rms += part.rms;
    at->largest += part.largest;
    at->rest += part.rest;
    at->common_rest += part.common_rest;
    at->bound += part.bound;
    at->alike = std::max(at->alike, part.alike);
    at->by_secret = at->by_secret || part.by_secret;
  } else {
    parts_.push_back(part);
  }
}

// The smallest parts are merged into one, as if they were correlated. The sum is then rather too
// large than too small.
void Error::bound_parts() {
  while (parts_.size() > kMaxParts) {
    std::size_t a = 0, b = 1;
    if (parts_[b].rms < parts_[a].rms) std::swap(a, b);
    for (std::size_t i = 2; i < parts_.size(); ++i) {
      if (parts_[i].rms < parts_[a].rms) {
        b = a;
        a = i;
      } else if (parts_[i].rms < parts_[b].rms) {
        b = i;
      }
    }
    parts_[b].rms += parts_[a].rms;
    parts_[b].largest += parts_[a].largest;
    parts_[b].rest += parts_[a].rest;
    parts_[b].common_rest += parts_[a].common_rest;
    parts_[b].bound += parts_[a].bound;
    parts_[b].alike = std::max(parts_[b].alike, parts_[a].alike);
    parts_[b].by_secret = parts_[b].by_secret || parts_[a].by_secret;
    parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(a));
  }
}

Error Error::operator+(const Error& other) const {
  Error out = *this;
  for (const ErrorPart& part : other.parts_) out.add(part);
  out.bound_parts();
  return out;
}

Error Error::times(double rms, double bound) const {
  Error out;
  for (ErrorPart part : parts_) {
    part.rms *= rms;
    part.largest *= bound;
    part.rest *= rms;
    part.common_rest *= rms;
    part.bound = bound > 0 ? part.bound * bound : 0;
    out.add(part);
  }
  return out;
}

Error Error::times_aligned(double rms, double bound) const {
  Error out;
  for (ErrorPart part : parts_) {
    part.rms = std::min(part.rms * bound, part.largest * rms);
    part.largest *= bound;
    part.bound = bound > 0 ? part.bound * bound : 0;
    part.rest *= rms;
    part.common_rest *= rms;
    out.add(part);
  }
  return out;
}

Error Error::moved(std::uint64_t by) const {
  Error out;
  for (ErrorPart part : parts_) {
    if (part.white()) part.id = mixed(part.id, by);
    out.add(part);
  }
  return out;
}

Error Error::shared(double copies) const {
  Error out;
  for (ErrorPart part : parts_) {
    part.alike *= copies;
    out.add(part);
  }
  return out;
}

Error Error::repeated(double growth) const {
  const double more = std::sqrt(std::max(growth * growth - 1, 0.0));
  Error out;
  for (ErrorPart part : parts_) {
    part.bound = HUGE_VAL;
    if (part.alike == kAll) {
      ErrorPart further = part;
      further.id = mixed(mixed(part.id, 0x3C3C3C3Cu), std::bit_cast<std::uint64_t>(growth));
      further.rms *= more;
      further.largest *= more;
      further.rest *= more;
      further.common_rest = 0;
      further.alike = 1;
      out.add(part);
      out.add(further);
      continue;
    }
    part.rms *= growth;
    part.largest *= growth;
    part.rest *= growth;
    part.common_rest *= growth;
    out.add(part);
  }
  out.bound_parts();
  return out;
}

Error Error::at_values() const {
  Error out;
  for (ErrorPart part : parts_) {
    part.rest = part.common_rest = 0;
    out.add(part);
  }
  return out;
}

namespace {

// The part of weighted sums that is the same error in all of them.
ErrorPart common_part_of_sums(ErrorPart part, double growth, double unused) {
  const double beside = part.rest * std::sqrt(unused);
  const double common = part.common_rest * unused;
  part.rms = std::hypot(part.rms * growth + common, beside);
  part.largest = std::hypot(part.largest * growth + common, beside);
  part.rest = part.common_rest = 0;
  part.alike = kAll;
  part.bound = HUGE_VAL;
  part.by_secret = false;  // sums of many values have normal errors again
  part.id = session::mixed(part.id, 0x5A5A5A5Au);
  return part;
}

double growth_of(const ErrorPart& part, double l1, double l2) {
  return part.white() ? l2 : std::min(l1, l2 * std::sqrt(part.alike));
}

}  // namespace

Error Error::summed(double l1, double l2, double unused) const {
  Error out;
  for (const ErrorPart& part : parts_) {
    out.add(common_part_of_sums(part, growth_of(part, l1, l2), unused));
  }
  return out;
}

Error Error::mapped(double l1, double l2, double correlation) const {
  Error out;
  for (const ErrorPart& part : parts_) {
    const double growth = growth_of(part, l1, l2);
    ErrorPart sums = common_part_of_sums(part, growth, 0);
    // Errors of results that are bounded by l1 grow by less, and those of their sums do not.
    const double together = growth > 0 ? l2 * std::sqrt(part.alike * correlation) / growth : 1;
    sums.alike = std::max(1.0, together * together);
    out.add(sums);
  }
  return out;
}

Error Error::renamed(std::uint64_t* source) const {
  Error out;
  *source = 0;
  if (exact()) return out;
  *source = Computation::new_id();
  double alike = 1;
  bool by_secret = false;
  for (const ErrorPart& part : parts_) {
    alike = std::max(alike, part.alike);
    by_secret = by_secret || part.by_secret;
  }
  out.parts_.push_back(
      {*source, *source, rms(), largest(), alike, by_secret, rest(), common_rest()});
  return out;
}

Error Error::with_source(std::uint64_t source, double factor) const {
  Error out;
  for (ErrorPart part : parts_) {
    if (part.source == source) {
      part.rms *= factor;
      part.largest *= factor;
      part.rest *= factor;
      part.common_rest *= factor;
      part.bound = factor > 0 ? part.bound * factor : 0;
    }
    out.add(part);
  }
  return out;
}

}  // namespace latticino::session
