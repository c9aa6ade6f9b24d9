// Prime systems: from a plan (level shapes and target bits) to prime lists.
//
// Single rescaling adds a main per level, double rescaling two; the 25-30 system (paper: Cheddar,
// Sec. 3) trades terminals of 25 bits against mains of 30: all are plans for one picker. For each
// level l the product of its first m mains must be 2^(log Q_0 + sum of targets) / product of its
// terminals, so every m that occurs has a cumulative target; walking m upwards, each group of new
// mains is chosen so that the running product meets its target. Errors do not add up over levels.
#pragma once

#include <cstdint>
#include <vector>

#include "params/params.h"

namespace latticino {

// Word sizes in nominal bits: what a main and a terminal stand for when shapes are planned.
struct WordBits {
  int main = 30;
  int terminal = 25;
};

// The shapes of `levels` + 1 levels whose moduli grow by `scale_bits` each: from (m, t) the next is
// the least t' >= 0 for which scale_bits - terminal (t' - t) is a multiple of `main` that leaves
// m' >= 0. Throws ParameterError if no such t' below 16 exists.
std::vector<LevelShape> rescaling_cycle(LevelShape base, int scale_bits, int levels,
                                        WordBits words = {});

// A level above the user levels: its shape and log2 of its rescale factor.
struct RaisedLevel {
  LevelShape shape;
  double bits = 0;
};

struct ChainPlan {
  int log_n = 16;
  std::vector<LevelShape> shapes;   // shapes of user levels; [0] is the base
  std::vector<double> steps;        // log2 Q_l / Q_(l-1), l = 1..; size shapes.size() - 1
  double base_main_bits = 0;        // bits of all mains of the base together; 0: the base has none
  double terminal_bits = 25;        // terminals come in pairs with product 2^(2 terminal_bits)
  std::vector<RaisedLevel> raised;  // bootstrapping levels, in increasing order
  int alpha = 12;
  // Auxiliary primes are the largest ones below this.
  std::uint32_t aux_bound = std::uint32_t{1} << 31;
  std::uint32_t main_bound = std::uint32_t{1} << 31;  // mains are below this
};

struct PrimeChain {
  std::vector<std::uint32_t> terminals, mains, aux;
  std::vector<LevelShape> levels;
};

// Throws ParameterError if the supply of NTT primes does not suffice.
PrimeChain pick_primes(const ChainPlan& plan);

}  // namespace latticino
