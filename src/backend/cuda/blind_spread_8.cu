#include "backend/cuda/blind_spread_plan.cuh"

namespace latticino::cuda {

template SpreadPlan plan_blocks<3>(const Launcher&, const RotateArgs&, int);

}  // namespace latticino::cuda
