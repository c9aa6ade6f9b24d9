#include "tfhe/evaluator.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "math/errors.h"

namespace latticino::tfhe {
namespace {

std::uint32_t eighth(const TfheParams& params) { return encode(params, Encoding::Boolean, 1); }

// The distance of a padded message to the next decision, divided by q.
double half_box(const TfheParams& params) { return std::exp2(-(params.plain_bits() + 2)); }

std::uint32_t times(std::uint32_t x, std::int64_t factor, std::uint32_t q) {
  return reduce_s64(factor * x, make_modulus(q));
}

}  // namespace

const GateSum& gate_sum(Gate gate) {
  for (const GateSum& sum : kGateSums) {
    if (sum.gate == gate) return sum;
  }
  throw UnsupportedError("tfhe.gate", "gate " + std::to_string(static_cast<int>(gate)),
                         "a two-input gate", "choose one of Gate");
}

bool truth(Gate gate, bool x, bool y) {
  const GateSum& sum = gate_sum(gate);
  const int eighths = (x ? sum.x : -sum.x) + (y ? sum.y : -sum.y) + sum.eighths;
  return ((eighths % 8) + 8) % 8 < 4;  // eighths of a turn: never 0 or 4
}

std::array<bool, 4> truth_table(Gate gate) {
  return {truth(gate, false, false), truth(gate, false, true), truth(gate, true, false),
          truth(gate, true, true)};
}

std::optional<Gate> gate_with(std::span<const std::uint64_t> table) {
  for (const GateSum& sum : kGateSums) {
    const std::array<bool, 4> values = truth_table(sum.gate);
    if (std::equal(values.begin(), values.end(), table.begin(), table.end(),
                   [](bool a, std::uint64_t b) { return std::uint64_t{a} == b; })) {
      return sum.gate;
    }
  }
  return std::nullopt;
}

Evaluator::Evaluator(std::shared_ptr<const Context> context, std::shared_ptr<const ServerKeys> keys,
                     const rlwe::KeyId& key)
    : context_(std::move(context)),
      keys_(std::move(keys)),
      key_(keys_ == nullptr ? key : keys_->id) {
  const TfheParams& params = context_->params();
  if (keys_ != nullptr && keys_->params_hash != params.hash()) {
    throw ContextError("tfhe.evaluator", "server keys of other parameters",
                       "keys of the set " + params.name(),
                       "use the keys made for these parameters");
  }
  if (context_->rerandomizes() && keys_ != nullptr && keys_->public_key == nullptr) {
    throw KeyError("tfhe.evaluator", "server keys without a public key",
                   "one, for a context that re-randomises",
                   "ask server_keys() for one: public=True in Python, public_key in C++");
  }
  if (params.booleans()) {
    eighth_ = constant_polynomial(*context_, eighth(params));
  } else {
    quarter_ = constant_polynomial(*context_, params.lwe_modulus() / 4);
  }
}

void Evaluator::require(const char* operation, const Ciphertext& x, Encoding encoding) const {
  if (x.context != context_) {
    throw ContextError(operation, "a ciphertext of another context", "one of this context",
                       "encrypt it with this context");
  }
  if (x.encoding != encoding) {
    throw ParameterError(operation, std::string(name(x.encoding)) + " messages", name(encoding),
                         "encrypt them in that encoding");
  }
}

Ciphertext Evaluator::clear(std::span<const std::uint32_t> messages, Encoding encoding) const {
  if (messages.empty()) {
    throw ShapeError("tfhe.clear", "no messages", "at least one", "pass some");
  }
  Ciphertext like;
  like.key = key_;
  Ciphertext out = result(like, encoding, static_cast<std::uint32_t>(messages.size()));
  out.norm2 = 0;
  // On a GPU an item is a launch, so there is one item for each run of equal messages.
  LweLinear linear;
  for (std::uint32_t i = 0, end = 0; i < out.size(); i = end) {
    while (end < out.size() && messages[end] == messages[i]) ++end;
    linear.items.push_back(
        {{}, out.view.part(i, end - i), encode(context_->params(), encoding, messages[i])});
    out.largest = std::max(out.largest, messages[i]);
  }
  context_->queue().submit(std::move(linear));
  return out;
}

double Evaluator::squared_norm(std::span<const Term> terms) {
  const auto weighted = [](const Term& t) { return Weighted{t.x, static_cast<double>(t.factor)}; };
  if (terms.size() == 2) {
    const Weighted pair[] = {weighted(terms[0]), weighted(terms[1])};
    return tfhe::squared_norm(pair);
  }
  std::vector<Weighted> all;
  for (const Term& term : terms) all.push_back(weighted(term));
  return tfhe::squared_norm(all);
}

Origins Evaluator::origins(std::span<const Term> terms) {
  Origins out;
  for (const Term& term : terms) out.join(term.x->origins);
  return out;
}

Ciphertext Evaluator::combine(const char* operation, const Sum& sum, Encoding encoding,
                              std::uint32_t largest) const {
  Ciphertext out = result(*sum.terms[0].x, encoding, batch(operation, sum));
  out.largest = largest;
  out.norm2 = squared_norm(sum.terms);
  require_decodable(operation, *context_, encoding, out.norm2);
  out.origins = origins(sum.terms);
  LweLinear::Item item{{}, out.view, sum.constant};
  for (const Term& term : sum.terms) {
    out.outside |= term.x->outside;
    if (term.x->key != out.key) {
      throw KeyError(operation, "ciphertexts under two keys", "one key", "use one secret key");
    }
    item.terms.push_back({term.x->view, term.factor});
  }
  context_->queue().submit(LweLinear{{std::move(item)}});
  return out;
}

Ciphertext Evaluator::zeros(const Ciphertext& like, std::uint32_t count) const {
  const auto queue = context_->queue().lock();  // lock order: the queue first; a recording holds it
  const std::lock_guard lock(randomness_->mutex);
  auto [buffer, view] = encrypt_zeros(*context_, *keys_->public_key, count, randomness_->random);
  Ciphertext out;
  out.context = context_;
  out.key = like.key;
  out.encoding = like.encoding;
  out.buffer = std::move(buffer);
  out.view = view;
  out.norm2 = public_norm2(*context_);
  out.origins = Origins::unique(count);
  return out;
}

Ciphertext Evaluator::rerandomized(const Ciphertext& x) const {
  constexpr const char* kOperation = "tfhe.rerandomize";
  require(kOperation, x, x.encoding);
  if (keys(kOperation, x).public_key == nullptr) {
    throw KeyError(kOperation, "server keys without a public key", "one",
                   "ask server_keys() for one: public=True in Python, public_key in C++");
  }
  const Ciphertext zero = zeros(x, x.size());
  Ciphertext out = combine(kOperation, {{{&x, 1}, {&zero, 1}}, 0}, x.encoding, x.largest);
  out.outside = false;
  return out;
}

Evaluator::Lookup Evaluator::gate_lookup(Gate gate, const Ciphertext& x,
                                         const Ciphertext& y) const {
  constexpr const char* kOperation = "tfhe.gate";
  require(kOperation, x, Encoding::Boolean);
  require(kOperation, y, Encoding::Boolean);
  if (x.key != y.key) {
    throw KeyError(kOperation, "ciphertexts under two keys", "one key", "use one secret key");
  }
  const GateSum g = gate_sum(gate);
  const std::uint32_t q = context_->params().lwe_modulus();
  Lookup lookup;
  lookup.table = eighth_.view;
  lookup.distance = std::abs(g.x) / 8.0;
  if (same(x, y)) {
    // Both operands are one ciphertext: the errors would add up, not their variances. The result of
    // the gate is x, not x, or the value for two equal operands.
    const int factor = std::abs(g.x) == 1 ? (g.x + g.y) / 2 : 0;
    const int eighths = factor != 0 ? 0 : std::abs(g.x) == 2 ? -g.eighths / 2 : g.eighths;
    lookup.sum = {{{&x, factor}}, times(eighth(context_->params()), eighths, q)};
    lookup.distance = 1 / 8.0;
    lookup.norm2 = factor * factor * x.norm2;
    return lookup;
  }
  lookup.sum = {{{&x, g.x}, {&y, g.y}}, times(eighth(context_->params()), g.eighths, q)};
  lookup.norm2 = squared_norm(lookup.sum.terms);
  return lookup;
}

bool Evaluator::decides(Gate gate, const Ciphertext& x, const Ciphertext& y) const {
  const Lookup lookup = gate_lookup(gate, x, y);
  return log_failure(lookup.norm2, lookup.distance, 0) <= context_->params().literal().log_failure;
}

Ciphertext Evaluator::refreshed(const Ciphertext& x) const {
  require("tfhe.refreshed", x, Encoding::Boolean);
  Lookup lookup;
  lookup.sum = {{{&x, 1}}, 0};
  lookup.table = eighth_.view;
  lookup.distance = 1 / 8.0;
  lookup.norm2 = x.norm2;
  return bootstrap("tfhe.refreshed", {&lookup, 1}, 0)[0];
}

// The operands of a gate, bootstrapped as often as the gate needs to be reliable enough. First x is
// bootstrapped, then y, then y a second time. It stops as soon as the gate is reliable enough. The
// second time is for batches in which x and y are the same ciphertext at some place. One
// bootstrapping gives both the same error there, and equal errors add up. After a second one, the
// error of y differs from that of x.
std::pair<Ciphertext, Ciphertext> Evaluator::gate_operands(Gate gate, const Ciphertext& x,
                                                           const Ciphertext& y) const {
  std::pair<Ciphertext, Ciphertext> out{x, y};
  if (decides(gate, x, y)) return out;
  if (x.norm2 > 1) out.first = refreshed(x);
  if (!decides(gate, out.first, out.second) && y.norm2 > 1) out.second = refreshed(y);
  if (!decides(gate, out.first, out.second)) out.second = refreshed(out.second);
  return out;
}

Ciphertext Evaluator::gate(Gate gate, const Ciphertext& x, const Ciphertext& y) const {
  const Lookup lookup = gate_lookup(gate, x, y);
  return bootstrap("tfhe.gate", {&lookup, 1}, 0)[0];
}

std::vector<Ciphertext> Evaluator::gates(std::span<const Gate> gates, std::span<const Ciphertext> x,
                                         std::span<const Ciphertext> y) const {
  if (gates.size() != x.size() || x.size() != y.size() || x.empty()) {
    throw ShapeError("tfhe.gates",
                     std::to_string(gates.size()) + " gates, " + std::to_string(x.size()) +
                         " and " + std::to_string(y.size()) + " operands",
                     "as many of each, at least one", "pass two operands per gate");
  }
  std::vector<Lookup> lookups;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    lookups.push_back(gate_lookup(gates[i], x[i], y[i]));
  }
  return bootstrap("tfhe.gates", lookups, 0);
}

