// Which entries a thread combines in the transforms of Chameleon's paper (Sec. 5), for the device
// and for tests. For example, a forward transform of 8 entries has three stages. Stage 0 combines
// entries i and i + 4. Stage 1 combines i and i + 2 in each half. Stage 2 combines i and i + 1 in
// each quarter. In general, 2^L entries have L stages. Stage s divides the entries into 2^s blocks,
// and combines entries i and i + 2^(L-s-1) of a block. The twiddle is psi[(root << s) + block],
// where root is 1. After log2 T stages, the later ones combine no entries of different blocks.
// These T blocks are called chunks. The later stages of chunk c are a transform of its own, with
// root = T + c.
#pragma once

#include <cstdint>

#include "backend/cuda/device/layout.h"

namespace latticino::bench::forms {

struct Network {
  int log_length;
  std::uint32_t root;
};

// The 2^fused entries that a group of butterflies joins in `fused` stages, from `stage` on. In the
// d-th of these stages (from 0), block b of the group has the twiddle psi[(node << d) + b].
struct Group {
  std::uint32_t first;
  int log_stride;
  std::uint32_t node;

  LATTICINO_HOST_DEVICE constexpr std::uint32_t entry(std::uint32_t k) const {
    return first + (k << log_stride);
  }
};

// Thread aggregation (Fig. 7): thread t computes all of group t.
LATTICINO_HOST_DEVICE constexpr Group group_of(const Network& net, int stage, int fused,
                                               std::uint32_t t) {
  const int log_stride = net.log_length - stage - fused;
  const std::uint32_t high = t >> log_stride, low = t & ((1u << log_stride) - 1);
  return {(high << (log_stride + fused)) + low, log_stride, (net.root << stage) + high};
}

// Butterfly decomposition (Fig. 5): 2^(fused-1) threads share a group. Each thread ends with one
// whole butterfly, between the entries 2 part and 2 part + 1. Of the butterflies before it, the
// thread computes only the halves that this one needs.
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
