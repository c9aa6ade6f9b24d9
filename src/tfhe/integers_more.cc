// Shifts, comparisons, choices and tables of integers.
#include <string>
#include <utility>

#include "math/errors.h"
#include "tfhe/integers.h"

namespace latticino::tfhe {
namespace {

void require_shift(const char* operation, int bits) {
  if (bits >= 0) return;
  throw ValueError(operation, "a shift by " + std::to_string(bits), "0 or more",
                   "shift the other way");
}

}  // namespace

// x / 2^bits, rounded down; `bits` may be negative. Block i comes from its neighbours `whole` and
// `whole + 1` blocks up.
Integer Integers::shifted(const Integer& x, int bits) const {
  const int n = static_cast<int>(x.blocks.size());
  const int part = (bits % block_bits_ + block_bits_) % block_bits_;
  const int whole = (bits - part) / block_bits_;
  const Ciphertext zero =
      evaluator_->clear(std::vector<std::uint32_t>(x.size(), 0), Encoding::Padded);
  const auto block = [&](int i) { return i >= 0 && i < n ? x.blocks[i] : zero; };
  Integer out;
  if (part == 0) {
    for (int i = 0; i < n; ++i) out.blocks.push_back(block(i + whole));
    return out;
  }
  const Table shift = table_of_pair(
      [&](auto high, auto low) { return (low >> part | high << (block_bits_ - part)) % base_; });
  std::vector<Step> steps;
  for (int i = 0; i < n; ++i)
    steps.push_back({packed(block(i + whole + 1), block(i + whole)), &shift});
  out.blocks = round(steps);
  return out;
}

Integer Integers::shift_left(const Integer& x, int bits) const {
  require("tfhe.integers.shift_left", x);
  require_shift("tfhe.integers.shift_left", bits);
  return shifted(x, -bits);
}

Integer Integers::shift_right(const Integer& x, int bits) const {
  require("tfhe.integers.shift_right", x);
  require_shift("tfhe.integers.shift_right", bits);
  return shifted(x, bits);
}

Integer Integers::bitwise(const Integer& x, const Integer& y, const Binary& f) const {
  require("tfhe.integers.bitwise", x, y);
  const Table t = table_of_pair([&](auto a, auto b) { return f(a, b) % base_; });
  std::vector<Step> steps;
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    steps.push_back({packed(x.blocks[i], y.blocks[i]), &t});
  }
  return {round(steps)};
}

// The state of the highest block that decides, by halves.
Ciphertext Integers::folded(Blocks states) const {
  while (states.size() > 1) {
    std::vector<Step> steps;
    for (std::size_t i = 0; i + 1 < states.size(); i += 2) {
      steps.push_back({packed(states[i + 1], states[i]), &fold_});
    }
    Blocks next = round(steps);
    if (states.size() % 2 == 1) next.push_back(states.back());
    states = std::move(next);
  }
  return states[0];
}

// 0, 1 or 2: x below, equal to or above y.
Ciphertext Integers::order(const Integer& x, const Integer& y) const {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    steps.push_back({packed(x.blocks[i], y.blocks[i]), &order_});
  }
  return folded(round(steps));
}

Ciphertext Integers::compare(Comparison what, const Integer& x, const Integer& y) const {
  require("tfhe.integers.compare", x, y);
  const Table decide = table([what](std::uint32_t state) -> std::uint32_t {
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
  std::vector<Step> steps;
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    steps.push_back({packed(condition, x.blocks[i]), &keep_});
    steps.push_back({packed(condition, y.blocks[i]), &drop_});
  }
  const Blocks parts = round(steps);
  Integer out;
  for (std::size_t i = 0; i < parts.size(); i += 2) {
    out.blocks.push_back(evaluator_->sum({parts.data() + i, 2}));
    out.blocks.back().largest = base_ - 1;  // one of both is 0
  }
  return out;
}

Integer Integers::min(const Integer& x, const Integer& y) const {
  return select(compare(Comparison::LessEqual, x, y), x, y);
}

Integer Integers::max(const Integer& x, const Integer& y) const {
  return select(compare(Comparison::GreaterEqual, x, y), x, y);
}

Integer Integers::lookup(const Integer& x,
                         const std::function<std::uint64_t(std::uint64_t)>& f) const {
  constexpr const char* kOperation = "tfhe.integers.lookup";
  require(kOperation, x);
  const std::size_t n = x.blocks.size();
  if (n > 2) {
    throw UnsupportedError(kOperation, std::to_string(n) + " blocks", "one or two blocks",
                           "compose it of comparisons and choices");
  }
  const Ciphertext whole = n == 1 ? x.blocks[0] : packed(x.blocks[1], x.blocks[0]);
  std::vector<Table> tables;
  for (std::size_t i = 0; i < n; ++i) {
    const auto shift = static_cast<int>(i) * block_bits_;
    tables.push_back(
        table([&](std::uint32_t v) { return static_cast<std::uint32_t>(f(v) >> shift) % base_; }));
  }
  std::vector<Step> steps;
  for (const Table& t : tables) steps.push_back({whole, &t});
  return {round(steps)};
}

Integer Integers::lookup(
    const Integer& x, const Integer& y, int blocks,
    const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& f) const {
  constexpr const char* kOperation = "tfhe.integers.lookup";
  require(kOperation, x, y);
  if (x.blocks.size() != 1 || blocks < 1) {
    throw UnsupportedError(kOperation, std::to_string(x.blocks.size()) + " blocks", "one block",
                           "compose it of comparisons and choices");
  }
  std::vector<Table> tables;
  for (int i = 0; i < blocks; ++i) {
    tables.push_back(table_of_pair([&](std::uint32_t a, std::uint32_t b) {
      return static_cast<std::uint32_t>(f(a, b) >> (i * block_bits_)) % base_;
    }));
  }
  std::vector<Step> steps;
  for (const Table& t : tables) steps.push_back({packed(x.blocks[0], y.blocks[0]), &t});
  return {round(steps)};
}

}  // namespace latticino::tfhe
