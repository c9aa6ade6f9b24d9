// The implementations of expand_limb and chacha20_keystream, all equal bit for bit, chosen at run
// time. Internal to src/crypto and its tests.
#pragma once

#include <cstdint>
#include <span>

#include "crypto/chacha_lanes.h"

namespace latticino::crypto {

struct ExpandKernel {
  const char* name;
  bool (*supported)();
  // Residues modulo q of the keystream from `start`, whose counter is 0.
  void (*run)(ChachaState start, std::uint32_t q, std::span<std::uint32_t> out);
  // The keystream itself, from the counter of `start`. Leaves nothing of it on the stack.
  void (*keystream)(ChachaState start, std::span<std::uint8_t> out);
};
std::span<const ExpandKernel> expand_kernels();  // the fastest first, the last always supported

}  // namespace latticino::crypto
