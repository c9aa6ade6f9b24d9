#pragma once

#include "backend/cuda/launch/launch.h"
#include "ops/operations.h"

namespace latticino::cuda {

// Digits of a group that a launch of the record takes: as many as fit into the shared memory of a
// block, 32 at most.
int most_digits(const Launcher& launcher, const KeyInner& op);

}  // namespace latticino::cuda
