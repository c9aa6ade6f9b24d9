// Divides the product of a rotation's digits with a key into two records, as section IV-B of the
// paper Theodosian does. One computes the sums on the auxiliary primes, which ModDown converts. The
// other computes the sums on the primes of Q, which only the last step of ModDown reads.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "math/errors.h"
#include "ops/operations.h"
#include "ops/views.h"

namespace latticino::bench {

// The record on some of its primes. A product of ciphertexts is kept only in the part that has the
// digits' own limbs.
inline KeyInner inner_on(const KeyInner& op, const Basis& part) {
  const auto both = [&](const std::array<PolyView, 2>& of) {
    return std::array<PolyView, 2>{limbs_on(of[0], part), limbs_on(of[1], part)};
  };
  KeyInner out;
  bool adds = false;
  for (const KeyInner::Group& from : op.groups) {
    KeyInner::Group& group = out.groups.emplace_back();
    bool own = false;
    for (const KeyInner::Digit& digit : from.digits) {
      group.digits.push_back({limbs_on(digit.own, part), limbs_on(digit.converted, part)});
      own = own || group.digits.back().own.segments > 0;
    }
    if (own && !from.product.empty()) group.product = {both(from.product.a), both(from.product.b)};
    adds = adds || !group.product.empty();
    for (const KeyInner::Target& target : from.targets) {
      group.targets.push_back(
          {{}, both(target.eval), both(target.half), both(target.add), target.galois});
      for (const auto& pair : target.key) group.targets.back().key.push_back(both(pair));
      for (const PolyView& v : group.targets.back().add) adds = adds || v.segments > 0;
    }
  }
  if (adds) out.add_factor = op.add_factor;
  return out;
}

struct SplitRotation {
  std::vector<Operation> before;  // the digits of the rotation
  KeyInner auxiliary;
  Convert down;
  KeyInner main;
  ModDownFinish last;

  std::vector<Operation> in_turn() const {
    std::vector<Operation> ops = before;
    ops.insert(ops.end(), {auxiliary, down, main, last});
    return ops;
  }
};

// `ops`: a rotation's digits, inner product, conversion and last step, the last three in this
// order. With one digit of a few auxiliary primes the last step multiplies by the key. Then the
// products on Q go to `spare` instead, in a record of their own.
inline SplitRotation split_rotation(const std::vector<Operation>& ops,
                                    const std::array<PolyView, 2>& spare) {
  const std::size_t n = ops.size();
  const auto* inner = n < 3 ? nullptr : std::get_if<KeyInner>(&ops[n - 3]);
  const auto* down = n < 3 ? nullptr : std::get_if<Convert>(&ops[n - 2]);
  const auto* last = n < 3 ? nullptr : std::get_if<ModDownFinish>(&ops[n - 1]);
  if (inner == nullptr || down == nullptr || last == nullptr || inner->groups.size() != 1 ||
      inner->groups[0].targets.size() != 1 || last->items.size() != 2) {
    throw UnsupportedError("bench pipelining", "other records than those of one rotation",
                           "an inner product with one key, a conversion and a last step",
                           "divide a rotation alone");
  }
  const KeyInner::Target& target = inner->groups[0].targets[0];
  SplitRotation out{{ops.begin(), ops.end() - 3}, *inner, *down, {}, *last};
  if (target.eval[0].segments > 0) {
    out.auxiliary = inner_on(*inner, target.half[0].basis());
    out.main = inner_on(*inner, target.eval[0].basis());
    return out;
  }
  KeyInner::Group& group = out.main.groups.emplace_back();
  group.digits = {{out.last.items[0].x, {}}};
  KeyInner::Target& products = group.targets.emplace_back();
  products.key = {{out.last.items[0].times, out.last.items[1].times}};
  products.eval = spare;
  for (int h = 0; h < 2; ++h) {
    out.last.items[h].x = spare[h];
    out.last.items[h].times = {};
  }
  return out;
}

}  // namespace latticino::bench
