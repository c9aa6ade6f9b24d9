#include <algorithm>
#include <string>

#include "math/errors.h"
#include "rlwe/constants.h"
#include "rlwe/keys.h"

namespace latticino::rlwe {
namespace {

// The primes of all levels up to the key's that switch these digits as one. The sum serves all of
// these levels.
Basis merged_basis(const Params& params, int first, int last, int highest) {
  Basis q, p;
  for (int l = 0; l <= highest; ++l) {
    if (params.band(l) != params.band(highest)) continue;
    if (params.digit_groups(l).front() != std::vector<int>{first, last}) continue;
    q = q.with(params.basis(l).without(q));
    p = p.with(params.aux_basis(l).without(p));
  }
  return q.with(p);
}

std::array<Poly, 2> made(Queue& queue, const Constants& constants, const SwitchKey& key, int first,
                         int last) {
  const Basis basis = merged_basis(constants.params(), first, last, key.level);
  const std::array<PolyView, 2> x = key.digit(first), y = key.digit(last);
  const Queue::Preparing preparing(queue);
  std::array<Poly, 2> sum;
  Linear op;
  for (int h = 0; h < 2; ++h) {
    sum[h] = queue.allocate_kept(constants.ring(), basis, Domain::Eval);
    op.items.push_back(
        {.terms = {{.x = x[h].select(basis)}, {.x = y[h].select(basis)}}, .out = sum[h].view});
  }
  queue.submit(std::move(op));
  return sum;
}

}  // namespace

std::array<PolyView, 2> SwitchKey::digit(int digit) const {
  const auto at = std::find(digit_index.begin(), digit_index.end(), digit);
  if (at == digit_index.end()) {
    throw KeyError("rlwe.key_switch", label.str() + " of level " + std::to_string(level),
                   "digit " + std::to_string(digit), "generate the key for a higher level");
  }
  const auto& pair = digits[at - digit_index.begin()];
  return {pair[0].view, pair[1].view};
}

std::array<PolyView, 2> MergedDigits::get(Queue& queue, const Constants& constants,
                                          const SwitchKey& key, int first, int last, int level) {
  const auto hold =
      queue.lock();  // locked first, because a recording thread holds it while it asks for sums
  const std::scoped_lock lock(mutex_);
  std::array<Poly, 2>& sum = sums_[{first, last}];
  // Only in a dry run a label is asked for at rising levels. The shape that was asked for last is
  // then the larger one.
  if (sum[0].buffer == nullptr ||
      !sum[0].view.basis().contains(constants.params().extended(level))) {
    sum = made(queue, constants, key, first, last);
  }
  return {sum[0].view, sum[1].view};
}

std::size_t MergedDigits::bytes() const {
  const std::scoped_lock lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [digits, pair] : sums_) {
    for (const Poly& part : pair) sum += part.buffer == nullptr ? 0 : part.buffer->bytes();
  }
  return sum;
}

}  // namespace latticino::rlwe
