#include "tfhe/integers.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "math/errors.h"

namespace latticino::tfhe {
namespace {

// What a block's sum does with an incoming carry, or which of two blocks is larger.
enum CarryState : std::uint32_t { kKill = 0, kPropagate = 1, kGenerate = 2 };
constexpr std::uint32_t kLess = kKill, kSame = kPropagate, kMore = kGenerate;
// Tables that are kept, of N words each: 8 MiB for N = 2048.
constexpr std::size_t kMaxCallerTables = 1024;

}  // namespace

std::vector<std::vector<std::uint32_t>> integer_blocks(const TfheParams& params,
                                                       std::span<const std::uint64_t> values,
                                                       int bits) {
  const int m = params.literal().message_bits;
  if (m < 1 || bits < 1 || bits > 64 || bits % m != 0) {
    throw ValueError("tfhe.integer",
                     std::to_string(bits) + " bits in blocks of " + std::to_string(m),
                     "1 to 64 bits, a multiple of the block's", "choose another width or set");
  }
  std::vector<std::vector<std::uint32_t>> out(static_cast<std::size_t>(bits / m));
  for (const std::uint64_t v : values) {
    if (bits < 64 && v >> bits != 0) {
      throw ValueError("tfhe.integer", "a value above it", "values below 2^" + std::to_string(bits),
                       "use more bits");
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].push_back(static_cast<std::uint32_t>(v >> (i * m)) & ((1u << m) - 1));
    }
  }
  return out;
}

Integers::Integers(std::shared_ptr<const Evaluator> evaluator)
    : evaluator_(std::move(evaluator)),
      block_bits_(evaluator_->context()->params().literal().message_bits),
      base_(1u << block_bits_) {
  const TfheParams& params = evaluator_->context()->params();
  if (block_bits_ < 2 || params.literal().carry_bits < block_bits_) {
    throw ParameterError("tfhe.integers", "the set " + params.name(),
                         "at least two message bits, and as many carry bits",
                         "choose a set named ...-2-2-...");
  }
  const std::uint32_t base = base_;
  const Unary low = [=](auto v) { return v % base; };
  low_ = &table(low);
  high_ = &table([=](auto v) { return v / base; });
  const Unary low_and_state[] = {
      low, [=](auto v) -> std::uint32_t {
        return v >= base ? kGenerate : v == base - 1 ? kPropagate : kKill;
      }};
  low_and_state_ = &table(low_and_state, 2 * base);
  fold_ = &table_of_pair([](auto high, auto low) { return high == kPropagate ? low : high; });
  add_carry_ =
      &table_of_pair([=](auto state, auto v) { return (v + (state == kGenerate)) % base; });
  order_ = &table_of_pair([](auto x, auto y) -> std::uint32_t {
    return x < y ? kLess : x == y ? kSame : kMore;
  });
  keep_ = &table_of_pair([](auto condition, auto v) { return condition == 1 ? v : 0; });
  drop_ = &table_of_pair([](auto condition, auto v) { return condition == 1 ? 0 : v; });
  product_low_ = &table_of_pair([=](auto x, auto y) { return x * y % base; });
  product_high_ = &table_of_pair([=](auto x, auto y) { return x * y / base; });
}

const Table& Integers::table(const Unary& f) const {
  return table({&f, 1}, message_count(evaluator_->context()->params(), Encoding::Padded));
}

const Table& Integers::table(std::span<const Unary> f, std::uint32_t messages) const {
  Values values(f.size());
  for (std::size_t t = 0; t < f.size(); ++t) {
    for (std::uint32_t v = 0; v < messages; ++v) values[t].push_back(f[t](v));
  }
  const auto lock = evaluator_->context()->queue().lock();
  return found_or_made(tables_, Encoding::Padded, std::move(values));
}

Table Integers::caller_table(Encoding out, Values values) const {
  const auto lock = evaluator_->context()->queue().lock();
  if (caller_tables_.size() >= kMaxCallerTables && !caller_tables_.contains({out, values})) {
    caller_tables_.clear();
  }
  return found_or_made(caller_tables_, out, std::move(values));
}

const Table& Integers::found_or_made(Tables& tables, Encoding out, Values values) const {
  Tables::key_type key{out, std::move(values)};
  const auto found = tables.find(key);
  if (found != tables.end()) return found->second;
  Table made = make_table(evaluator_->context(), key.second, out);
  return tables.emplace(std::move(key), std::move(made)).first->second;
}

const Table& Integers::table_of_pair(const Binary& f) const {
  return table([&](std::uint32_t v) { return f(v / base_, v % base_); });
}

Ciphertext Integers::packed(const Ciphertext& high, const Ciphertext& low) const {
  return evaluator_->pack(high, low, static_cast<std::int32_t>(base_));
}

Integers::Blocks Integers::round(const std::vector<Step>& steps) const {
  if (steps.empty()) return {};
  Blocks x;
  std::vector<const Table*> tables;
  for (const Step& step : steps) {
    x.push_back(step.x);
    tables.push_back(step.table);
  }
  return evaluator_->apply_each(x, tables);
}

