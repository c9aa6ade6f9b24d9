#include "session/tfhe/engine.h"

#include <cmath>
#include <string>
#include <utility>

#include "math/errors.h"

namespace latticino::session {
namespace {

using tfhe::Ciphertext;
using tfhe::Gate;
using tfhe::Integer;
using Table = TfheEngine::Table;

std::size_t functions_in(std::span<const int> blocks, std::span<const Table> tables) {
  if (blocks.size() == tables.size()) return tables.size();
  throw ShapeError(
      "apply",
      std::to_string(tables.size()) + " tables, " + std::to_string(blocks.size()) + " widths",
      "a width each", "pass as many");
}

tfhe::Encoding of_blocks(int blocks) {
  return blocks < 0 ? tfhe::Encoding::Full : tfhe::Encoding::Padded;
}

std::vector<tfhe::Integers::Function> functions_of(std::span<const int> blocks,
                                                   std::span<const Table> tables) {
  std::vector<tfhe::Integers::Function> functions;
  for (std::size_t t = 0; t < functions_in(blocks, tables); ++t) {
    functions.push_back({std::max(blocks[t], 1),
                         [v = tables[t]](std::uint64_t at) { return at < v.size() ? v[at] : 0; },
                         of_blocks(blocks[t])});
  }
  return functions;
}

std::vector<TfheBatches> parts_of(std::vector<Integer> several) {
  std::vector<TfheBatches> out;
  out.reserve(several.size());
  for (Integer& x : several) out.push_back(std::move(x.blocks));
  return out;
}

const Ciphertext& bit(const TfheBatches& x, bool any = false) {
  if (x.empty() || (x.size() != 1 && !any)) {
    throw ShapeError("gate", std::to_string(x.size()) + " blocks", "booleans", "compare first");
  }
  return x[0];
}

}  // namespace

Ciphertext tfhe_shape_only(const std::shared_ptr<const tfhe::Context>& context, std::uint32_t count,
                           std::uint32_t largest, double norm2, int bits, const Ciphertext* like) {
  if (!context->is_dry()) {
    throw ContextError("shape_only", "a context with a device", "a dry context", "encrypt instead");
  }
  Ciphertext x;
  x.context = context;
  auto [buffer, view] =
      context->allocate(static_cast<std::uint32_t>(context->params().big_dimension()), count);
  x.buffer = std::move(buffer);
  x.view = view;
  x.encoding = tfhe::encoding_of(context->params(), bits);
  x.norm2 = norm2;
  x.largest = largest;
  x.outside = like == nullptr ? context->rerandomizes() : like->outside;
  x.origins = like == nullptr ? tfhe::Origins::unique(count) : like->origins;
  return x;
}

double log_failure_of(const Ciphertext& x) {
  const TfheParams& params = x.context->params();
  const bool boolean = x.encoding == tfhe::Encoding::Boolean;
  const bool full = x.encoding == tfhe::Encoding::Full;
  const double distance = boolean ? 0.125 : std::exp2(-(params.plain_bits() + 2));
  const bool fourier = x.context->in_fourier();
  // Halves a full message, and adds a bootstrapped one.
  const double norm2 = full ? x.norm2 / 4 + 1 : boolean ? x.norm2 + 1 : x.norm2;
  return log_failure(params.decision_variance(std::sqrt(norm2), 0, fourier), distance);
}

Ciphertext allocate_like(const Ciphertext& like) {
  Ciphertext out = like;
  out.seed.reset();
  auto [buffer, view] = like.context->allocate(like.view.dimension, like.size());
  out.buffer = std::move(buffer);
  out.view = view;
  return out;
}

void copy_into(const Ciphertext& from, const Ciphertext& to) {
  from.context->queue().submit(LweLinear{{{.terms = {{.x = from.view}}, .out = to.view}}});
}

TfheBatches concatenate(std::span<const TfheBatches> x) {
  TfheBatches out;
  for (std::size_t i = 0; !x.empty() && i < x[0].size(); ++i) {
    TfheBatches column;
    for (const TfheBatches& part : x) {
      if (part.size() != x[0].size()) {
        throw ShapeError(
            "concatenate",
            std::to_string(part.size()) + " and " + std::to_string(x[0].size()) + " blocks",
            "integers of one width", "convert one with astype");
      }
      column.push_back(part[i]);
    }
    out.push_back(tfhe::concatenate(column));
  }
  return out;
}

TfheBatches take(const TfheBatches& x, std::span<const std::uint32_t> places) {
  TfheBatches out;
  for (const Ciphertext& b : x) out.push_back(tfhe::take(b, places));
  return out;
}

TfheEngine::TfheEngine(std::shared_ptr<const tfhe::Context> context,
                       std::shared_ptr<const tfhe::ServerKeys> keys)
    : TfheEngine(std::make_shared<const tfhe::Evaluator>(std::move(context), std::move(keys))) {}

TfheEngine::TfheEngine(std::shared_ptr<const tfhe::Context> context, const rlwe::KeyId& key)
    : TfheEngine(std::make_shared<const tfhe::Evaluator>(std::move(context), nullptr, key)) {}

TfheEngine::TfheEngine(std::shared_ptr<const tfhe::Evaluator> evaluator)
    : evaluator_(std::move(evaluator)) {
  if (!gates()) integers_.emplace(evaluator_);
}

std::shared_ptr<const TfheEngine> KeylessEngine::of(
    const std::shared_ptr<const tfhe::Context>& context, const rlwe::KeyId& key) {
  const auto queue = context->queue().lock();  // lock order: the queue first
  const std::lock_guard lock(mutex_);
  if (engine_ == nullptr || key_ != key) {
    engine_ = std::make_shared<const TfheEngine>(context, key);
    key_ = key;
  }
  return engine_;
}

const tfhe::Integers& TfheEngine::integers(const char* operation) const {
  if (!integers_) {
    throw ParameterError(operation, "integers under the set " + context()->params().name(),
                         "a set of blocks", "choose one named ...-2-2-...");
  }
  return *integers_;
}

TfheBatches TfheEngine::clear(std::span<const std::uint64_t> values, int bits) const {
  if (bits > 0) return integers("clear").clear(values, bits).blocks;
  const std::vector<std::uint32_t> messages(values.begin(), values.end());
  return {evaluator_->clear(messages, tfhe::encoding_of(context()->params(), bits))};
}

TfheBatches TfheEngine::zero(const Batches& like, int blocks) const {
  const std::vector<std::uint32_t> none(bit(like, true).size(), 0);
  return Batches(static_cast<std::size_t>(blocks), evaluator_->clear(none, tfhe::Encoding::Padded));
}

TfheBatches TfheEngine::logic(Gate gate, const Batches& x, const Batches& y) const {
  if (gates()) {
    const auto [a, b] = evaluator_->gate_operands(gate, bit(x), bit(y));
    return {evaluator_->gate(gate, a, b)};
  }
  return integers("gate")
      .bitwise({x}, {y}, [gate](auto a, auto b) { return truth(gate, a & 1, b & 1) ? 1u : 0u; })
      .blocks;
}

TfheBatches TfheEngine::invert(const Batches& x, bool integer) const {
  if (gates()) return {evaluator_->logical_not(bit(x))};
  const int block = context()->params().literal().message_bits;
  Batches out;
  for (const Ciphertext& b : x) {
    out.push_back(evaluator_->complement(b, integer ? (1u << block) - 1 : 1));
  }
  return out;
}

TfheBatches TfheEngine::bitwise(Gate gate, const Batches& x, const Batches& y) const {
  return integers("bitwise")
      .bitwise({x}, {y},
               [gate](std::uint32_t a, std::uint32_t b) {
                 std::uint32_t out = 0;
                 for (int i = 0; i < 32; ++i) {
                   out |= static_cast<std::uint32_t>(truth(gate, a >> i & 1, b >> i & 1)) << i;
                 }
                 return out;
               })
      .blocks;
}

TfheBatches TfheEngine::compare(tfhe::Comparison what, const Batches& x, const Batches& y) const {
  return {integers("compare").compare(what, {x}, {y})};
}

TfheBatches TfheEngine::select(const Batches& condition, const Batches& x, const Batches& y) const {
  if (gates()) {
    const auto [s, a] = evaluator_->gate_operands(Gate::And, bit(condition), bit(x));
    const auto [t, b] = evaluator_->gate_operands(Gate::NotAnd, s, bit(y));
    return {evaluator_->mux(t, a, b)};
  }
  return integers("where").select(bit(condition), {x}, {y}).blocks;
}

TfheBatches TfheEngine::rerandomize(const Batches& x) const {
  Batches out;
  for (const Ciphertext& block : x) out.push_back(evaluator_->rerandomized(block));
  return out;
}

TfheBatches TfheEngine::sum(std::span<const Batches> x) const {
  std::vector<Integer> terms;
  for (const Batches& term : x) terms.push_back({term});
  return integers("sum").sum(terms).blocks;
}

TfheBatches TfheEngine::shift(const Batches& x, int bits, bool left) const {
  const tfhe::Integers& e = integers("shift");
  return (left ? e.shift_left({x}, bits) : e.shift_right({x}, bits)).blocks;
}

TfheBatches TfheEngine::shift_by(const Batches& x, const Batches& amount, bool left) const {
  const tfhe::Integers& e = integers("shift");
  return (left ? e.shift_left({x}, Integer{amount}) : e.shift_right({x}, Integer{amount})).blocks;
}

TfheBatches TfheEngine::to_full(const Batches& x) const { return {integers("astype").full({x})}; }

TfheBatches TfheEngine::add_full(const Batches& x, const Batches& y) const {
  return {integers("add").add_full(bit(x), bit(y))};
}

TfheBatches TfheEngine::sub_full(const Batches& x, const Batches& y) const {
  return {integers("sub").sub_full(bit(x), bit(y))};
}

TfheBatches TfheEngine::multiply_full(const Batches& x, std::int32_t factor) const {
  return {integers("multiply").multiply_full(bit(x), factor)};
}

std::vector<TfheBatches> TfheEngine::lookup(const Batches& x, std::span<const int> blocks,
                                            std::span<const Table> tables) const {
  return parts_of(integers("apply").lookup({x}, functions_of(blocks, tables)));
}

std::vector<TfheBatches> TfheEngine::lookup_full(const Batches& x, std::span<const int> blocks,
                                                 std::span<const Table> tables) const {
  return parts_of(integers("apply").lookup_full(bit(x), functions_of(blocks, tables)));
}

std::vector<TfheBatches> TfheEngine::lookup_pair(const Batches& x, const Batches& y,
                                                 std::span<const int> blocks,
                                                 std::span<const Table> tables,
                                                 std::uint64_t columns) const {
  std::vector<tfhe::Integers::PairFunction> functions;
  for (std::size_t t = 0; t < functions_in(blocks, tables); ++t) {
    functions.push_back({std::max(blocks[t], 1),
                         [v = tables[t], columns](std::uint64_t a, std::uint64_t b) {
                           const std::uint64_t at = a * columns + b;
                           return b < columns && at < v.size() ? v[at] : 0;
                         },
                         of_blocks(blocks[t])});
  }
  return parts_of(integers("apply").lookup({x}, {y}, functions));
}

}  // namespace latticino::session
