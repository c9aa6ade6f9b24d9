// Operators of encrypted booleans and integers.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <ostream>

#include "math/errors.h"
#include "session/tfhe/state.h"

namespace latticino {
namespace session {
namespace {

using tfhe::Comparison;
using tfhe::Gate;

std::string name_of(int bits) { return TfheType{bits}.name(); }

[[noreturn]] void refuse_modular(const char* operation, int bits) {
  throw ParameterError(
      operation, "integers of type " + name_of(bits), "booleans or integers of type \"u..\"",
      "convert with as(TfheType{" + std::to_string(-bits) + "}), which takes bootstrappings");
}

void require_blocks(const TfheArrayState& x, const char* operation) {
  if (x.bits < 0) refuse_modular(operation, x.bits);
}

void require_integers(const TfheArrayState& x, const char* operation) {
  require_blocks(x, operation);
  if (x.bits == 0) {
    throw ParameterError(operation, "booleans", "integers",
                         "use & | ^ for booleans, or convert with as()");
  }
}

// Integers of another width: blocks of zero above, or the upper ones cut off.
TfheArray widened(const TfheArray& x, int bits) {
  const TfheArrayState& s = state(x);
  if (bits == s.bits) return x;
  const auto blocks = static_cast<std::size_t>(
      std::max(bits / std::max(s.context->params().literal().message_bits, 1), 1));
  TfheBatches parts = s.parts();
  if (blocks <= parts.size()) {
    parts.resize(blocks);
  } else {
    const TfheBatches zeros = s.engine()->zero(parts, static_cast<int>(blocks - parts.size()));
    parts.insert(parts.end(), zeros.begin(), zeros.end());
  }
  return tfhe_array(s.context, std::move(parts), bits);
}

// An operand in the context of x. Clear values become ciphertexts that anyone can read.
TfheArray operand(const TfheArrayState& x, const TfheOperand& y, int bits, const char* operation) {
  if (const TfheArray* array = std::get_if<TfheArray>(&y.value)) {
    if (state(*array).context != x.context) {
      throw ContextError(operation, "arrays of two contexts or sessions", "one of them",
                         "encrypt both in the same one, or adopt one");
    }
    return *array;
  }
  std::vector<std::uint64_t> values;
  if (const std::int64_t* number = std::get_if<std::int64_t>(&y.value)) {
    if (*number < 0) {
      throw ValueError(
          operation, "the value " + std::to_string(*number),
          "0 to " + std::to_string(most_of(bits)) + " for " + name_of(bits),
          "add a number that makes all values 0 or more, because these types have no sign");
    }
    values = {static_cast<std::uint64_t>(*number)};
  } else {
    values = std::get<std::vector<std::uint64_t>>(y.value);
  }
  require_values(values, {bits}, operation);
  return tfhe_array(x.context, x.engine()->clear(values, bits), bits);
}

struct Pair {
  TfheArray x, y;
  int bits = 0;
};

// Converts both operands to the wider type.
Pair alike(const TfheArray& x, const TfheOperand& y, const char* operation) {
  const TfheArrayState& s = state(x);
  const TfheArray other = operand(s, y, s.bits, operation);
  const int a = s.bits, b = state(other).bits;
  if (std::min(a, b) < 0 && a != b) {
    throw ParameterError(operation, name_of(a) + " and " + name_of(b), "one type",
                         "convert with as()");
  }
  const int bits = std::max(a, b);
  return {widened(x, bits), widened(other, bits), bits};
}

// Applies a function to arrays of one length or to single values, in pieces of a size that the
// device takes at once.
using Function = std::function<TfheBatches(const std::vector<TfheBatches>&)>;
TfheArray each(const char* operation, const std::vector<TfheArray>& operands, int bits,
               const Function& f) {
  const TfheArrayState& first = state(operands[0]);
  std::size_t size = 1;
  int widest = 0;
  for (const TfheArray& x : operands) {
    const std::size_t own = x.size();
    if (own != 1 && size != 1 && own != size) {
      throw ShapeError(operation, std::to_string(size) + " and " + std::to_string(own) + " values",
                       "arrays of one length, or a single value", "take as many of both");
    }
    size = std::max(size, own);
    widest = std::max(widest, state(x).bits);
  }
  const auto batches = [&](std::size_t at, std::size_t end) {
    std::vector<TfheBatches> out;
    std::vector<std::uint32_t> places(end - at);
    std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(at));
    for (const TfheArray& x : operands) {
      const bool whole = x.size() == 1 || (at == 0 && end == size);
      out.push_back(whole ? state(x).parts() : take(state(x).parts(), places));
    }
    return out;
  };
  const std::size_t together = first.context->host()->together(widest);
  std::vector<TfheBatches> pieces;
  for (std::size_t at = 0; at < size; at += together) {
    pieces.push_back(f(batches(at, std::min(size, at + together))));
  }
  return tfhe_array(first.context, pieces.size() == 1 ? std::move(pieces[0]) : concatenate(pieces),
                    bits);
}

TfheArray logic(Gate gate, const TfheArray& a, const TfheOperand& b, const char* operation) {
  require_blocks(state(a), operation);
  const auto [x, y, bits] = alike(a, b, operation);
  const auto engine = state(x).engine();
  return each(operation, {x, y}, bits, [&, bits = bits](const auto& p) {
    return bits > 0 ? engine->bitwise(gate, p[0], p[1]) : engine->logic(gate, p[0], p[1]);
  });
}

TfheArray compared(Comparison what, Gate gate, const TfheArray& a, const TfheOperand& b,
                   const char* operation) {
  const auto [x, y, bits] = alike(a, b, operation);
  if (bits < 0) {
    const bool equal = what == Comparison::Equal;
    if (!equal && what != Comparison::NotEqual) refuse_modular(operation, bits);
    return (x - y).apply([equal](std::uint64_t v) -> std::uint64_t { return (v == 0) == equal; },
                         kBool);
  }
  const auto engine = state(x).engine();
  return each(operation, {x, y}, 0, [&, bits = bits](const auto& p) {
    return bits > 0 ? engine->compare(what, p[0], p[1]) : engine->logic(gate, p[0], p[1]);
  });
}

using Operation = tfhe::Integer (tfhe::Integers::*)(const tfhe::Integer&,
                                                    const tfhe::Integer&) const;
TfheArray arithmetic(Operation f, const TfheArray& a, const TfheOperand& b, const char* operation) {
  const auto [x, y, bits] = alike(a, b, operation);
  require_integers(state(x), operation);
  const auto engine = state(x).engine();
  return each(operation, {x, y}, bits, [&](const auto& p) {
    return (engine->integers(operation).*f)({p[0]}, {p[1]}).blocks;
  });
}

TfheArray shifted(const TfheArray& x, const TfheOperand& by, bool left) {
  const TfheArrayState& s = state(x);
  require_integers(s, "shift");
  const auto engine = s.engine();
  if (const TfheArray* amount = std::get_if<TfheArray>(&by.value)) {
    require_blocks(state(*amount), "shift");
    operand(s, by, s.bits, "shift");  // all belong to one context
    return each("shift", {x, *amount}, s.bits,
                [&](const auto& p) { return engine->shift_by(p[0], p[1], left); });
  }
  const auto* values = std::get_if<std::vector<std::uint64_t>>(&by.value);
  const std::int64_t* number = std::get_if<std::int64_t>(&by.value);
  if ((number && *number < 0) || (values && values->size() != 1)) {
    throw ValueError("shift",
                     number ? "a shift by " + std::to_string(*number) : "several clear amounts",
                     "one amount from 0", "shift the other way, or encrypt the amounts");
  }
  const std::uint64_t amount = number ? static_cast<std::uint64_t>(*number) : (*values)[0];
  const int bits =
      static_cast<int>(std::min<std::uint64_t>(amount, static_cast<std::uint64_t>(s.bits)));
  return each("shift", {x}, s.bits, [&](const auto& p) { return engine->shift(p[0], bits, left); });
}

// Combines all values by f: first pairs, then pairs of the results, and so on.
TfheArray folded(TfheArray x,
                 const std::function<TfheArray(const TfheArray&, const TfheArray&)>& f) {
  const auto range = [](std::size_t from, std::size_t to) {
    std::vector<std::uint32_t> places(to - from);
    std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(from));
    return places;
  };
  while (x.size() > 1) {
    const std::size_t size = x.size(), half = size / 2;
    const TfheArray pairs = f(x.take(range(0, half)), x.take(range(half, 2 * half)));
    if (size == 2 * half) {
      x = pairs;
    } else {
      const TfheArray both[] = {pairs, x.take(range(2 * half, size))};
      x = concatenate(both);
    }
  }
  return x;
}

// The number of result blocks of a type in tables: 0 for bits, -1 for integers modulo 2^p.
int blocks_of(const TfheParams& params, int bits) {
  return std::max(bits / std::max(params.literal().message_bits, 1), -1);
}

// The values of a function for every input, checked against the type.
template <class F>
std::vector<std::uint64_t> table_of(std::uint64_t count, TfheType type, F f) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < count; ++i) out.push_back(f(i));
  require_values(out, type, "apply");
  return out;
}

