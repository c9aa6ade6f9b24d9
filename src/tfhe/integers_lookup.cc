// Tables of integers, and of full messages.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "math/errors.h"
#include "tfhe/integers.h"

namespace latticino::tfhe {
namespace {

std::vector<Integer> integers_of(std::span<const Ciphertext> blocks,
                                 std::span<const Integers::Function> functions) {
  std::vector<Integer> out;
  for (auto at = blocks.begin(); const Integers::Function& function : functions) {
    out.push_back({{at, at + function.blocks}});
    at += function.blocks;
  }
  return out;
}

}  // namespace

// Extends the list of messages to a power of two.
Integers::Results Integers::results_of(std::span<const Function> functions,
                                       std::uint32_t largest) const {
  constexpr const char* kOperation = "tfhe.integers.lookup";
  const std::uint32_t full = message_count(evaluator_->context()->params(), Encoding::Full);
  Results out;
  for (const Function& function : functions) {
    const bool padded = function.out == Encoding::Padded;
    const int most = padded ? 64 / block_bits_ : 1;
    if (function.blocks < 1 || function.blocks > most) {
      throw ValueError(kOperation, std::to_string(function.blocks) + " blocks",
                       padded ? "a result of 1 to 64 bits" : "one block of a full message",
                       "choose another width");
    }
    const std::size_t first = out.values.size();
    out.values.resize(first + static_cast<std::size_t>(function.blocks));
    out.out.resize(out.values.size(), function.out);
    for (std::uint32_t v = 0; v < std::bit_ceil(largest + 1); ++v) {
      const std::uint64_t y = v <= largest ? function.f(v) : 0;
      for (int i = 0; i < function.blocks; ++i) {
        out.values[first + i].push_back(static_cast<std::uint32_t>(y >> (i * block_bits_)) %
                                        (padded ? base_ : full));
      }
    }
  }
  if (out.values.empty()) throw ShapeError(kOperation, "no functions", "at least one", "pass some");
  return out;
}

// Computes as many result blocks by one rotation as the messages of x leave room for.
std::vector<Integer> Integers::looked_up(const Ciphertext& x,
                                         std::span<const Function> functions) const {
  const auto [values, out] = results_of(functions, x.largest);
  const std::size_t room =
      message_count(evaluator_->context()->params(), Encoding::Padded) / values[0].size();
  const std::size_t together = std::min(room, std::bit_ceil(values.size()));
  std::vector<Table> tables;
  std::vector<std::size_t> counts;
  for (std::size_t at = 0; at < values.size(); at += counts.back()) {
    std::size_t count = 1;
    while (count < together && at + count < values.size() && out[at + count] == out[at]) ++count;
    Values several(values.begin() + static_cast<long>(at),
                   values.begin() + static_cast<long>(at + count));
    several.resize(together, several.back());
    tables.push_back(caller_table(out[at], std::move(several)));
    counts.push_back(count);
  }
  std::vector<Step> steps;
  steps.reserve(tables.size());
  for (const Table& t : tables) steps.push_back({x, &t});
  const Blocks results = round(steps);
  Blocks blocks;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto first = results.begin() + static_cast<long>(t * together);
    blocks.insert(blocks.end(), first, first + static_cast<long>(counts[t]));
  }
  return integers_of(blocks, functions);
}

std::vector<Integer> Integers::lookup_full(const Ciphertext& x,
                                           std::span<const Function> functions) const {
  const TfheParams& params = evaluator_->context()->params();
  const auto [values, out] = results_of(functions, message_count(params, Encoding::Full) - 1);
  std::vector<Table> tables;
  for (std::size_t i = 0; i < values.size(); ++i) {
    tables.push_back(caller_table(out[i], {values[i]}));
  }
  std::vector<const Table*> each;
  each.reserve(tables.size());
  for (const Table& t : tables) each.push_back(&t);
  return integers_of(evaluator_->apply_full(x, each), functions);
}

// Makes one message of at most two blocks.
Ciphertext Integers::whole(const char* operation, const Integer& x) const {
  require(operation, x);
  const std::size_t n = x.blocks.size();
  if (n > 2) {
    throw UnsupportedError(operation, std::to_string(n) + " blocks", "one or two blocks",
                           "compose it of comparisons and choices");
  }
  if (n == 1) return x.blocks[0];
  const auto [high, low] = paired({{x.blocks[1]}}, {{x.blocks[0]}});
  return packed(high.blocks[0], low.blocks[0]);
}

// The phase is twice that of the padded message.
Ciphertext Integers::full(const Integer& x) const {
  Ciphertext message = whole("tfhe.integers.full", x);
  if (!evaluator_->decides_full(4 * message.norm2)) {
    const std::uint32_t largest = message.largest;
    message = round({{message, &table([](std::uint32_t v) { return v; })}})[0];
    message.largest = largest;
  }
  return evaluator_->to_full(message);
}

Ciphertext Integers::refreshed_full(const Ciphertext& x) const {
  const Function same{1, [](std::uint64_t v) { return v; }, Encoding::Full};
  return lookup_full(x, {&same, 1})[0].blocks[0];
}

Integers::Operands Integers::paired_full(const Ciphertext& x, const Ciphertext& y) const {
  const Weighted terms[] = {{&x, 1}, {&y, 1}};
  if (evaluator_->decides_full(squared_norm(terms))) return {{{x}}, {{y}}};
  const auto fresh = [&](const Ciphertext& z) { return z.norm2 > 1 ? refreshed_full(z) : z; };
  return {{{fresh(x)}}, {{fresh(y)}}};
}

Ciphertext Integers::add_full(const Ciphertext& x, const Ciphertext& y) const {
  const auto [high, low] = paired_full(x, y);
  return evaluator_->add(high.blocks[0], low.blocks[0]);
}

Ciphertext Integers::sub_full(const Ciphertext& x, const Ciphertext& y) const {
  const auto [high, low] = paired_full(x, y);
  return evaluator_->sub(high.blocks[0], low.blocks[0]);
}

Ciphertext Integers::multiply_full(const Ciphertext& x, std::int32_t factor) const {
  const double square = static_cast<double>(factor) * factor;
  const bool noisy = x.norm2 > 1 && !evaluator_->decides_full(square * x.norm2);
  return evaluator_->multiply_clear(noisy ? refreshed_full(x) : x, factor);
}

std::vector<Integer> Integers::lookup(const Integer& x, std::span<const Function> functions) const {
  return looked_up(whole("tfhe.integers.lookup", x), functions);
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
  const auto [high, low] = paired({{x.blocks[0]}}, {{y.blocks[0]}});
  const std::uint32_t under = std::bit_ceil(y.blocks[0].largest + 1);
  std::vector<Function> packed_functions;
  for (const PairFunction& function : functions) {
    packed_functions.push_back(
        {function.blocks,
         [under, f = function.f](std::uint64_t v) { return f(v / under, v % under); },
         function.out});
  }
  const Ciphertext pair =
      evaluator_->pack(high.blocks[0], low.blocks[0], static_cast<std::int32_t>(under));
  return looked_up(pair, packed_functions);
}

Integer Integers::lookup(
    const Integer& x, const Integer& y, int blocks,
    const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& f) const {
  const PairFunction function{blocks, f};
  return lookup(x, y, {&function, 1})[0];
}

}  // namespace latticino::tfhe
