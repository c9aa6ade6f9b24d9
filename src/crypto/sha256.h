// SHA-256 (FIPS 180-4), for parameter hashes and file checks. It need not be constant time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace latticino::crypto {

using Sha256Digest = std::array<std::uint8_t, 32>;

// Takes bytes in pieces of any size. Call finish() once, at the end.
class Sha256 {
 public:
  Sha256() = default;
  ~Sha256();  // also clears the last input, because files of secret keys are hashed too
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
  std::uint64_t length_ = 0;  // number of bytes taken so far
};

Sha256Digest sha256(std::span<const std::uint8_t> bytes);
std::string sha256_hex(std::string_view text);

}  // namespace latticino::crypto
