// Shifts of integers, by clear and by encrypted amounts.
#include <set>
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
  const Ciphertext none = zero(x.blocks[0]);
  const auto block = [&](const Integer& v, int i) { return i >= 0 && i < n ? v.blocks[i] : none; };
  Integer out;
  if (part == 0) {
    for (int i = 0; i < n; ++i) out.blocks.push_back(block(x, i + whole));
    return out;
  }
  const Table& shift = table_of_pair(
      [&](auto high, auto low) { return (low >> part | high << (block_bits_ - part)) % base_; });
  const auto [high, low] = paired(x, x);
  std::vector<Step> steps;
  steps.reserve(n);
  for (int i = 0; i < n; ++i) {
    steps.push_back({packed(block(high, i + whole + 1), block(low, i + whole)), &shift});
  }
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

// Shifts by digit * unit bits. The bits of a block may land in its own place and in several others,
// so each place has a table of (digit, block). All results for one place are summed. Their bits are
// disjoint.
Integer Integers::shifted_by_digit(const Integer& moved, const Ciphertext& by, int unit,
                                   bool left) const {
  const auto [digits, x] = paired({{by}}, moved);
  const Ciphertext& digit = digits.blocks[0];
  const int n = static_cast<int>(x.blocks.size()), m = block_bits_;
  std::set<int> places;  // number of blocks that it moves up
  for (int s = 0; s < static_cast<int>(base_); ++s) {
    const int bits = left ? s * unit : -s * unit;
    const int low = (bits - (bits % m + m) % m) / m;
    places.insert(low);
    if (bits % m != 0) places.insert(low + 1);
  }
  std::vector<Step> steps;
  std::vector<int> lands;
  for (const int place : places) {
    const Table& part = table_of_pair([&](std::uint32_t s, std::uint32_t v) -> std::uint32_t {
      const int shift = (left ? 1 : -1) * static_cast<int>(s) * unit - place * m;
      if (shift >= m || shift <= -m) return 0;
      return shift >= 0 ? (v << shift) % base_ : v >> -shift;
    });
    for (int i = 0; i < n; ++i) {
      if (i + place < 0 || i + place >= n) continue;
      steps.push_back({packed(digit, x.blocks[i]), &part});
      lands.push_back(i + place);
    }
  }
  std::vector<Blocks> terms(static_cast<std::size_t>(n));
  const Blocks parts = round(steps);
  for (std::size_t k = 0; k < parts.size(); ++k) terms[lands[k]].push_back(parts[k]);
  Integer out;
  for (const Blocks& t : terms) {
    out.blocks.push_back(added(t));
    out.blocks.back().largest = base_ - 1;
  }
  return out;
}

// x, or 0 if any digit is not 0.
Integer Integers::none_if_any(const Integer& x, Blocks digits) const {
  const Table& any = table([](std::uint32_t v) -> std::uint32_t { return v != 0; });
  while (digits.size() > 1) {
    std::vector<Step> steps;
    for (std::size_t at = 0, count = 0; at < digits.size(); at += count) {
      count = holds(digits, at);
      steps.push_back({evaluator_->sum({digits.data() + at, count}), &any});
    }
    digits = round(steps);
  }
  const Table& keep = table_of_pair([](auto digit, auto v) { return digit == 0 ? v : 0; });
  const auto [high, low] = paired({{digits[0]}}, x);
  std::vector<Step> steps;
  steps.reserve(low.blocks.size());
  for (const Ciphertext& block : low.blocks) {
    steps.push_back({packed(high.blocks[0], block), &keep});
  }
  return {round(steps)};
}

Integer Integers::shifted(const char* operation, const Integer& x, const Integer& amount,
                          bool left) const {
  require(operation, x);
  require(operation, amount);
  const int bits = static_cast<int>(x.blocks.size()) * block_bits_;
  auto [by, out] = paired(amount, x);
  Blocks beyond;  // these digits shift everything out
  for (std::size_t j = 0; j < by.blocks.size(); ++j) {
    const int log_unit = static_cast<int>(j) * block_bits_;
    if (log_unit > 6 || 1 << log_unit >= bits) {
      beyond.push_back(by.blocks[j]);
    } else {
      out = shifted_by_digit(out, by.blocks[j], 1 << log_unit, left);
    }
  }
  return beyond.empty() ? out : none_if_any(out, std::move(beyond));
}

Integer Integers::shift_left(const Integer& x, const Integer& amount) const {
  return shifted("tfhe.integers.shift_left", x, amount, true);
}

Integer Integers::shift_right(const Integer& x, const Integer& amount) const {
  return shifted("tfhe.integers.shift_right", x, amount, false);
}

}  // namespace latticino::tfhe
