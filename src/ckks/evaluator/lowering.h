// How a ciphertext is brought to a level below: where its primes are those of the lower level limbs
// are dropped, and where others enter it is adjusted, which adds an error.
#pragma once

#include <vector>

#include "params/params.h"

namespace latticino::ckks {

// At level `from`: times the integer next to `factor`, then rescaled to `scale` one level below.
struct Adjustment {
  int from = 0;
  double factor = 0, scale = 0;
};

// From `level` and a scale there to `target` and a scale there; none where limbs are dropped alone.
std::vector<Adjustment> lowering(const Params& params, int level, double scale, int target,
                                 double target_scale);

}  // namespace latticino::ckks
