// The effort of records beyond the bytes that they name: the arithmetic of TFHE's key switches and
// blind rotations, the second pass of whole transforms, and what a GPU reads again for Dot
// (ops/dot_effort.h). For predictions (runtime/rates.h).
#pragma once

#include <cstdint>

#include "ops/operations.h"

namespace latticino {

struct Effort {
  std::uint64_t items = 0;  // number of ciphertexts; for Dot tiles, for Transform polynomials
  double work = 0;  // butterflies or multiply-adds of all items; for Dot and Transform bytes
  double path = 0;  // of one ciphertext, on any number of processors; for Dot launches
  double fourier_work = 0, fourier_path = 0;  // the same in FP64, counted in complex butterflies
};

Effort effort(const Operation& op);  // all zeros for other records

}  // namespace latticino
