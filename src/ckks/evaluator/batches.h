// How functions of several ciphertexts share launches: consecutive ciphertexts of one form run
// together.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "ckks/ciphertext.h"
#include "math/errors.h"

namespace latticino::ckks {

// With so many ciphertexts at once, key switches are nearly as fast as they can be per ciphertext
// (docs/performance.md, "How it grows": two fifths of the time at 7 limbs, a quarter at 23; the
// last doubling gains 3 to 4 %). Larger batches need more scratch memory.
inline constexpr std::size_t kMaxBatch = 16;

inline bool one_form(const Ciphertext& x, const Ciphertext& y) {
  return x.level == y.level && x.scale == y.scale && x.parts.size() == y.parts.size();
}

inline void require_same_count(const char* operation, std::size_t had, std::size_t needs) {
  if (had == needs) return;
  throw ShapeError(operation, std::to_string(had) + " ciphertexts", std::to_string(needs),
                   "pass as many operands on every side");
}

// Calls f(elements of x, the same elements of y) for runs of at most kMaxBatch elements of one
// form.
template <class Other, class F>
std::vector<Ciphertext> in_batches(const char* operation, std::span<const Ciphertext> x,
                                   std::span<const Other> y, const F& f) {
  require_same_count(operation, y.size(), x.size());
  const auto alike = [&](std::size_t i, std::size_t j) {
    if constexpr (std::is_same_v<Other, Ciphertext>) {
      return one_form(x[i], x[j]) && one_form(y[i], y[j]);
    } else {
      return one_form(x[i], x[j]) && y[i].level == y[j].level && y[i].scale == y[j].scale;
    }
  };
  std::vector<Ciphertext> out;
  for (std::size_t first = 0, end; first < x.size(); first = end) {
    end = first + 1;
    while (end < x.size() && end - first < kMaxBatch && alike(first, end)) ++end;
    for (Ciphertext& c : f(x.subspan(first, end - first), y.subspan(first, end - first))) {
      out.push_back(std::move(c));
    }
  }
  return out;
}

// The same for functions of one operand.
template <class F>
std::vector<Ciphertext> in_batches(const char* operation, std::span<const Ciphertext> x,
                                   const F& f) {
  return in_batches(operation, x, x, [&](auto part, auto) { return f(part); });
}

}  // namespace latticino::ckks
