#include "backend/cuda/rotate/cluster/plan.cuh"

namespace latticino::cuda {

template ClusterPlan plan_blocks<3>(const Launcher&, const RotateArgs&, int);

}  // namespace latticino::cuda
