// How a ciphertext is brought to a lower level. Dropping limbs is enough where the primes of the
// lower level are among those of the ciphertext, and it adds no error. Where the lower level has
// other primes, the ciphertext is multiplied by an integer and rescaled, which adds one.
#pragma once

#include <vector>

#include "params/params.h"

namespace latticino::ckks {

// From level `from`: multiplies by the integer nearest to `factor`, then rescales to `scale` one
// level below.
struct Adjustment {
  int from = 0;
  double factor = 0, scale = 0;
};

// The adjustment from level `from` with one scale to level `target` with another. None if dropping
// limbs is enough.
std::vector<Adjustment> lowering(const Params& params, int level, double scale, int target,
                                 double target_scale);

}  // namespace latticino::ckks