void Integers::require(const char* operation, const Integer& x) const {
  if (x.blocks.empty()) {
    throw ShapeError(operation, "an integer without blocks", "at least one block",
                     "encrypt a value first");
  }
  for (const Ciphertext& block : x.blocks) {
    if (block.encoding == Encoding::Padded && block.largest < base_) continue;
    throw LevelError(operation, "a block of " + block.str(),
                     "padded messages below " + std::to_string(base_),
                     "use blocks that these functions return");
  }
}

void Integers::require(const char* operation, const Integer& x, const Integer& y) const {
  require(operation, x);
  require(operation, y);
  if (x.blocks.size() != y.blocks.size()) {
    throw ShapeError(
        operation,
        std::to_string(x.blocks.size()) + " and " + std::to_string(y.blocks.size()) + " blocks",
        "as many blocks", "encrypt both with one width");
  }
}

Integer Integers::clear(std::span<const std::uint64_t> values, int bits) const {
  Integer out;
  for (const auto& block : integer_blocks(evaluator_->context()->params(), values, bits)) {
    out.blocks.push_back(evaluator_->clear(block, Encoding::Padded));
  }
  return out;
}

// Brings blocks of sums below 2 base to blocks below base. Prefixes of the states tell which blocks
// get a carry, in log2(blocks) rounds (Hillis, Steele 1986), plus one round before and one after.
Integer Integers::carried(const Blocks& sums) const {
  const std::size_t n = sums.size();
  std::vector<Step> first;
  for (const Ciphertext& s : sums) first.push_back({s, low_and_state_});
  const Blocks lows_and_states = round(first);
  Blocks low, state;
  for (std::size_t i = 0; i < n; ++i) {
    low.push_back(lows_and_states[2 * i]);
    if (i + 1 < n) state.push_back(lows_and_states[2 * i + 1]);
  }
  for (std::size_t distance = 1; distance < state.size(); distance *= 2) {
    std::vector<Step> steps;
    for (std::size_t i = distance; i < state.size(); ++i) {
      steps.push_back({packed(state[i], state[i - distance]), fold_});
    }
    const Blocks folded = round(steps);
    std::copy(folded.begin(), folded.end(), state.begin() + static_cast<long>(distance));
  }
  std::vector<Step> last;
  for (std::size_t i = 1; i < n; ++i) {
    last.push_back({packed(state[i - 1], low[i]), add_carry_});
  }
  Integer out{round(last)};
  out.blocks.insert(out.blocks.begin(), low[0]);
  return out;
}

Integer Integers::add(const Integer& x, const Integer& y) const {
  require("tfhe.integers.add", x, y);
  Blocks sums;
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    sums.push_back(added({x.blocks[i], y.blocks[i]}));
  }
  return carried(sums);
}

// x + (all ones - y) + 1.
Integer Integers::sub(const Integer& x, const Integer& y) const {
  require("tfhe.integers.sub", x, y);
  Blocks sums;
  for (std::size_t i = 0; i < x.blocks.size(); ++i) {
    sums.push_back(added({x.blocks[i], evaluator_->complement(y.blocks[i], base_ - 1)}));
  }
  sums[0] = evaluator_->add_clear(sums[0], 1);
  return carried(sums);
}

// Products of all pairs of blocks. Pairs are left out if a clear block makes the product zero.
Integer Integers::multiply(const Integer& x, const Integer& y) const {
  require("tfhe.integers.multiply", x, y);
  const auto [high, low] = paired(x, y);
  const std::size_t n = x.blocks.size();
  std::vector<Step> steps;
  std::vector<std::size_t> column;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; i + j < n; ++j) {
      const std::uint32_t largest = high.blocks[i].largest * low.blocks[j].largest;
      if (largest == 0) continue;
      const Ciphertext pair = packed(high.blocks[i], low.blocks[j]);
      steps.push_back({pair, product_low_});
      column.push_back(i + j);
      if (i + j + 1 == n || largest < base_) continue;
      steps.push_back({pair, product_high_});
      column.push_back(i + j + 1);
    }
  }
  std::vector<Blocks> columns(n);
  const Blocks products = round(steps);
  for (std::size_t k = 0; k < products.size(); ++k) columns[column[k]].push_back(products[k]);
  for (Blocks& c : columns) {
    if (c.empty()) c.push_back(zero(x.size() < y.size() ? y.blocks[0] : x.blocks[0]));
  }
  return summed(std::move(columns));
}

Integer Integers::sum(std::span<const Integer> x) const {
  constexpr const char* kOperation = "tfhe.integers.sum";
  if (x.empty()) throw ShapeError(kOperation, "no integers", "at least one", "pass some");
  if (x.size() == 1) return x[0];
  std::vector<Blocks> columns(x[0].blocks.size());
  for (const Integer& term : x) {
    require(kOperation, x[0], term);
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].push_back(term.blocks[c]);
  }
  return summed(std::move(columns));
}

Ciphertext Integers::zero(const Ciphertext& like) const {
  return evaluator_->clear(std::vector<std::uint32_t>(like.size(), 0), Encoding::Padded);
}

