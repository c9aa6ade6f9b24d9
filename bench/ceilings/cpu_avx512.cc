#include <immintrin.h>

#include "ceilings/cpu_loops.h"

namespace latticino::bench {
namespace {

struct Registers {
  typedef std::uint64_t Words __attribute__((vector_size(64)));
  typedef double Doubles __attribute__((vector_size(64)));

  static Words multiply(Words x, Words y) {
    return (Words)_mm512_mul_epu32((__m512i)x, (__m512i)y);
  }
  static Doubles fused(Doubles x, Doubles y, Doubles z) { return _mm512_fmadd_pd(x, y, z); }
};

}  // namespace

const Loops& avx512_loops() { return LoopsOf<Registers>::kLoops; }

}  // namespace latticino::bench
