#include "backend/cuda/rotate/cluster/cluster.h"

#include "backend/cuda/rotate/cluster/plan.cuh"

namespace latticino::cuda {

Clusters clusters_of(Launcher& launcher, const void* kernel, Shape shape) {
  const std::uint32_t most = launcher.clusters_at_once(kernel, shape);
  if (most == 0) return {};
  shape.shared_bytes = launcher.properties().shared_per_block;
  return {std::min(most, launcher.clusters_at_once(kernel, shape)), most};
}

std::optional<ClusterPlan> plan_cluster(Launcher& launcher, const RotateArgs& args,
                                        const Ring& ring, int primes, int log_blocks) {
  if (ring.log_n() < 10 || ring.log_n() > 12) return {};
  for (int p = 0; p < primes; ++p) {
    if (ring.prime(args.prime[p]) >= kLazyPrimeBound) return {};
  }
  const Properties& device = launcher.properties();
  if (log_blocks > 0 && device.arch < 90) return {};
  ClusterPlan plan;
  dispatch<0, kLogClusterBlocks>(log_blocks, [&](auto log) {
    plan = plan_blocks<decltype(log)::value>(launcher, args, primes);
  });
  if (plan.stages == 0) return {};
  plan.clusters = clusters_of(launcher, reinterpret_cast<const void*>(plan.kernel), plan.shape);
  if (plan.clusters.alone == 0) return {};
  return plan;
}

void launch_cluster(Launcher& launcher, const RotateArgs& args, const ClusterPlan& plan) {
  Shape shape = plan.shape;
  shape.grid = dim3(args.total << plan.log_blocks);
  launcher.launch(plan.kernel, shape, ClusterArgs{args, plan.stages});
}

}  // namespace latticino::cuda
