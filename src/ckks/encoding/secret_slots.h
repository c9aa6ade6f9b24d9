// Encoding of secrets: the integers of Encoder::embed for slots that hold key bits, by integer
// arithmetic in locked memory. No branch, address or floating-point operation depends on a slot.
#pragma once

#include <cstdint>
#include <span>

#include "crypto/secure_memory.h"
#include "ops/slot_transform.h"

namespace latticino::ckks {

// round(scale * embedding^-1(values)), half to even, N coefficients; values in {-1, 0, 1}, a power
// of two <= N/2 of them. Before it is scaled a coefficient has an error of some 2^-60: fixed point,
// with twiddles of double precision. Encoder::embed has 53 bits in all: at scales up to 2^45 it
// gives the same integers, at 2^58 some that differ by up to 4. Throws ShapeError for another size,
// ScaleError for a scale that is not in [1, 2^62).
crypto::LockedVector<std::int64_t> embed_secret(const SlotTransform& transform,
                                                std::span<const std::int8_t> values, double scale);

}  // namespace latticino::ckks
