// Blind rotation by clusters of blocks, one a ciphertext (rotate/cluster/cluster.cuh).
#pragma once

#include <optional>

#include "backend/cuda/launch/launch.h"
#include "backend/cuda/rotate/cluster_waves.h"
#include "ops/operations.h"

namespace latticino::cuda {

struct RotateArgs;
struct SpreadArgs;

// Clusters of 2^log_blocks blocks for rotations of one shape.
struct SpreadPlan {
  void (*kernel)(SpreadArgs) = nullptr;
  int log_blocks = 0, stages = 0;
  Clusters clusters;
  Shape shape;  // but for the grid
};

// None where no such cluster can be placed.
Clusters clusters_of(Launcher& launcher, const void* kernel, Shape shape);

// None where the device or the parameters do not allow it: rings of N = 2^10 .. 2^12 over primes
// below 2^30; what a block needs must fit its threads and shared memory. Pairs and fours of blocks
// serve the gadgets of the named sets only, pairs no steps of several keys.
std::optional<SpreadPlan> plan_spread(Launcher& launcher, const RotateArgs& args, const Ring& ring,
                                      int primes, int log_blocks);
void launch_spread(Launcher& launcher, const RotateArgs& args, const SpreadPlan& plan);

}  // namespace latticino::cuda
