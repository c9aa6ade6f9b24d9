#include "rlwe/secret_coefficients.h"

#include <algorithm>
#include <string>

#include "math/errors.h"

namespace latticino::rlwe {

// All valid keys give the same two numbers, if the weight is a parameter.
SecretCoefficients::SecretCoefficients(const Shape& shape,
                                       std::span<const std::int8_t> coefficients) {
  std::uint32_t nonzero = 0, outside = 0;
  for (const std::int8_t v : coefficients) {
    nonzero += static_cast<std::uint32_t>(v) & 1;  // 0, 1 and -1 have a lowest bit of 0, 1 and 1
    outside |= static_cast<std::uint32_t>(shape.ternary ? v * v * v - v : v * v - v);
  }
  if (shape.weight == 0) nonzero = 0;
  crypto::declassify(&nonzero, sizeof nonzero);
  crypto::declassify(&outside, sizeof outside);
  if (coefficients.size() != static_cast<std::size_t>(shape.length) || outside != 0 ||
      (shape.weight > 0 && nonzero != static_cast<std::uint32_t>(shape.weight))) {
    throw KeyError(
        shape.operation,
        std::to_string(coefficients.size()) + " coefficients of the " + shape.secret + " secret",
        std::to_string(shape.length) + (shape.ternary ? " ternary" : " binary") + " coefficients" +
            (shape.weight > 0 ? " of weight " + std::to_string(shape.weight) : ""),
        "load a key that was made for these parameters");
  }
  coefficients_.assign(coefficients.begin(), coefficients.end());
}

std::span<const std::int8_t> SecretCoefficients::get(const char* operation) const {
  crypto::require_same_process(operation, process_);
  return coefficients_;
}

KeyId fresh_key_id(Random& random) {
  KeyId id;
  const Seed seed = random.seed();
  std::copy_n(seed.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

}  // namespace latticino::rlwe