void require_function(bool given) {
  if (given) return;
  throw ValueError("apply", "an empty function", "a function", "pass one, a lambda for instance");
}

void require_arguments(const TfheArrayState& x, int count) {
  const TfheParams& params = x.context->params();
  const int most = params.booleans() ? 1 : (3 - count) * params.literal().message_bits;
  if (x.bits <= most && (count == 1 || x.bits >= 0)) return;
  throw UnsupportedError(
      "apply", name_of(x.bits) + " among " + std::to_string(count) + " arguments",
      "at most u" + std::to_string(most) + " each", "compose it of comparisons and where()");
}

// A table of booleans, for a set of gates. It is a gate if it depends on both arguments.
TfheArray gate_of(const std::vector<std::uint64_t>& table, const TfheArray& x, const TfheArray& y) {
  if (const std::optional<Gate> gate = tfhe::gate_with(table)) return logic(*gate, x, y, "apply");
  const std::size_t size = std::max(x.size(), y.size());
  const auto spread = [&](const TfheArray& z) {
    return z.size() == size ? z : z.take(std::vector<std::uint32_t>(size, 0));
  };
  if (std::ranges::count(table, table[0]) == static_cast<std::ptrdiff_t>(table.size())) {
    const std::vector<std::uint64_t> values(size, table[0]);
    return operand(state(x), values, 0, "apply");
  }
  // The one argument that counts: x if its halves are constant.
  const TfheArray z = spread(table[0] == table[table.size() / 2 - 1] ? x : y);
  return table[0] ? ~z : z;
}

}  // namespace
}  // namespace session

