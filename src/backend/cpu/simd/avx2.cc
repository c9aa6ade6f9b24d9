#define LATTICINO_SIMD_TARGET avx2

#ifdef __AVX2__
#include "backend/cpu/simd/vec_avx2.h"
//
#include "backend/cpu/simd/kernels_impl.h"
#else
#include "backend/cpu/simd/tail_tables.h"
#endif

namespace latticino::cpu {

const CpuKernels* avx2_kernels() {
#ifdef __AVX2__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return &LATTICINO_SIMD_TARGET::kernels("avx2", make_tail_tables_8);
  }
#endif
  return nullptr;
}

}  // namespace latticino::cpu
