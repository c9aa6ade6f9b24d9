#include <immintrin.h>

#include "ceilings/cpu_loops.h"

namespace latticino::bench {
namespace {

struct Registers {
  typedef std::uint64_t Words __attribute__((vector_size(32)));
  typedef double Doubles __attribute__((vector_size(32)));

  static Words multiply(Words x, Words y) {
    return (Words)_mm256_mul_epu32((__m256i)x, (__m256i)y);
  }
  static Doubles fused(Doubles x, Doubles y, Doubles z) { return _mm256_fmadd_pd(x, y, z); }
};

}  // namespace

const Loops& avx2_loops() { return LoopsOf<Registers>::kLoops; }

}  // namespace latticino::bench