using session::state;
using session::TfheArrayState;

TfheContext TfheArray::context() const { return TfheContext(state_->context); }
std::size_t TfheArray::size() const { return state_->size(); }
TfheType TfheArray::type() const { return {state_->bits}; }
std::string TfheArray::key_id() const { return state_->key(); }

std::uint64_t TfheArray::bytes() const {
  std::uint64_t sum = 0;
  for (const tfhe::Ciphertext& x : state_->parts()) {
    sum += sizeof(std::uint32_t) * (x.view.dimension + std::uint64_t{1}) * x.size();
  }
  return sum;
}

double TfheArray::log_failure() const {
  double largest = -HUGE_VAL;
  for (const tfhe::Ciphertext& x : state_->parts()) {
    if (x.norm2 > 0) largest = std::max(largest, session::log_failure_of(x));
  }
  return largest;
}

TfheArray TfheArray::operator~() const {
  session::require_blocks(*state_, "invert");
  return session::tfhe_array(
      state_->context, state_->engine()->invert(state_->parts(), state_->bits > 0), state_->bits);
}

TfheArray TfheArray::operator[](std::size_t i) const {
  if (i >= size()) {
    throw ShapeError("index", "place " + std::to_string(i) + " of " + std::to_string(size()),
                     "a place that is there", "check the index");
  }
  const std::uint32_t place[] = {static_cast<std::uint32_t>(i)};
  return take(place);
}

