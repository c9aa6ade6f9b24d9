// The amount of arithmetic of a blind rotation, independent of its memory, for code that chooses
// between its forms.
#pragma once

#include "ops/effort.h"

namespace latticino {

// Of `count` ciphertexts with `dimension` exponents through a rotation of this shape.
Effort rotation_effort(const BlindRotate& op, int log_n, int limbs, std::uint32_t dimension,
                       std::uint32_t count);

}  // namespace latticino
