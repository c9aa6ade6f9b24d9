#include <immintrin.h>

#include "ceilings/cpu_loops.h"

namespace latticino::bench {
namespace {

struct Registers {
  typedef std::uint64_t Words __attribute__((vector_size(16)));
  typedef double Doubles __attribute__((vector_size(16)));

  static Words multiply(Words x, Words y) { return (Words)_mm_mul_epu32((__m128i)x, (__m128i)y); }
  // This takes two instructions.
  static Doubles fused(Doubles x, Doubles y, Doubles z) { return x * y + z; }
};

}  // namespace

const Loops& plain_loops() { return LoopsOf<Registers>::kLoops; }

}  // namespace latticino::bench