TfheArray TfheArray::take(std::span<const std::uint32_t> places) const {
  return session::tfhe_array(state_->context, session::take(state_->parts(), places), state_->bits);
}

TfheArray TfheArray::as(TfheType type) const {
  const TfheArrayState& s = *state_;
  session::require_type(s.context->params(), type, "as");
  if (s.bits < 0 && type.bits != s.bits) {
    const std::uint64_t most = session::most_of(type.bits);
    const bool truth = type.bits == 0;
    return apply([=](std::uint64_t v) { return truth ? std::uint64_t{v != 0} : v & most; }, type);
  }
  if (type.bits < 0 && type.bits != s.bits) {
    const TfheArray low = s.bits > -type.bits ? session::widened(*this, -type.bits) : *this;
    const auto engine = s.engine();
    return session::each("as", {low}, type.bits,
                         [&](const auto& p) { return engine->to_full(p[0]); });
  }
  if (s.bits > 0 && type.bits == 0) return *this != 0;
  return session::widened(*this, type.bits);
}

TfheArray TfheArray::apply(const std::function<std::uint64_t(std::uint64_t)>& f,
                           TfheType type) const {
  const TfheArrayState& s = *state_;
  const TfheParams& params = s.context->params();
  session::require_type(params, type, "apply");
  session::require_arguments(s, 1);
  session::require_function(static_cast<bool>(f));
  const auto table = session::table_of(session::most_of(s.bits) + 1, type, f);
  if (params.booleans()) {
    return session::gate_of({table[0], table[0], table[1], table[1]}, *this, *this);
  }
  const auto engine = s.engine();
  const int blocks[] = {session::blocks_of(params, type.bits)};
  const session::TfheEngine::Table tables[] = {table};
  return session::each("apply", {*this}, type.bits, [&](const auto& p) {
    return s.bits < 0 ? engine->lookup_full(p[0], blocks, tables)[0]
                      : engine->lookup(p[0], blocks, tables)[0];
  });
}

TfheArray TfheArray::apply(const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& f,
                           const TfheArray& other, TfheType type) const {
  const TfheArrayState& s = *state_;
  const TfheParams& params = s.context->params();
  session::require_type(params, type, "apply");
  const TfheArray second = session::operand(s, other, s.bits, "apply");
  session::require_arguments(s, 2);
  session::require_arguments(session::state(second), 2);
  session::require_function(static_cast<bool>(f));
  const std::uint64_t rows = session::most_of(s.bits) + 1;
  const std::uint64_t columns = session::most_of(session::state(second).bits) + 1;
  const auto table = session::table_of(
      rows * columns, type, [&](std::uint64_t i) { return f(i / columns, i % columns); });
  if (params.booleans()) return session::gate_of(table, *this, second);
  const auto engine = s.engine();
  const int blocks[] = {session::blocks_of(params, type.bits)};
  const session::TfheEngine::Table tables[] = {table};
  return session::each("apply", {*this, second}, type.bits, [&](const auto& p) {
    return engine->lookup_pair(p[0], p[1], blocks, tables, columns)[0];
  });
}

