// SHA-256 (FIPS 180-4), for parameter hashes and file checks; not constant-time critical.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace latticino::crypto {

using Sha256Digest = std::array<std::uint8_t, 32>;

// Feed bytes in any pieces, then finish once.
class Sha256 {
 public:
  Sha256() = default;
  ~Sha256();  // clears the last input: files of secret keys are hashed too
  Sha256(const Sha256&) = default;
  Sha256& operator=(const Sha256&) = default;
  void update(std::span<const std::uint8_t> bytes);
  Sha256Digest finish();

 private:
  void compress(const std::uint8_t* block);
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;  // bytes fed
};

Sha256Digest sha256(std::span<const std::uint8_t> bytes);
std::string sha256_hex(std::string_view text);

}  // namespace latticino::crypto
