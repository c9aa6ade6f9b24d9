// Costs of the forms of exact blind rotations. The backend chooses by them if there is no tuning
// table. Times are relative to the time of one wave of clusters of eight blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backend/cuda/rotate/cluster_waves.h"

namespace latticino::cuda {

inline std::uint32_t waves(std::uint32_t total, std::uint32_t at_once) {
  return (total + at_once - 1) / at_once;
}

struct RotateCosts {
  WaveTimes spread[kLogClusterBlocks + 1];  // over 1, 2, 4 and 8 blocks
  // A wave of gathered ciphertexts, each in one block, takes at least `gathered`, and at least
  // `gathered_each` for each ciphertext of a multiprocessor.
  double gathered, gathered_each;
  // A batch by steps takes at least `steps`. Large ones take `steps_first`, and `steps_each` for
  // each ciphertext.
  double steps, steps_first, steps_each;

  // `each`: ciphertexts per block. 0 means that none fits; it counts as one.
  double all_gathered(std::uint32_t total, std::uint32_t each, std::uint32_t sms) const {
    each = std::max(each, 1u);
    return waves(waves(total, each), sms) * std::max(gathered, gathered_each * each);
  }
  double all_by_steps(std::uint32_t total) const {
    return std::max(steps, steps_first + steps_each * total);
  }
};

// Measured on an H200 (docs/lab/tfhe.md): N = 2^10 over one prime (chameleon-630-legacy, steps of
// tfhe-gates-v1), N = 2^11 over two (tfhe-2-2-v1, steps of tfhe-gates-v2) and over one
// (chameleon-592-legacy), and keys of several bits (tfhe-2-2-group3-v1). The numbers are guesses
// where such a ciphertext does not fit: on one block in the last three rows, and on two in the last
// two. Steps of several bits have not been measured.
inline const RotateCosts& rotate_costs(int log_n, int primes, int keys) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr RotateCosts kOne{
      {{{2.8}}, {{2.0}}, {{1.25}}, {{1, 1.2}}}, 6.5, 2.6, 4.9, 3.1, 0.035};
  static constexpr RotateCosts kTwo{
      {{{5.5}}, {{2.5}}, {{1.5}}, {{1, 1.3}}}, 17, 5.8, 4.8, 1.4, 0.063};
  static constexpr RotateCosts kOneLong{
      {{{5.5}}, {{2.5}}, {{1.5}}, {{1}}}, 24, 9.1, 4.8, 1.4, 0.0425};
  static constexpr RotateCosts kSeveralKeys{
      {{{5.5}}, {{2.9}}, {{1.3}}, {{1}}}, 24, 8.5, kNever, kNever, 0};
  if (keys > 1) return kSeveralKeys;
  return primes > 1 ? kTwo : log_n <= 10 ? kOne : kOneLong;
}

}  // namespace latticino::cuda
