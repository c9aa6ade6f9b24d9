// How a GPU computes the record Dot: in tiles of a few outputs, several tiles per launch.
#pragma once

#include "ops/effort.h"

namespace latticino {

// Limits of one launch: its parameters take at most 4 KB (backend/cuda/poly/dot.cu).
inline constexpr int kDotTiles = 6, kDotRows = 42, kDotOutputs = 4;

// Outputs of a tile.
int dot_tile(const Dot& op);

// `work`: bytes that the launches move beyond those that the record names. A tile reads all of its
// inputs, whether another tile read them or not, and a tile of more rows than a launch has room for
// reads and writes its outputs again. `path`: launches after the first. `items`: tiles.
Effort dot_effort(const Dot& op);

}  // namespace latticino
