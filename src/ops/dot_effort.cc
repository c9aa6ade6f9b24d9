#include "ops/dot_effort.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "ops/fields.h"
#include "poly/ring.h"

namespace latticino {
namespace {

// A tile: how many rows it has for whole factors, and then for factors of each smaller degree. A
// row is one input with at most one factor for each output.
struct Tile {
  std::vector<int> rows;
  bool repeats = false;  // whether the factors of its first rows repeat
  std::uint64_t read = 0, out = 0;
};

Tile tile_of(const Dot& op, std::size_t first, std::size_t last) {
  std::map<std::pair<int, int>, int> rows;  // indexed by repetition of the factor, and by input
  Tile tile;
  for (std::size_t o = first; o < last; ++o) {
    std::map<std::pair<int, int>, int> own;
    for (const Dot::Term& t : op.outputs[o].terms) {
      const int repeat = op.outputs[o].out[0].ring->log_n() - t.factor.ring->log_n();
      ++own[{repeat, t.input}];
    }
    for (const auto& [at, count] : own) rows[at] = std::max(rows[at], count);
    for (int p = 0; p < op.parts; ++p) tile.out += bytes_of(op.outputs[o].out[p]);
  }
  int repeat = -1;
  for (const auto& [at, count] : rows) {
    if (at.first != repeat) tile.rows.push_back(0);
    repeat = at.first;
    tile.rows.back() += count;
    for (int p = 0; p < op.parts; ++p) {
      const PolyView& x = op.inputs[at.second][p];
      const int limbs = x.basis().intersect(op.outputs[first].out[0].basis()).size();
      tile.read += count * limb_bytes(x, limbs);
    }
  }
  tile.repeats = !rows.empty() && rows.begin()->first.first > 0;
  return tile;
}

// Counts launches as backend/cuda/poly/dot.cu makes them, apart from its limit on layouts.
struct Launches {
  int count = 0, tiles = 0, rows = 0;
  bool repeats = false;
  std::uint64_t again = 0;  // bytes of the outputs

  void flush() {
    count += tiles > 0;
    tiles = rows = 0;
  }
  void open(bool repeating) {
    if (tiles == kDotTiles || repeats != repeating) flush();
    repeats = repeating;
    ++tiles;
  }
  void add(const Tile& tile) {
    open(tile.repeats);
    for (std::size_t k = 0; k < tile.rows.size(); ++k) {
      if (k > 0) go_on(tile, true);
      for (int left = tile.rows[k]; left > 0;) {
        if (rows == kDotRows) go_on(tile, k > 0 || tile.repeats);
        const int some = std::min(left, kDotRows - rows);
        rows += some;
        left -= some;
      }
    }
  }
  void go_on(const Tile& tile, bool repeating) {
    flush();
    open(repeating);
    again += 2 * tile.out;
  }
};

}  // namespace

int dot_tile(const Dot& op) {
  return op.outputs.size() == 1 ? 1 : op.outputs.size() == 2 || op.parts == 3 ? 2 : kDotOutputs;
}

Effort dot_effort(const Dot& op) {
  Effort e;
  if (op.outputs.empty()) return e;
  Launches launches;
  std::uint64_t read = 0, once = 0;
  for (std::size_t first = 0, last = 0; first < op.outputs.size(); first = last) {
    const Basis basis = op.outputs[first].out[0].basis();
    const std::size_t most = std::min(op.outputs.size(), first + dot_tile(op));
    for (last = first + 1; last < most && op.outputs[last].out[0].basis() == basis;) ++last;
    const Tile tile = tile_of(op, first, last);
    read += tile.read;
    launches.add(tile);
    ++e.items;
  }
  launches.flush();
  for (const auto& input : op.inputs) {
    for (int p = 0; p < op.parts; ++p) {
      const Basis common = input[p].basis().intersect(op.outputs[0].out[0].basis());
      once += limb_bytes(input[p], common.size());
    }
  }
  e.work = static_cast<double>(read > once ? read - once : 0) + static_cast<double>(launches.again);
  e.path = launches.count - 1;
  return e;
}

}  // namespace latticino
