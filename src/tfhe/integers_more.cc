// Comparisons, choices and tables of integers.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "math/errors.h"
#include "tfhe/integers.h"

namespace latticino::tfhe {

Integer Integers::bitwise(const Integer& x, const Integer& y, const Binary& f) const {
  require("tfhe.integers.bitwise", x, y);
  const Table& t = table_of_pair([&](auto a, auto b) { return f(a, b) % base_; });
  const Integer high = fresh(x, y);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    steps.push_back({packed(high.blocks[i], y.blocks[i]), &t});
  }
  return {round(steps)};
}

// The state of the highest block that decides, by halves.
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

// 0, 1 or 2: x below, equal to or above y.
Ciphertext Integers::order(const Integer& x, const Integer& y) const {
  const Integer high = fresh(x, y);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    steps.push_back({packed(high.blocks[i], y.blocks[i]), order_});
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
  Integer all = x;
  all.blocks.insert(all.blocks.end(), y.blocks.begin(), y.blocks.end());
  const Ciphertext chosen = fresh({{condition}}, all).blocks[0];
  Integer out;
  const Ciphertext &bit = x.blocks[0], &other = y.blocks[0];
  const bool one_memory = bit.buffer == other.buffer || bit.buffer == chosen.buffer ||
                          other.buffer == chosen.buffer;  // errors might add up
  if (x.blocks.size() == 1 && bit.largest <= 1 && other.largest <= 1 && !one_memory &&
      evaluator_->decides(base_ * base_ * chosen.norm2 + 4 * bit.norm2 + other.norm2)) {
    const Table& choose = table_of_pair([](auto c, auto v) { return c == 1 ? v >> 1 & 1 : v & 1; });
    out.blocks = round({{packed(chosen, evaluator_->pack(bit, other, 2)), &choose}});
    return out;
  }
  std::vector<Step> steps;
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    steps.push_back({packed(chosen, x.blocks[i]), keep_});
    steps.push_back({packed(chosen, y.blocks[i]), drop_});
  }
  const Blocks parts = round(steps);
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    out.blocks.push_back(evaluator_->sum({parts.data() + 2 * i, 2}));  // one of both is 0
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

// Of every block of the results, for the messages up to `largest` and on to a power of two.
Integers::Values Integers::values_of(std::span<const Function> functions,
                                     std::uint32_t largest) const {
  Values values;
  for (const Function& function : functions) {
    if (function.blocks < 1 || function.blocks * block_bits_ > 64) {
      throw ValueError("tfhe.integers.lookup", std::to_string(function.blocks) + " blocks",
                       "a result of 1 to 64 bits", "choose another width");
    }
    const std::size_t first = values.size();
    values.resize(first + static_cast<std::size_t>(function.blocks));
    for (std::uint32_t v = 0; v < std::bit_ceil(largest + 1); ++v) {
      const std::uint64_t y = v <= largest ? function.f(v) : 0;
      for (int i = 0; i < function.blocks; ++i) {
        values[first + i].push_back(static_cast<std::uint32_t>(y >> (i * block_bits_)) % base_);
      }
    }
  }
  if (values.empty()) {
    throw ShapeError("tfhe.integers.lookup", "no functions", "at least one", "pass some");
  }
  return values;
}

// Blocks of the results, as many over one rotation as x's messages leave room for.
std::vector<Integer> Integers::looked_up(const Ciphertext& x,
                                         std::span<const Function> functions) const {
  const Values values = values_of(functions, x.largest);
  const std::size_t room =
      message_count(evaluator_->context()->params(), Encoding::Padded) / values[0].size();
  const std::size_t together = std::min(room, std::bit_ceil(values.size()));
  std::vector<Table> tables;
  for (std::size_t at = 0; at < values.size(); at += together) {
    const auto end = values.begin() + static_cast<long>(std::min(at + together, values.size()));
    Values several(values.begin() + static_cast<long>(at), end);
    several.resize(together, several.back());
    tables.push_back(caller_table(std::move(several)));
  }
  std::vector<Step> steps;
  for (const Table& t : tables) steps.push_back({x, &t});
  const Blocks blocks = round(steps);
  std::vector<Integer> out;
  for (auto at = blocks.begin(); const Function& function : functions) {
    out.push_back({{at, at + function.blocks}});
    at += function.blocks;
  }
  return out;
}

std::vector<Integer> Integers::lookup(const Integer& x, std::span<const Function> functions) const {
  constexpr const char* kOperation = "tfhe.integers.lookup";
  require(kOperation, x);
  const std::size_t n = x.blocks.size();
  if (n > 2) {
    throw UnsupportedError(kOperation, std::to_string(n) + " blocks", "one or two blocks",
                           "compose it of comparisons and choices");
  }
  return looked_up(n == 1 ? x.blocks[0] : packed(fresh(x, x).blocks[1], x.blocks[0]), functions);
}

Integer Integers::lookup(const Integer& x, int blocks,
                         const std::function<std::uint64_t(std::uint64_t)>& f) const {
  const Function function{blocks, f};
  return lookup(x, {&function, 1})[0];
}

std::vector<Integer> Integers::lookup(const Integer& x, const Integer& y,
                                      std::span<const PairFunction> functions) const {
  constexpr const char* kOperation = "tfhe.integers.lookup";
  require(kOperation, x, y);
  if (x.blocks.size() != 1) {
    throw UnsupportedError(kOperation, std::to_string(x.blocks.size()) + " blocks", "one block",
                           "compose it of comparisons and choices");
  }
  const std::uint32_t under = std::bit_ceil(y.blocks[0].largest + 1);
  std::vector<Function> packed_functions;
  for (const PairFunction& function : functions) {
    packed_functions.push_back({function.blocks, [under, f = function.f](std::uint64_t v) {
                                  return f(v / under, v % under);
                                }});
  }
  const Ciphertext pair =
      evaluator_->pack(fresh(x, y).blocks[0], y.blocks[0], static_cast<std::int32_t>(under));
  return looked_up(pair, packed_functions);
}

Integer Integers::lookup(
    const Integer& x, const Integer& y, int blocks,
    const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& f) const {
  const PairFunction function{blocks, f};
  return lookup(x, y, {&function, 1})[0];
}

}  // namespace latticino::tfhe
