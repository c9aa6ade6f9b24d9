// The loops of cpu.cc, for one instruction set. `Registers` says how its registers multiply. Each
// instruction set has a source of its own, because the compiler's options decide what vectors use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace latticino::bench {

constexpr int kSums = 10;  // independent chains, more than latency times units

struct Loops {
  std::uint64_t (*multiply)(std::uint64_t steps);
  double (*fused)(std::uint64_t steps);
  std::uint64_t (*read)(const char* data, std::size_t bytes, std::uint64_t rounds);
  int bytes;  // bytes of a register
};

const Loops& avx512_loops();
const Loops& avx2_loops();
const Loops& plain_loops();

template <class Registers>
struct LoopsOf {
  using Words = typename Registers::Words;
  using Doubles = typename Registers::Doubles;
  static constexpr int kBytes = sizeof(Words), kLanes = kBytes / 8;

  // Wide products, 32 bits of each lane by 32 bits, and a sum. Returns the sum of all lanes after
  // so many steps.
  static std::uint64_t multiply(std::uint64_t steps) {
    Words sums[kSums], factor, addend;
    for (int l = 0; l < kLanes; ++l) factor[l] = 0x9e3779b1u + 2u * l, addend[l] = 3 + l;
    for (int i = 0; i < kSums; ++i) {
      for (int l = 0; l < kLanes; ++l) sums[i][l] = 1 + i * kLanes + l;
    }
    for (std::uint64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
      for (Words& sum : sums) {
        sum = Registers::multiply(sum, factor) + addend;
        __asm__ volatile("" : "+v"(sum));
      }
    }
    std::uint64_t total = 0;
    for (const Words& sum : sums) {
      for (int l = 0; l < kLanes; ++l) total += sum[l];
    }
    return total;
  }

  static double fused(std::uint64_t steps) {
    Doubles sums[kSums], factor, addend;
    for (int l = 0; l < kLanes; ++l) factor[l] = 0.5, addend[l] = l;
    for (int i = 0; i < kSums; ++i) {
      for (int l = 0; l < kLanes; ++l) sums[i][l] = i;
    }
    for (std::uint64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
      for (Doubles& sum : sums) {
        sum = Registers::fused(sum, factor, addend);
        __asm__ volatile("" : "+v"(sum));
      }
    }
    double total = 0;
    for (const Doubles& sum : sums) {
      for (int l = 0; l < kLanes; ++l) total += sum[l];
    }
    return total;
  }

  static std::uint64_t read(const char* data, std::size_t bytes, std::uint64_t rounds) {
    Words sums[4] = {};
    for (std::uint64_t r = 0; r < rounds; ++r) {
      for (std::size_t at = 0; at < bytes; at += 4 * kBytes) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          sums[i] ^= *reinterpret_cast<const Words*>(data + at + i * kBytes);
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

  static constexpr Loops kLoops{multiply, fused, read, kBytes};
};

}  // namespace latticino::bench
