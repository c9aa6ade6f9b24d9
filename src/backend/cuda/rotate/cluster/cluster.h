// Blind rotation by clusters of blocks, one per ciphertext (rotate/cluster/cluster.cuh).
#pragma once

#include <optional>

#include "backend/cuda/launch/launch.h"
#include "backend/cuda/rotate/cluster_waves.h"
#include "ops/operations.h"

namespace latticino::cuda {

struct RotateArgs;
struct ClusterArgs;

// Clusters of 2^log_blocks blocks for rotations of one shape.
struct ClusterPlan {
  void (*kernel)(ClusterArgs) = nullptr;
  int log_blocks = 0, stages = 0;
  Clusters clusters;
  Shape shape;  // the grid is set at launch
};

// None if no such cluster can be placed.
Clusters clusters_of(Launcher& launcher, const void* kernel, Shape shape);

// None if the device or the parameters do not allow it. It needs rings of N = 2^10 .. 2^12 over
// primes below 2^30, and blocks whose threads and shared memory suffice. Two or four blocks work
// for the gadgets of the named sets only, and two blocks only for steps with one key.
std::optional<ClusterPlan> plan_cluster(Launcher& launcher, const RotateArgs& args,
                                        const Ring& ring, int primes, int log_blocks);
void launch_cluster(Launcher& launcher, const RotateArgs& args, const ClusterPlan& plan);

}  // namespace latticino::cuda
