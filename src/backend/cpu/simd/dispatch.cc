#include "backend/cpu/simd/tail_tables.h"

namespace latticino::cpu {

const CpuKernels* simd_kernels() {
  const CpuKernels* best = avx512_kernels();
  return best != nullptr ? best : avx2_kernels();
}

}  // namespace latticino::cpu
