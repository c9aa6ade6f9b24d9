// The loops of cpu.cc for registers of LATTICINO_BYTES: included once for each instruction set, as
// a function's vectors are those of the options that it is compiled with.
namespace LATTICINO_LOOPS {

constexpr int kLanes = LATTICINO_BYTES / 8;
typedef std::uint64_t Words __attribute__((vector_size(LATTICINO_BYTES)));
typedef double Doubles __attribute__((vector_size(LATTICINO_BYTES)));

// Wide products, 32 bits of each lane by 32 bits, and a sum. Returns the sum of all lanes after so
// many steps.
std::uint64_t multiply(std::uint64_t steps) {
  Words sums[kSums], factor, addend;
  for (int l = 0; l < kLanes; ++l) factor[l] = 0x9e3779b1u + 2u * l, addend[l] = 3 + l;
  for (int i = 0; i < kSums; ++i) {
    for (int l = 0; l < kLanes; ++l) sums[i][l] = 1 + i * kLanes + l;
  }
  for (std::uint64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
    for (Words& sum : sums) {
      sum = (Words)LATTICINO_MULTIPLY((LATTICINO_VECTOR)sum, (LATTICINO_VECTOR)factor) + addend;
      __asm__ volatile("" : "+v"(sum));
    }
  }
  std::uint64_t total = 0;
  for (const Words& sum : sums) {
    for (int l = 0; l < kLanes; ++l) total += sum[l];
  }
  return total;
}

double fused(std::uint64_t steps) {
  Doubles sums[kSums], factor = {}, addend = {};
  for (int l = 0; l < kLanes; ++l) factor[l] = 0.5, addend[l] = l;
  for (int i = 0; i < kSums; ++i) {
    for (int l = 0; l < kLanes; ++l) sums[i][l] = i;
  }
  for (std::uint64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
    for (Doubles& sum : sums) {
      sum = LATTICINO_FUSED(sum, factor, addend);
      __asm__ volatile("" : "+v"(sum));
    }
  }
  double total = 0;
  for (const Doubles& sum : sums) {
    for (int l = 0; l < kLanes; ++l) total += sum[l];
  }
  return total;
}

std::uint64_t read(const char* data, std::size_t bytes, std::uint64_t rounds) {
  Words sums[4] = {};
  for (std::uint64_t r = 0; r < rounds; ++r) {
    for (std::size_t at = 0; at < bytes; at += 4 * LATTICINO_BYTES) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        sums[i] ^= *reinterpret_cast<const Words*>(data + at + i * LATTICINO_BYTES);
      }
    }
    __asm__ volatile("" : "+v"(sums[0]), "+v"(sums[1]), "+v"(sums[2]), "+v"(sums[3])::"memory");
  }
  std::uint64_t total = 0;
  for (const Words& sum : sums) {
    for (int l = 0; l < kLanes; ++l) total ^= sum[l];
  }
  return total;
}

constexpr Loops kLoops{multiply, fused, read, LATTICINO_BYTES};

}  // namespace LATTICINO_LOOPS