TfheArray TfheArray::sum() const {
  TfheArray x = *this;
  const TfheParams& params = state_->context->params();
  if (state_->bits == 0) {
    const int block = std::max(params.literal().message_bits, 1);
    int bits = block;
    while (session::most_of(bits) < size()) bits += block;
    x = as({bits});
  }
  const TfheArrayState& s = session::state(x);
  if (s.bits < 0) return session::folded(x, [](const auto& a, const auto& b) { return a + b; });
  session::require_integers(s, "sum");
  // Ciphertexts per sum; with more of them, carries are a small part of the work.
  constexpr std::size_t kTerms = 16;
  const auto engine = s.engine();
  while (x.size() > 1) {
    const std::size_t size = x.size(), terms = std::min(size, kTerms);
    const std::size_t rows = (size + terms - 1) / terms;
    if (terms * rows > size) {
      const TfheArray zeros =
          session::operand(s, std::vector<std::uint64_t>(terms * rows - size, 0), s.bits, "sum");
      const TfheArray both[] = {x, zeros};
      x = concatenate(both);
    }
    std::vector<TfheArray> pieces;
    for (std::size_t t = 0; t < terms; ++t) {
      std::vector<std::uint32_t> places(rows);
      std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(t * rows));
      pieces.push_back(x.take(places));
    }
    x = session::each("sum", pieces, s.bits, [&](const auto& p) { return engine->sum(p); });
  }
  return x;
}

TfheArray TfheArray::min() const {
  return session::folded(*this, [](const auto& a, const auto& b) { return minimum(a, b); });
}
TfheArray TfheArray::max() const {
  return session::folded(*this, [](const auto& a, const auto& b) { return maximum(a, b); });
}
TfheArray TfheArray::any() const {
  return session::folded(as(kBool), [](const auto& a, const auto& b) { return a | b; });
}
TfheArray TfheArray::all() const {
  return session::folded(as(kBool), [](const auto& a, const auto& b) { return a & b; });
}

TfheArray TfheArray::rerandomize() const {
  const auto engine = state_->engine();
  return session::each("rerandomize", {*this}, state_->bits,
                       [&](const auto& p) { return engine->rerandomize(p[0]); });
}

TfheArray operator&(const TfheArray& x, const TfheOperand& y) {
  return session::logic(tfhe::Gate::And, x, y, "and");
}
TfheArray operator|(const TfheArray& x, const TfheOperand& y) {
  return session::logic(tfhe::Gate::Or, x, y, "or");
}
TfheArray operator^(const TfheArray& x, const TfheOperand& y) {
  return session::logic(tfhe::Gate::Xor, x, y, "xor");
}

TfheArray operator+(const TfheArray& a, const TfheOperand& b) {
  if (state(a).bits >= 0) return session::arithmetic(&tfhe::Integers::add, a, b, "add");
  const auto [x, y, bits] = session::alike(a, b, "add");
  const auto engine = state(x).engine();
  return session::each("add", {x, y}, bits,
                       [&](const auto& p) { return engine->add_full(p[0], p[1]); });
}

TfheArray operator-(const TfheArray& a, const TfheOperand& b) {
  if (state(a).bits >= 0) return session::arithmetic(&tfhe::Integers::sub, a, b, "subtract");
  const auto [x, y, bits] = session::alike(a, b, "subtract");
  const auto engine = state(x).engine();
  return session::each("subtract", {x, y}, bits,
                       [&](const auto& p) { return engine->sub_full(p[0], p[1]); });
}

TfheArray operator*(const TfheArray& x, const TfheOperand& y) {
  const TfheArrayState& s = state(x);
  if (s.bits >= 0) return session::arithmetic(&tfhe::Integers::multiply, x, y, "multiply");
  const std::int64_t* number = std::get_if<std::int64_t>(&y.value);
  const auto* values = std::get_if<std::vector<std::uint64_t>>(&y.value);
  if (number == nullptr && (values == nullptr || values->size() != 1)) {
    throw UnsupportedError("multiply", session::name_of(s.bits) + " and an array",
                           "one clear integer", "convert both for a product of encrypted values");
  }
  // The factor of the smallest size modulo 2^p, because the noise is multiplied by its square.
  const std::uint64_t count = std::uint64_t{1} << -s.bits;
  const std::uint64_t factor = number ? static_cast<std::uint64_t>(*number) : (*values)[0];
  const int half = static_cast<int>(count / 2);
  const int least = static_cast<int>((factor + count / 2) % count) - half;
  const auto engine = s.engine();
  return session::each("multiply", {x}, s.bits,
                       [&](const auto& p) { return engine->multiply_full(p[0], least); });
}