Ciphertext Evaluator::logical_not(const Ciphertext& x) const {
  require("tfhe.not", x, Encoding::Boolean);
  return combine("tfhe.not", {{{&x, -1}}, 0}, Encoding::Boolean, 1);
}

// (s and x) or (not s and y), the two never both true: their sum plus q/8 is the result.
Ciphertext Evaluator::mux(const Ciphertext& s, const Ciphertext& x, const Ciphertext& y) const {
  const Lookup lookups[] = {gate_lookup(Gate::And, s, x), gate_lookup(Gate::NotAnd, s, y)};
  const std::vector<Ciphertext> halves = bootstrap("tfhe.mux", lookups, 0);
  return combine("tfhe.mux", {{{&halves[0], 1}, {&halves[1], 1}}, eighth(context_->params())},
                 Encoding::Boolean, 1);
}

Evaluator::Lookup Evaluator::table_lookup(const char* operation, const Ciphertext& x,
                                          const Table& table) const {
  if (table.context != context_) {
    throw ContextError(operation, "a table of another context", "one of this context",
                       "make it with this context");
  }
  const std::uint32_t entries = 1u << (context_->params().plain_bits() - table.log_factor);
  if (x.encoding == Encoding::Padded && x.largest >= entries) {
    throw LevelError(operation,
                     "messages up to " + std::to_string(x.largest) + " for a table of " +
                         std::to_string(entries) + " entries",
                     "an entry for each", "list more messages, or take carries off first");
  }
  Lookup lookup;
  lookup.sum = {{{&x, 1 << table.log_factor}}, 0};
  lookup.table = table.polynomial.view;
  lookup.distance = std::ldexp(half_box(context_->params()), table.log_factor);
  lookup.norm2 = std::ldexp(x.norm2, 2 * table.log_factor);
  lookup.out = table.out;
  lookup.largest = table.largest;
  return lookup;
}

