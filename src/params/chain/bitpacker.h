// BitPacker selection (paper: BitPacker, Sec. 3): full words wherever possible, and as few smaller
// primes as the scales ask for, with a target scale of its own for every level.
//
// The paper gives every level its own terminals. Here terminals form one list of which each level
// takes a prefix (the inverted-terminal layout: every level one run of primes), so a search looks
// for the shortest such list.
#pragma once

#include <vector>

#include "params/chain/prime_chain.h"

namespace latticino {

struct PackingPlan {
  int log_n = 16;
  int word_bits = 28;                   // primes below 2^word_bits, 28..31; mains are the largest
  double base_bits = 0;                 // log2 Q_0
  std::vector<double> level_log_scale;  // log2 of the canonical scale wanted at level l
  int alpha = 12;
};

// Every log2 Q_l is within 0.5 bit of what puts S_l on its target, given the actual S_(l-1): scales
// end within 0.25 bit. Throws ParameterError for word sizes or supplies that do not exist.
PrimeChain pack_primes(const PackingPlan& plan);

}  // namespace latticino
