// LweKeySwitch: what the kernel for small batches and the one for large batches share
// (lwe/key_switch.cu).
#pragma once

#include "backend/cuda/kernels.h"
#include "backend/cuda/lwe/lwe.cuh"

namespace latticino::cuda {

struct KeySwitchArgs {
  Words key, in, out;
  LweModulus q;
  Gadget gadget;
  int bits;
  std::uint32_t count;
  std::uint32_t elements;  // mask elements per block
  long long* sum;          // [ciphertext][out.dimension + 1]
};

// Large batches on the 8-bit integer matrix units (lwe/key_switch_bytes.cu): adds to `sum`. Digits
// are bytes, and sums of a byte plane of the key fit 32 bits.
bool key_switch_in_bytes(const KeySwitchArgs& args);
std::size_t key_switch_digit_bytes(const KeySwitchArgs& args);
void launch_key_switch_bytes(Launcher& launcher, const KeySwitchArgs& args, std::int8_t* digits);

}  // namespace latticino::cuda