double Evaluator::log_failure(double norm2, double distance, int log_many) const {
  const bool fourier = context_->in_fourier();
  const double variance = context_->params().decision_variance(std::sqrt(norm2), log_many, fourier);
  return latticino::log_failure(variance, distance);
}

bool Evaluator::decides(double norm2) const {
  const TfheParams& params = context_->params();
  return log_failure(norm2, half_box(params), 0) <= params.literal().log_failure;
}

// Halves a full message, and adds a bootstrapped one.
bool Evaluator::decides_full(double norm2) const { return decides(norm2 / 4 + 1); }

Ciphertext Evaluator::apply(const Ciphertext& x, const Table& table) const {
  return apply_many(x, table)[0];
}

std::vector<Ciphertext> Evaluator::apply_many(const Ciphertext& x, const Table& table) const {
  const Table* const one = &table;
  return looked_up("tfhe.apply", {&x, 1}, {&one, 1});
}

std::vector<Ciphertext> Evaluator::apply_each(std::span<const Ciphertext> x,
                                              std::span<const Table* const> tables) const {
  constexpr const char* kOperation = "tfhe.apply_each";
  if (x.size() != tables.size() || x.empty()) {
    throw ShapeError(
        kOperation,
        std::to_string(x.size()) + " batches, " + std::to_string(tables.size()) + " tables",
        "one table per batch", "pass as many tables as batches");
  }
  return looked_up(kOperation, x, tables);
}

