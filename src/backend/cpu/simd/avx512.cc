#define LATTICINO_SIMD_TARGET avx512

#ifdef __AVX512F__
#include "backend/cpu/simd/vec_avx512.h"
//
#include "backend/cpu/simd/kernels_impl.h"
#else
#include "backend/cpu/simd/tail_tables.h"
#endif

namespace latticino::cpu {

const CpuKernels* avx512_kernels() {
#ifdef __AVX512F__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return &LATTICINO_SIMD_TARGET::kernels("avx512", make_tail_tables_16);
  }
#endif
  return nullptr;
}

}  // namespace latticino::cpu