bool Integers::pair_decides(const Ciphertext& high, const Ciphertext& low) const {
  const Weighted pair[] = {{&high, static_cast<double>(base_)}, {&low, 1}};
  return evaluator_->decides(squared_norm(pair));
}

// Values below base_ stay the same, but with the error of one bootstrapping.
void Integers::refresh(std::span<Ciphertext* const> blocks) const {
  std::vector<Step> steps;
  for (const Ciphertext* block : blocks) steps.push_back({*block, low_});
  Blocks again = round(steps);
  for (std::size_t k = 0; k < again.size(); ++k) {
    again[k].largest = blocks[k]->largest;
    *blocks[k] = std::move(again[k]);
  }
}

// Bootstraps low blocks that could not be combined with any high one, high blocks that cannot be
// combined with all low ones, and then low blocks that share an error with a high one. Two blocks
// with one common error, of one bootstrapping each, may always be combined (the largest norm of the
// set is base_ + 1 or more).
Integers::Operands Integers::paired(const Integer& high, const Integer& low) const {
  Operands out{high, low};
  const double square = static_cast<double>(base_) * base_;
  const auto meets = [&](const Ciphertext& x, const Blocks& all) {
    return std::all_of(all.begin(), all.end(), [&](const auto& y) { return pair_decides(x, y); });
  };
  const auto noisiest = [](const Blocks& all) {
    double norm2 = 0;
    for (const Ciphertext& x : all) norm2 = std::max(norm2, x.norm2);
    return std::sqrt(norm2);
  };
  const double together = base_ * noisiest(high.blocks) + noisiest(low.blocks);
  if (evaluator_->decides(together * together))
    return out;  // possible in any case, whatever errors they share
  std::vector<Ciphertext*> again;
  for (Ciphertext& y : out.low.blocks) {
    if (!evaluator_->decides(square + y.norm2)) again.push_back(&y);
  }
  refresh(again);
  again.clear();
  for (Ciphertext& x : out.high.blocks) {
    if (!meets(x, out.low.blocks)) again.push_back(&x);
  }
  refresh(again);
  again.clear();
  for (Ciphertext& y : out.low.blocks) {
    const auto meets_it = [&](const Ciphertext& x) { return pair_decides(x, y); };
    const Blocks& all = out.high.blocks;
    if (!std::all_of(all.begin(), all.end(), meets_it)) again.push_back(&y);
  }
  refresh(again);
  return out;
}

// The sum of blocks that a table is applied to.
Ciphertext Integers::added(const Blocks& terms) const {
  std::vector<Weighted> weighted;
  for (const Ciphertext& x : terms) weighted.push_back({&x, 1});
  if (evaluator_->decides(squared_norm(weighted))) return evaluator_->sum(terms);
  Blocks again = terms;
  std::vector<Ciphertext*> noisy;
  for (Ciphertext& x : again) {
    if (x.norm2 > 1) noisy.push_back(&x);
  }
  refresh(noisy);
  return evaluator_->sum(again);
}

// How many ciphertexts, from the first on, the sum of a block can hold: in message bits, and in
// noise even if all are the same ciphertext.
std::size_t Integers::holds(const Blocks& x, std::size_t first) const {
  const TfheParams& params = evaluator_->context()->params();
  const std::uint32_t most = message_count(params, Encoding::Padded) - 1;
  std::uint32_t largest = 0;
  double norm = 0;
  std::size_t end = first;
  for (; end < x.size(); ++end) {
    largest += x[end].largest;
    norm += std::sqrt(x[end].norm2);
    if (end > first && (largest > most || norm > params.literal().max_norm)) break;
  }
  return end - first;
}

// Columns of several terms are summed as far as a block can hold the sum, and split again, until
// two are left.
Integer Integers::summed(std::vector<Blocks> columns) const {
  const std::size_t n = columns.size();
  const auto full = [](const Blocks& c) { return c.size() > 2; };
  while (std::any_of(columns.begin(), columns.end(), full)) {
    std::vector<Step> steps;
    std::vector<std::size_t> column;
    std::vector<Blocks> next(n);
    for (std::size_t c = 0; c < n; ++c) {
      std::size_t at = 0;
      while (columns[c].size() - at > 2) {
        const std::size_t count = holds(columns[c], at);
        const Ciphertext sum = evaluator_->sum({columns[c].data() + at, count});
        steps.push_back({sum, low_});
        column.push_back(c);
        if (c + 1 < n && sum.largest >= base_) {
          steps.push_back({sum, high_});
          column.push_back(c + 1);
        }
        at += count;
      }
      next[c].assign(columns[c].begin() + static_cast<long>(at), columns[c].end());
    }
    const Blocks parts = round(steps);
    for (std::size_t k = 0; k < parts.size(); ++k) next[column[k]].push_back(parts[k]);
    columns = std::move(next);
  }
  Blocks sums;
  for (const Blocks& c : columns) sums.push_back(added(c));
  const auto small = [&](const Ciphertext& sum) { return sum.largest < base_; };
  if (std::all_of(sums.begin(), sums.end(), small)) return {std::move(sums)};
  return carried(sums);
}

}  // namespace latticino::tfhe
