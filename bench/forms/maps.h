// Which entries a thread joins in the transforms of Chameleon's paper (Sec. 5), for the device and
// for tests. A forward transform of 2^L entries has L stages. Stage s has 2^s blocks, and its
// butterflies join entries i and i + 2^(L-s-1) of a block by the twiddle psi[(root << s) + block]:
// root is 1 for a whole transform, and T + c for chunk c of the T that its first log2 T stages
// leave.
#pragma once

#include <cstdint>

#include "backend/cuda/device/layout.h"

namespace latticino::bench::forms {

struct Network {
  int log_length;
  std::uint32_t root;
};

// The 2^fused entries that `fused` stages from `stage` on join. Block b of the d-th of these stages
// has the twiddle psi[(node << d) + b].
struct Group {
  std::uint32_t first;
  int log_stride;
  std::uint32_t node;

  LATTICINO_HOST_DEVICE constexpr std::uint32_t entry(std::uint32_t k) const {
    return first + (k << log_stride);
  }
};

// Thread aggregation (Fig. 7): thread t has all of group t.
LATTICINO_HOST_DEVICE constexpr Group group_of(const Network& net, int stage, int fused,
                                               std::uint32_t t) {
  const int log_stride = net.log_length - stage - fused;
  const std::uint32_t high = t >> log_stride, low = t & ((1u << log_stride) - 1);
  return {(high << (log_stride + fused)) + low, log_stride, (net.root << stage) + high};
}

// Butterfly decomposition (Fig. 5): 2^(fused-1) threads have a group. Each ends with one whole
// butterfly, between the entries 2 part and 2 part + 1, and computes of the butterflies before it
// only the halves that lead there.
struct Share {
  Group group;
  std::uint32_t part;
};
LATTICINO_HOST_DEVICE constexpr Share share_of(const Network& net, int stage, int fused,
                                               std::uint32_t t) {
  const int log_stride = net.log_length - stage - fused;
  const std::uint32_t low = t & ((1u << log_stride) - 1), parts = 1u << (fused - 1);
  const std::uint32_t high = t >> log_stride >> (fused - 1);
  return {group_of(net, stage, fused, (high << log_stride) + low), t >> log_stride & (parts - 1)};
}

// Coefficient shuffling (Fig. 9): the first log_points stages join entries N / 2^log_points apart.
// A block has 2^log_chunk entries of neighbouring columns, point by point, so that these stages are
// the first ones of a transform of its own. Gives the place of its entry `local` among all N.
LATTICINO_HOST_DEVICE constexpr std::uint32_t shuffled(int log_n, int log_points, int log_chunk,
                                                       std::uint32_t block, std::uint32_t local) {
  const int log_columns = log_chunk - log_points;
  const std::uint32_t point = local >> log_columns, column = local & ((1u << log_columns) - 1);
  return (point << (log_n - log_points)) + (block << log_columns) + column;
}

}  // namespace latticino::bench::forms
