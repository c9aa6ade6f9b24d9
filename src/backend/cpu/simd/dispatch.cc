#include "backend/cpu/kernels.h"

namespace latticino::cpu {

const CpuKernels* simd_kernels() { return nullptr; }

}  // namespace latticino::cpu
