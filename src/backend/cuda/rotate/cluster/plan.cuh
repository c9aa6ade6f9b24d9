// Which kernel of spread blind rotations serves a shape. Each number of blocks is a translation
// unit of its own (rotate/cluster/blocks_1.cu ..), because these kernels take long to assemble.
#pragma once

#include <algorithm>

#include "backend/cuda/launch/dispatch.h"
#include "backend/cuda/rotate/cluster/cluster.h"
#include "backend/cuda/rotate/cluster/kernel.cuh"

namespace latticino::cuda {

template <class S>
ClusterPlan plan_shape(const Launcher& launcher, const RotateArgs& args) {
  ClusterPlan plan;
  plan.kernel = blind_rotate_cluster<S>;
  plan.log_blocks = S::kLogBlocks;
  plan.shape.block = dim3(S::threads(S::rows(args)));
  plan.shape.cluster = S::kBlocks;
  plan.shape.grid = dim3(S::kBlocks);
  for (plan.stages = 3; plan.stages > 0; --plan.stages) {
    plan.shape.shared_bytes = sizeof(std::uint32_t) * ClusterPlaces<S>(args, plan.stages).end;
    if (plan.shape.shared_bytes <= launcher.properties().shared_per_block) break;
  }
  return plan;
}

// A plan without stages means that no kernel serves the shape.
template <int LOG_BLOCKS>
ClusterPlan plan_blocks(const Launcher& launcher, const RotateArgs& args, int primes) {
  const int log_n = args.ring.log_n, parts = args.parts, levels = args.gadget.levels;
  if (log_n == 10 && primes == 1 && args.keys == 1) {
    if (parts == 2 && levels == 3) {
      return plan_shape<ClusterShape<10, 1, LOG_BLOCKS, 2, 3, 1>>(launcher, args);
    }
    if (parts == 3 && levels == 2) {
      return plan_shape<ClusterShape<10, 1, LOG_BLOCKS, 3, 2, 1>>(launcher, args);
    }
  }
  ClusterPlan plan;
  if constexpr (LOG_BLOCKS > 0) {
    if (log_n == 11 && primes == 2 && parts == 2 && levels == 1) {
      if (args.keys == 1) {
        return plan_shape<ClusterShape<11, 2, LOG_BLOCKS, 2, 1, 1>>(launcher, args);
      }
      // With n = 870 and one stage the seven keys of a group of three ask each of two blocks for
      // 388,284 bytes, more than the 232,448 that sm_90 has. Three keys (groups of two: 224,444)
      // and two (ternary secrets: 183,484) would fit; no named set has them.
      if constexpr (LOG_BLOCKS > 1) {
        return plan_shape<ClusterShape<11, 2, LOG_BLOCKS, 2, 1, 0>>(launcher, args);
      }
    }
  }
  if constexpr (LOG_BLOCKS == 0 || LOG_BLOCKS == kLogClusterBlocks) {
    dispatch<10, 12>(log_n, [&](auto log) {
      dispatch<1, 2>(primes, [&](auto count) {
        using S = ClusterShape<decltype(log)::value, decltype(count)::value, LOG_BLOCKS, 0, 0, 0>;
        if constexpr (S::kGroupThreads <= S::kMaxThreads) plan = plan_shape<S>(launcher, args);
      });
    });
  }
  return plan;
}

extern template ClusterPlan plan_blocks<0>(const Launcher&, const RotateArgs&, int);
extern template ClusterPlan plan_blocks<1>(const Launcher&, const RotateArgs&, int);
extern template ClusterPlan plan_blocks<2>(const Launcher&, const RotateArgs&, int);
extern template ClusterPlan plan_blocks<3>(const Launcher&, const RotateArgs&, int);

}  // namespace latticino::cuda