TfheArray operator<<(const TfheArray& x, const TfheOperand& amount) {
  return session::shifted(x, amount, true);
}
TfheArray operator>>(const TfheArray& x, const TfheOperand& amount) {
  return session::shifted(x, amount, false);
}

TfheArray operator<(const TfheArray& x, const TfheOperand& y) {
  return session::compared(tfhe::Comparison::Less, tfhe::Gate::NotAnd, x, y, "less");
}
TfheArray operator<=(const TfheArray& x, const TfheOperand& y) {
  return session::compared(tfhe::Comparison::LessEqual, tfhe::Gate::NotOr, x, y, "less_equal");
}
TfheArray operator>(const TfheArray& x, const TfheOperand& y) {
  return session::compared(tfhe::Comparison::Greater, tfhe::Gate::AndNot, x, y, "greater");
}
TfheArray operator>=(const TfheArray& x, const TfheOperand& y) {
  return session::compared(tfhe::Comparison::GreaterEqual, tfhe::Gate::OrNot, x, y,
                           "greater_equal");
}
TfheArray operator==(const TfheArray& x, const TfheOperand& y) {
  return session::compared(tfhe::Comparison::Equal, tfhe::Gate::Xnor, x, y, "equal");
}
TfheArray operator!=(const TfheArray& x, const TfheOperand& y) {
  return session::compared(tfhe::Comparison::NotEqual, tfhe::Gate::Xor, x, y, "not_equal");
}

TfheArray detail::clear_like(const TfheOperand& x, const TfheArray& y) {
  return session::operand(state(y), x, state(y).bits, "encode");
}

TfheArray where(const TfheArray& condition, const TfheArray& a, const TfheOperand& b) {
  const TfheArrayState& c = state(condition);
  if (c.bits != 0) {
    throw ParameterError("where", "a condition of " + session::name_of(c.bits), "booleans",
                         "compare first, or convert with as(kBool)");
  }
  session::operand(c, a, state(a).bits, "where");  // all belong to one context
  session::require_blocks(state(a), "where");
  const auto [x, y, bits] = session::alike(a, b, "where");
  const auto engine = state(x).engine();
  return session::each("where", {condition, x, y}, bits,
                       [&](const auto& p) { return engine->select(p[0], p[1], p[2]); });
}

TfheArray minimum(const TfheArray& x, const TfheOperand& y) {
  return session::arithmetic(&tfhe::Integers::min, x, y, "minimum");
}
TfheArray maximum(const TfheArray& x, const TfheOperand& y) {
  return session::arithmetic(&tfhe::Integers::max, x, y, "maximum");
}

TfheArray concatenate(std::span<const TfheArray> several) {
  if (several.empty()) {
    throw ShapeError("concatenate", "no arrays", "at least one", "pass some");
  }
  int least = state(several[0]).bits, bits = least;
  for (const TfheArray& x : several) {
    session::operand(state(several[0]), x, 0, "concatenate");  // all belong to one context
    least = std::min(least, state(x).bits);
    bits = std::max(bits, state(x).bits);
  }
  if (least < 0 && least != bits) {
    throw ParameterError("concatenate", session::name_of(least) + " and " + session::name_of(bits),
                         "one type", "convert with as()");
  }
  std::vector<session::TfheBatches> parts;
  for (const TfheArray& x : several) parts.push_back(state(session::widened(x, bits)).parts());
  return session::tfhe_array(state(several[0]).context, session::concatenate(parts), bits);
}

std::ostream& operator<<(std::ostream& out, const TfheArray& x) {
  return out << "TfheArray(" << x.size() << " of " << x.type().name() << ", " << x.context().name()
             << ", fails with 2^" << x.log_failure() << ")";
}

}  // namespace latticino
