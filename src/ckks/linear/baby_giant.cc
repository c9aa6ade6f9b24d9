#include "ckks/linear/baby_giant.h"

#include <numeric>
#include <set>
#include <tuple>

namespace latticino::ckks {
namespace {

BabyGiant split(const std::vector<int>& rotations, int stride, int steps) {
  BabyGiant out{stride, steps, {}, {}};
  std::set<int> babies, giants;
  for (const int r : rotations) {
    babies.insert(out.baby_of(r));
    giants.insert(out.giant_of(r));
  }
  out.babies.assign(babies.begin(), babies.end());
  out.giants.assign(giants.begin(), giants.end());
  return out;
}

int nonzero(const std::vector<int>& steps) {
  return static_cast<int>(steps.size()) - (steps.front() == 0 ? 1 : 0);
}

// (cost, keys), to be minimised in this order.
std::tuple<int, int> price(const BabyGiant& s, StepCost cost) {
  const int babies = nonzero(s.babies), giants = nonzero(s.giants);
  if (cost == StepCost::Hoisted) return {babies + 3 * giants, babies + giants};
  const int steps = s.babies.back() / s.stride + s.giants.back() / (s.stride * s.steps);
  return {steps, (babies > 0) + (giants > 0)};
}

}  // namespace

BabyGiant split_rotations(const std::vector<int>& rotations, int slots, int steps, StepCost cost) {
  int stride = slots;
  for (const int r : rotations) stride = std::gcd(stride, r);
  if (steps > 0) return split(rotations, stride, steps);
  BabyGiant best = split(rotations, stride, 1);
  for (int n = 2; n <= slots / stride; n *= 2) {
    BabyGiant candidate = split(rotations, stride, n);
    if (price(candidate, cost) < price(best, cost)) best = std::move(candidate);
  }
  return best;
}

}  // namespace latticino::ckks
