// The implementations of SHA-256's compression function, all equal bit for bit, chosen at run time.
// Internal to src/crypto and its tests.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace latticino::crypto {

struct Sha256Kernel {
  const char* name;
  bool (*supported)();
  void (*compress)(std::array<std::uint32_t, 8>& state, const std::uint8_t* block);  // of 64 bytes
};
std::span<const Sha256Kernel> sha256_kernels();  // the fastest first, the last always supported

}  // namespace latticino::crypto
