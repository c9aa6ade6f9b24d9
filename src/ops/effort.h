// What records take beside the bytes that they name: the arithmetic of TFHE's key switches and
// blind rotations, and of Dot what a GPU reads again (ops/dot_effort.h). For predictions
// (runtime/rates.h).
#pragma once

#include <cstdint>

#include "ops/operations.h"

namespace latticino {

struct Effort {
  std::uint64_t items = 0;  // ciphertexts
  double work = 0;          // butterflies of transforms, or multiply-adds, of all of them
  double path = 0;          // of one ciphertext; more processors do not shorten it
  double fourier_work = 0, fourier_path = 0;  // the same in FP64, in complex butterflies
};

Effort effort(const Operation& op);  // zeros for other records

}  // namespace latticino
