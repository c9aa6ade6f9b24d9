// Digests by which known answers are compared.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "crypto/sha256.h"

namespace latticino::test {

// SHA-256 of words in little-endian bytes, as hexadecimal digits.
inline std::string digest(std::span<const std::uint32_t> words) {
  std::string bytes;
  for (const std::uint32_t w : words) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(w >> (8 * i));
  }
  return crypto::sha256_hex(bytes);
}

// The first 16 digits of it.
inline std::string short_digest(std::span<const std::uint32_t> words) {
  return digest(words).substr(0, 16);
}

}  // namespace latticino::test
