// Blind rotation in FP64 by clusters of blocks, one per ciphertext (rotate/fft/cluster.cuh).
#pragma once

#include <optional>

#include "backend/cuda/launch/launch.h"
#include "backend/cuda/rotate/cluster_waves.h"

namespace latticino::cuda {

struct RotateArgs;
struct FourierRotateArgs;

// Clusters of 2^log_blocks blocks for rotations of one shape.
struct FourierClusterPlan {
  void (*kernel)(FourierRotateArgs) = nullptr;
  Shape shape;  // the grid is set at launch
  Clusters clusters;
};

// CUDA guarantees clusters of up to 8 blocks only. For sixteen, the launcher sets the kernel
// attribute for non-portable sizes.
constexpr int kLogFourierClusterBlocks = 4;

// None if the device has no clusters of this size, or the gadget no kernel: k = 1 and the ring,
// primes and levels of a named set.
std::optional<FourierClusterPlan> plan_fourier_cluster(Launcher& launcher, const RotateArgs& args,
                                                       int primes, int log_blocks);
void launch_fourier_cluster(Launcher& launcher, const FourierRotateArgs& args,
                            const FourierClusterPlan& plan);

}  // namespace latticino::cuda
