// Sums: no bootstrapping.
#include <cstdlib>
#include <string>

#include "math/errors.h"
#include "tfhe/evaluator.h"

namespace latticino::tfhe {
namespace {

// The largest message of a sum that could reach `largest`: padded sums have to fit, full ones wrap
// around.
std::uint32_t most(const char* operation, const TfheParams& params, Encoding encoding,
                   std::uint64_t largest) {
  const std::uint32_t count = message_count(params, encoding);
  if (encoding == Encoding::Full) return count - 1;
  if (largest < count) return static_cast<std::uint32_t>(largest);
  throw LevelError(operation, "messages up to " + std::to_string(largest),
                   "messages below " + std::to_string(count),
                   "take carries off first, or add in the full encoding");
}

void require_integers(const char* operation, const Ciphertext& x) {
  if (x.encoding == Encoding::Boolean) {
    throw ParameterError(operation, "booleans", "integers", "use gates");
  }
}

}  // namespace

Ciphertext Evaluator::add(const Ciphertext& x, const Ciphertext& y) const {
  require_integers("tfhe.add", x);
  require("tfhe.add", x, x.encoding);
  require("tfhe.add", y, x.encoding);
  const std::uint32_t largest =
      most("tfhe.add", context_->params(), x.encoding, std::uint64_t{x.largest} + y.largest);
  return combine("tfhe.add", {{{&x, 1}, {&y, 1}}, 0}, x.encoding, largest);
}

Ciphertext Evaluator::sub(const Ciphertext& x, const Ciphertext& y) const {
  require("tfhe.sub", x, Encoding::Full);
  require("tfhe.sub", y, Encoding::Full);
  return combine("tfhe.sub", {{{&x, 1}, {&y, -1}}, 0}, Encoding::Full, x.largest);
}

Ciphertext Evaluator::add_clear(const Ciphertext& x, std::uint32_t m) const {
  require_integers("tfhe.add_clear", x);
  require("tfhe.add_clear", x, x.encoding);
  const std::uint32_t residue = encode(context_->params(), x.encoding, m);
  const std::uint32_t largest =
      most("tfhe.add_clear", context_->params(), x.encoding, std::uint64_t{x.largest} + m);
  return combine("tfhe.add_clear", {{{&x, 1}}, residue}, x.encoding, largest);
}

Ciphertext Evaluator::multiply_clear(const Ciphertext& x, std::int32_t factor) const {
  constexpr const char* kOperation = "tfhe.multiply_clear";
  require_integers(kOperation, x);
  require(kOperation, x, x.encoding);
  if (x.encoding == Encoding::Padded && factor < 0) {
    throw ValueError(kOperation, "the factor " + std::to_string(factor), "0 or more",
                     "use the full encoding");
  }
  const std::uint32_t largest =
      most(kOperation, context_->params(), x.encoding,
           std::uint64_t{x.largest} * static_cast<std::uint64_t>(std::abs(std::int64_t{factor})));
  return combine(kOperation, {{{&x, factor}}, 0}, x.encoding, largest);
}

Ciphertext Evaluator::to_full(const Ciphertext& x) const {
  require("tfhe.to_full", x, Encoding::Padded);
  const std::uint32_t largest = message_count(context_->params(), Encoding::Full) - 1;
  return combine("tfhe.to_full", {{{&x, 2}}, 0}, Encoding::Full, largest);
}

Ciphertext Evaluator::pack(const Ciphertext& high, const Ciphertext& low,
                           std::int32_t factor) const {
  constexpr const char* kOperation = "tfhe.pack";
  require(kOperation, high, Encoding::Padded);
  require(kOperation, low, Encoding::Padded);
  if (factor < 1 || low.largest >= static_cast<std::uint32_t>(factor)) {
    throw ValueError(kOperation,
                     "the factor " + std::to_string(factor) + " over messages up to " +
                         std::to_string(low.largest),
                     "a factor above the low message", "take carries off first");
  }
  const std::uint32_t largest =
      most(kOperation, context_->params(), Encoding::Padded,
           std::uint64_t{high.largest} * static_cast<std::uint64_t>(factor) + low.largest);
  return combine(kOperation, {{{&high, factor}, {&low, 1}}, 0}, Encoding::Padded, largest);
}

Ciphertext Evaluator::sum(std::span<const Ciphertext> x) const {
  constexpr const char* kOperation = "tfhe.sum";
  if (x.empty()) throw ShapeError(kOperation, "no terms", "at least one", "pass some");
  Sum sum;
  std::uint64_t largest = 0;
  for (const Ciphertext& term : x) {
    require(kOperation, term, Encoding::Padded);
    sum.terms.push_back({&term, 1});
    largest += term.largest;
  }
  return combine(kOperation, sum, Encoding::Padded,
                 most(kOperation, context_->params(), Encoding::Padded, largest));
}

Ciphertext Evaluator::complement(const Ciphertext& x, std::uint32_t m) const {
  constexpr const char* kOperation = "tfhe.complement";
  require(kOperation, x, Encoding::Padded);
  const std::uint32_t residue = encode(context_->params(), Encoding::Padded, m);
  if (x.largest > m) {
    throw ValueError(kOperation, "messages up to " + std::to_string(x.largest),
                     "at most " + std::to_string(m), "complement to a larger message");
  }
  return combine(kOperation, {{{&x, -1}}, residue}, Encoding::Padded, m);
}

}  // namespace latticino::tfhe
