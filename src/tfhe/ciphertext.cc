#include "tfhe/ciphertext.h"

#include "math/errors.h"

namespace latticino::tfhe {
namespace {

// Boxes of the torus: a message is at a multiple of q over their number.
int log_boxes(const TfheParams& params, Encoding encoding) {
  return params.plain_bits() + (encoding == Encoding::Padded ? 1 : 0);
}

// round(x boxes / q) or round(x q / boxes), halves up.
std::uint64_t rounded(std::uint64_t x, std::uint64_t times, std::uint64_t over) {
  return (2 * x * times + over) / (2 * over);
}

}  // namespace

const char* name(Encoding encoding) {
  return encoding == Encoding::Boolean  ? "booleans"
         : encoding == Encoding::Padded ? "padded"
                                        : "full";
}

std::string Ciphertext::str() const {
  return "Ciphertext(" + std::to_string(size()) + " x " + name(encoding) +
         ", largest=" + std::to_string(largest) + ", norm2=" + std::to_string(norm2) + ")";
}

bool same(const Ciphertext& x, const Ciphertext& y) {
  return x.buffer == y.buffer && x.view.data == y.view.data && x.size() == y.size() &&
         x.view.stride == y.view.stride;
}

std::uint32_t message_count(const TfheParams& params, Encoding encoding) {
  if (params.booleans() != (encoding == Encoding::Boolean)) {
    throw ParameterError("tfhe.encode",
                         std::string(name(encoding)) + " messages with the set " + params.name(),
                         params.booleans() ? "booleans" : "integers", "choose another set");
  }
  return encoding == Encoding::Boolean ? 2 : 1u << params.plain_bits();
}

std::uint32_t encode(const TfheParams& params, Encoding encoding, std::uint32_t message) {
  const std::uint32_t q = params.lwe_modulus(), count = message_count(params, encoding);
  if (message >= count) {
    throw ValueError("tfhe.encode", "a message above them",
                     "messages below " + std::to_string(count), "use more blocks");
  }
  if (encoding == Encoding::Boolean) {
    const auto eighth = static_cast<std::uint32_t>(rounded(1, q, 8));
    return message == 1 ? eighth : q - eighth;
  }
  return static_cast<std::uint32_t>(
      rounded(message, q, std::uint64_t{1} << log_boxes(params, encoding)));
}

std::uint32_t decode(const TfheParams& params, Encoding encoding, std::uint32_t phase) {
  const std::uint32_t q = params.lwe_modulus(), count = message_count(params, encoding);
  if (encoding == Encoding::Boolean) return phase <= q / 2 ? 1 : 0;
  const std::uint64_t boxes = std::uint64_t{1} << log_boxes(params, encoding);
  const auto box = static_cast<std::uint32_t>(rounded(phase, boxes, q) & (boxes - 1));
  return encoding == Encoding::Full ? box & (count - 1) : box;
}

}  // namespace latticino::tfhe