std::vector<Ciphertext> Evaluator::looked_up(const char* operation, std::span<const Ciphertext> x,
                                             std::span<const Table* const> tables) const {
  std::vector<Lookup> lookups;
  for (std::size_t i = 0; i < x.size(); ++i) {
    require(operation, x[i], Encoding::Padded);
    if (tables[i]->log_many != tables[0]->log_many) {
      throw ShapeError(operation,
                       "tables of " + std::to_string(tables[0]->count()) + " and " +
                           std::to_string(tables[i]->count()) + " functions",
                       "as many in each", "use one call for each number of functions");
    }
    lookups.push_back(table_lookup(operation, x[i], *tables[i]));
  }
  return bootstrap(operation, lookups, tables[0]->log_many);
}

Ciphertext Evaluator::apply_full(const Ciphertext& x, const Table& table) const {
  const Table* const one = &table;
  return apply_full(x, {&one, 1})[0];
}

// Halving the phase modulo the odd q gives m q / 2^(p+1), or that plus q/2; the parity of the phase
// decides. Half a box is added, so that noise does not cross the edge of a half. Then the sign of
// the phase (a table of +- q/4) tells which of the two it is, and this is subtracted. The rest is
// padded.
std::vector<Ciphertext> Evaluator::apply_full(const Ciphertext& x,
                                              std::span<const Table* const> tables) const {
  constexpr const char* kOperation = "tfhe.apply_full";
  require(kOperation, x, Encoding::Full);
  if (tables.empty()) throw ShapeError(kOperation, "no tables", "at least one", "pass some");
  const TfheParams& params = context_->params();
  const std::uint32_t q = params.lwe_modulus();
  const std::int32_t half = static_cast<std::int32_t>(q / 2) + 1;
  std::vector<Lookup> lookups;
  for (const Table* table : tables) {
    if (table->log_many != 0 || table->log_factor != 0) {
      throw ShapeError(kOperation,
                       std::to_string(table->count()) + " functions of 2^" +
                           std::to_string(params.plain_bits() - table->log_factor) + " messages",
                       "one function of every message", "make a table for each function");
    }
    lookups.push_back(table_lookup(kOperation, x, *table));
  }
  Lookup sign = lookups[0];
  sign.sum = {{{&x, half}}, q >> (params.plain_bits() + 2)};
  sign.table = quarter_.view;
  sign.norm2 = x.norm2 / 4;
  const Ciphertext top = bootstrap(kOperation, {&sign, 1}, 0)[0];
  for (Lookup& lookup : lookups) {
    lookup.sum = {{{&x, half}, {&top, 1}}, q - q / 4};
    lookup.norm2 = x.norm2 / 4 + top.norm2;
  }
  return bootstrap(kOperation, lookups, 0);
}

}  // namespace latticino::tfhe
