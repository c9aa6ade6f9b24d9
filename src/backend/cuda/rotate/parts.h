// Groups of rotations on multiprocessors that take one group at a time. Some groups are cut in two,
// so that all multiprocessors finish at the same time. With whole groups only, most multiprocessors
// would be idle in the last wave.
#pragma once

#include <cstdint>

#include "backend/cuda/device/layout.h"

namespace latticino::cuda {

// Steps [from, to) of a group.
struct RotationPart {
  std::uint32_t group, from, to;
  bool first = true;  // whether it is the first part of its group

  LATTICINO_HOST_DEVICE std::uint32_t steps() const { return to - from; }
};

// G groups run on M multiprocessors, where G > M is no multiple of M. The first M - 1 groups are
// cut after 1/M, 2/M, ... of their steps. The order of blocks is: the first parts of these (one
// multiprocessor has none); the other groups; the last parts, the longest first. A multiprocessor
// that becomes free takes the next block. So multiprocessors become free at distances of 1/M of a
// group, and the last parts fill each of them up to G/M groups (preemption after McNaughton,
// "Scheduling with deadlines and loss functions", 1959, theorem 3.1). A last part comes at least (G
// - M + 1)/M groups after its first part has begun.
struct RotationParts {
  std::uint32_t groups = 0, cuts = 0, steps = 0;
  std::uint64_t distance = 0;  // between cuts, in steps times 2^32

  RotationParts() = default;
  RotationParts(std::uint32_t groups, std::uint32_t multiprocessors, std::uint32_t steps)
      : groups(groups),
        cuts(groups % multiprocessors != 0 && groups > multiprocessors ? multiprocessors - 1 : 0),
        steps(steps),
        distance((std::uint64_t{steps} << 32) / multiprocessors) {}

  std::uint32_t blocks() const { return groups + cuts; }
  LATTICINO_HOST_DEVICE RotationPart part(std::uint32_t block) const {
    const bool first = block < groups;
    const std::uint32_t group = first ? block : block - groups;
    const auto cut = static_cast<std::uint32_t>((group + 1) * distance >> 32);
    return {group, first ? 0 : cut, first && group < cuts ? cut : steps, first};
  }
};

}  // namespace latticino::cuda
