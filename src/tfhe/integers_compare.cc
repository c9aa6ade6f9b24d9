// Comparisons and choices of integers.
#include <algorithm>
#include <string>
#include <utility>

#include "math/errors.h"
#include "tfhe/integers.h"

namespace latticino::tfhe {

Integer Integers::bitwise(const Integer& x, const Integer& y, const Binary& f) const {
  require("tfhe.integers.bitwise", x, y);
  const Table& t = table_of_pair([&](auto a, auto b) { return f(a, b) % base_; });
  const auto [high, low] = paired(x, y);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    steps.push_back({packed(high.blocks[i], low.blocks[i]), &t});
  }
  return {round(steps)};
}

// The state of the highest block that decides, found by combining pairs, then pairs of results, and
// so on.
Ciphertext Integers::folded(Blocks states) const {
  while (states.size() > 1) {
    std::vector<Step> steps;
    for (std::size_t i = 0; i + 1 < states.size(); i += 2) {
      steps.push_back({packed(states[i + 1], states[i]), fold_});
    }
    Blocks next = round(steps);
    if (states.size() % 2 == 1) next.push_back(states.back());
    states = std::move(next);
  }
  return states[0];
}

// 0, 1 or 2: x is below, equal to, or above y.
Ciphertext Integers::order(const Integer& x, const Integer& y) const {
  const auto [high, low] = paired(x, y);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    steps.push_back({packed(high.blocks[i], low.blocks[i]), order_});
  }
  return folded(round(steps));
}

Ciphertext Integers::compare(Comparison what, const Integer& x, const Integer& y) const {
  require("tfhe.integers.compare", x, y);
  const Table& decide = table([what](std::uint32_t state) -> std::uint32_t {
    switch (what) {
      case Comparison::Less:
        return state == 0;
      case Comparison::LessEqual:
        return state <= 1;
      case Comparison::Equal:
        return state == 1;
      case Comparison::NotEqual:
        return state != 1;
      case Comparison::GreaterEqual:
        return state >= 1;
      case Comparison::Greater:
        return state == 2;
    }
    return 0;
  });
  return evaluator_->apply(order(x, y), decide);
}

Integer Integers::select(const Ciphertext& condition, const Integer& x, const Integer& y) const {
  constexpr const char* kOperation = "tfhe.integers.select";
  require(kOperation, x, y);
  if (condition.encoding != Encoding::Padded || condition.largest > 1) {
    throw ValueError(kOperation, "a condition up to " + std::to_string(condition.largest), "0 or 1",
                     "compare first");
  }
  const std::size_t n = x.blocks.size();
  Integer both = x;
  both.blocks.insert(both.blocks.end(), y.blocks.begin(), y.blocks.end());
  const auto [conditions, all] = paired({{condition}}, both);
  const Ciphertext &chosen = conditions.blocks[0], &bit = all.blocks[0], &other = all.blocks[n];
  Integer out;
  const bool one_memory = bit.buffer == other.buffer || bit.buffer == chosen.buffer ||
                          other.buffer == chosen.buffer;  // their errors might add up
  const Weighted terms[] = {{&chosen, static_cast<double>(base_)}, {&bit, 2}, {&other, 1}};
  if (n == 1 && bit.largest <= 1 && other.largest <= 1 && !one_memory &&
      evaluator_->decides(squared_norm(terms))) {
    const Table& choose = table_of_pair([](auto c, auto v) { return c == 1 ? v >> 1 & 1 : v & 1; });
    out.blocks = round({{packed(chosen, evaluator_->pack(bit, other, 2)), &choose}});
    return out;
  }
  std::vector<Step> steps;
  for (std::size_t i = 0; i < n; ++i) {
    steps.push_back({packed(chosen, all.blocks[i]), keep_});
    steps.push_back({packed(chosen, all.blocks[n + i]), drop_});
  }
  const Blocks parts = round(steps);
  for (std::size_t i = 0; i < n; ++i) {
    out.blocks.push_back(evaluator_->sum({parts.data() + 2 * i, 2}));  // one of the two is 0
    out.blocks.back().largest = std::max(x.blocks[i].largest, y.blocks[i].largest);
  }
  return out;
}

Integer Integers::min(const Integer& x, const Integer& y) const {
  return select(compare(Comparison::LessEqual, x, y), x, y);
}

Integer Integers::max(const Integer& x, const Integer& y) const {
  return select(compare(Comparison::GreaterEqual, x, y), x, y);
}

}  // namespace latticino::tfhe
