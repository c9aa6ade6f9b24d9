#include "backend/cuda/rotate/fft/cluster.h"

#include "backend/cuda/rotate/cluster/cluster.h"
#include "backend/cuda/rotate/fft/cluster.cuh"
#include "backend/cuda/rotate/fft/cluster_radix4.cuh"
#include "backend/cuda/rotate/fft/group_cluster.cuh"

namespace latticino::cuda {
namespace {

template <class S>
FourierClusterPlan plan_shape(const RotateArgs& args, void (*kernel)(FourierRotateArgs)) {
  FourierClusterPlan plan;
  plan.kernel = kernel;
  plan.shape.grid = dim3(S::kBlocks);
  plan.shape.block = dim3(S::kThreads);
  plan.shape.shared_bytes = S::bytes(args.steps);
  plan.shape.cluster = S::kBlocks;
  return plan;
}

template <int LOG_N, int LOG_BLOCKS, int PRIMES, int LEVELS>
FourierClusterPlan plan_single_bits(const RotateArgs& args) {
  using S = FourierClusterShape<LOG_N, LOG_BLOCKS, PRIMES, LEVELS>;
  return plan_shape<S>(args, blind_rotate_fft_cluster<S>);
}
FourierClusterPlan plan_radix4(const RotateArgs& args) {
  return plan_shape<FourierRadix4Shape>(args, blind_rotate_fft_cluster_radix4<FourierRadix4Shape>);
}

template <int LOG_N, int LOG_BLOCKS, int PRIMES, int LEVELS>
FourierClusterPlan plan_group(const RotateArgs& args) {
  using S = FourierGroupShape<LOG_N, LOG_BLOCKS, PRIMES, LEVELS>;
  if (args.group != S::kGroup) return {};
  return plan_shape<S>(args, blind_rotate_fft_group_cluster<S>);
}

// No kernel, if none fits the shape.
FourierClusterPlan plan_of(const RotateArgs& args, int primes, int log_blocks) {
  const auto is = [&](int log_n, int of_primes, int levels, int blocks) {
    return args.ring.log_n == log_n && primes == of_primes && args.gadget.levels == levels &&
           log_blocks == blocks;
  };
  if (args.parts != 2) return {};
  const bool single = args.group == 1;
  if (is(10, 1, 3, 3)) {
    return single ? plan_single_bits<10, 3, 1, 3>(args) : plan_group<10, 3, 1, 3>(args);
  }
  if (is(10, 1, 3, 4)) return single ? plan_radix4(args) : plan_group<10, 4, 1, 3>(args);
  if (is(11, 2, 1, 3)) {
    return single ? plan_single_bits<11, 3, 2, 1>(args) : plan_group<11, 3, 2, 1>(args);
  }
  if (is(11, 2, 1, 4)) {
    return single ? plan_single_bits<11, 4, 2, 1>(args) : plan_group<11, 4, 2, 1>(args);
  }
  return {};
}

}  // namespace

std::optional<FourierClusterPlan> plan_fourier_cluster(Launcher& launcher, const RotateArgs& args,
                                                       int primes, int log_blocks) {
  FourierClusterPlan plan = plan_of(args, primes, log_blocks);
  if (plan.kernel == nullptr || launcher.properties().arch < 90 ||
      plan.shape.shared_bytes > launcher.properties().shared_per_block) {
    return {};
  }
  plan.clusters = clusters_of(launcher, reinterpret_cast<const void*>(plan.kernel), plan.shape);
  // An H200 runs two blocks of six warps and 168 registers on a multiprocessor, although the
  // runtime says one.
  plan.clusters.most = ~0u;
  if (plan.clusters.alone == 0) return {};
  return plan;
}

void launch_fourier_cluster(Launcher& launcher, const FourierRotateArgs& args,
                            const FourierClusterPlan& plan) {
  Shape shape = plan.shape;
  shape.grid = dim3(args.rotate.total * plan.shape.cluster);
  launcher.launch(plan.kernel, shape, args);
}

}  // namespace latticino::cuda
