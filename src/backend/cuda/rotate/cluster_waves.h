// Times of rotations that are spread over clusters of blocks. They run in waves of as many clusters
// as the device holds side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

namespace latticino::cuda {

constexpr int kLogClusterBlocks = 3;  // at most 8 blocks, which every device with clusters allows

// How many clusters run at the same time: `alone` if each block has a multiprocessor of its own,
// `most` if blocks share multiprocessors.
struct Clusters {
  std::uint32_t alone = 0, most = 0;
};

// The time of a wave in which multiprocessors have one block, two, or three; 0 if it was not
// measured.
struct WaveTimes {
  double of_blocks[3];

  std::uint32_t most_blocks() const {
    const double* end = std::find(std::begin(of_blocks), std::end(of_blocks), 0);
    return static_cast<std::uint32_t>(end - of_blocks);
  }
  // The time of `total` clusters; infinite if no time was measured.
  double all(const Clusters& clusters, std::uint32_t total) const {
    const std::uint32_t side_by_side = std::min(clusters.most, clusters.alone * most_blocks());
    if (side_by_side == 0) return std::numeric_limits<double>::infinity();
    const auto wave = [&](std::uint32_t running) {
      return running == 0 ? 0 : of_blocks[(running - 1) / clusters.alone];
    };
    return total / side_by_side * wave(side_by_side) + wave(total % side_by_side);
  }
};

}  // namespace latticino::cuda
