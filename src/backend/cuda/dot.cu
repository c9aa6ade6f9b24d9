// Sums of products with shared operands, in Eval. Outputs are computed in tiles: a row of a tile is
// one input with its factor for each output of the tile, so that an input is read once a tile.
#include <algorithm>
#include <utility>

#include "backend/cuda/kernels.h"
#include "backend/cuda/products.cuh"
#include "backend/cuda/tables.h"

namespace latticino::cuda {
namespace {

constexpr int kTiles = 6, kRows = 42, kLayouts = 24;  // of one launch: 4 KB of parameters
constexpr int kOutputs = 4;                           // most outputs of a tile
constexpr int kParts = 3;

// Views in few bytes: those of one operation share a handful of segment lists.
struct DotArgs {
  RingArgs ring;
  struct Tile {
    std::uint32_t* out[kOutputs][kParts];
    std::uint8_t out_layout[kOutputs][kParts];
    std::uint8_t accumulate;  // one bit an output
    std::int16_t first_row, rows, limbs;
  } tile[kTiles];
  struct Row {
    const std::uint32_t* input[kParts];
    const std::uint32_t* factor[kOutputs];  // null: no product with this output
    std::uint8_t input_layout[kParts], factor_layout[kOutputs];
  } row[kRows];
  struct Layout {
    Segment segment[Basis::kMaxRuns];
  } layout[kLayouts];

  // Ring index of the l-th prime of a layout.
  __device__ int prime(int index, int l) const {
    int p = 0;
#pragma unroll
    for (int i = 0; i < Basis::kMaxRuns; ++i) {
      const Segment& s = layout[index].segment[i];
      if (l >= 0 && l < s.count) p = s.prime + l;
      l -= s.count;
    }
    return p;
  }

  // Of the limb of a prime, in words.
  __device__ std::size_t offset(int index, int prime) const {
    std::uint32_t limb = 0;
#pragma unroll
    for (int i = 0; i < Basis::kMaxRuns; ++i) {
      const Segment& s = layout[index].segment[i];
      if (prime >= s.prime && prime < s.prime + s.count) limb = s.limb + (prime - s.prime);
    }
    return static_cast<std::size_t>(limb) << ring.log_n;
  }
};
static_assert(sizeof(DotArgs) <= 4096);

template <int PARTS, int OUTPUTS>
struct Operands {
  Group x[PARTS], f[OUTPUTS];

  __device__ __forceinline__ void load(const DotArgs& a, const DotArgs::Row& row, int prime,
                                       std::uint32_t g) {
#pragma unroll
    for (int p = 0; p < PARTS; ++p) {
      x[p] = load_group(row.input[p] + a.offset(row.input_layout[p], prime), g);
    }
#pragma unroll
    for (int o = 0; o < OUTPUTS; ++o) {
      if (row.factor[o] == nullptr) continue;
      f[o] = load_group(row.factor[o] + a.offset(row.factor_layout[o], prime), g);
    }
  }
};

template <int PARTS, int OUTPUTS>
__global__ void __launch_bounds__(kThreads, OUTPUTS > 1  ? 2
                                            : PARTS == 3 ? 3
                                                         : 5)
    dot(const __grid_constant__ DotArgs a) {
  allow_next();
  const DotArgs::Tile& tile = a.tile[blockIdx.z];
  const std::uint32_t g = blockIdx.x * kThreads + threadIdx.x;
  if (blockIdx.y >= tile.limbs || g >= a.ring.groups()) return;
  const int prime = a.prime(tile.out_layout[0][0], blockIdx.y);
  const Modulus m = load_modulus(a.ring.modulus + prime);
  wait_for_previous();

  // With several outputs registers leave few warps an SM: the operands of the next row are on their
  // way while this row is multiplied. One output has warps enough to hide the loads.
  constexpr bool kAhead = OUTPUTS > 1;
  std::uint64_t acc[OUTPUTS][PARTS][kGroup] = {};
  Operands<PARTS, OUTPUTS> now, next;
  const DotArgs::Row* row = a.row + tile.first_row;
  if (kAhead && tile.rows > 0) now.load(a, row[0], prime, g);
#pragma unroll 2
  for (int r = 0; r < tile.rows; ++r) {
    if (!kAhead) now.load(a, row[r], prime, g);
    if (kAhead && r + 1 < tile.rows) next.load(a, row[r + 1], prime, g);
#pragma unroll
    for (int o = 0; o < OUTPUTS; ++o) {
      if (row[r].factor[o] == nullptr) continue;
#pragma unroll
      for (int p = 0; p < PARTS; ++p) multiply_add(acc[o][p], now.x[p], now.f[o], m.q);
    }
    if (kAhead) now = next;
  }
#pragma unroll
  for (int o = 0; o < OUTPUTS; ++o) {
    if (tile.out[o][0] == nullptr) continue;
#pragma unroll
    for (int p = 0; p < PARTS; ++p) {
      std::uint32_t* limb = tile.out[o][p] + a.offset(tile.out_layout[o][p], prime);
      finish_products(acc[o][p], limb, g, tile.accumulate >> o & 1, m);
    }
  }
}

using Kernel = void (*)(DotArgs);

class DotBatch {
 public:
  DotBatch(Launcher& launcher, const Dot& op) : launcher_(launcher), op_(op) {
    const Ring& ring = *op.outputs.front().out[0].ring;
    n_ = ring.n();
    args_.ring = {ring_view(launcher, ring).modulus, ring.log_n()};
    outputs_a_tile_ = op.outputs.size() == 1 ? 1 : op.outputs.size() == 2 || op.parts == 3 ? 2 : 4;
  }

  int outputs_a_tile() const { return outputs_a_tile_; }

  // Outputs [first, first + count) as one tile.
  void add(std::size_t first, int count) {
    const std::vector<Row> rows = rows_of(first, count);
    unsigned accumulate = 0;
    for (int o = 0; o < count; ++o) accumulate |= op_.outputs[first + o].accumulate << o;
    DotArgs::Tile* tile = open(first, count, accumulate);
    for (const Row& row : rows) {
      if (rows_ == kRows || layouts_ + kParts + kOutputs > kLayouts) {
        flush();
        tile = open(first, count, (1u << count) - 1);
      }
      push(tile, row);
    }
  }

  void flush() {
    if (tiles_ == 0) return;
    int limbs = 0;
    for (int i = 0; i < tiles_; ++i) limbs = std::max<int>(limbs, args_.tile[i].limbs);
    launcher_.launch(kernel(), limb_grid(n_, 1, limbs, tiles_), args_);
    tiles_ = rows_ = layouts_ = 0;
  }

 private:
  struct Row {
    int input = 0;
    std::array<const PolyView*, kOutputs> factor{};
  };

  Kernel kernel() const {
    switch (op_.parts * 10 + outputs_a_tile_) {
      case 11:
        return dot<1, 1>;
      case 12:
        return dot<1, 2>;
      case 14:
        return dot<1, 4>;
      case 21:
        return dot<2, 1>;
      case 22:
        return dot<2, 2>;
      case 24:
        return dot<2, 4>;
      case 31:
        return dot<3, 1>;
      default:
        return dot<3, 2>;
    }
  }

  std::vector<Row> rows_of(std::size_t first, int count) const {
    std::vector<Row> rows;
    for (int o = 0; o < count; ++o) {
      for (const Dot::Term& t : op_.outputs[first + o].terms) {
        const auto free = [&](const Row& r) { return r.input == t.input && !r.factor[o]; };
        auto row = std::find_if(rows.begin(), rows.end(), free);
        if (row == rows.end()) row = rows.insert(row, Row{t.input, {}});
        row->factor[o] = &t.factor;
      }
    }
    // An output may be one of its own inputs: those are read before a continuation overwrites them.
    std::stable_partition(rows.begin(), rows.end(), [&](const Row& r) {
      for (int o = 0; o < count; ++o) {
        for (int p = 0; p < op_.parts; ++p) {
          const PolyView& out = op_.outputs[first + o].out[p];
          const int prime = out.segment[0].prime;
          for (int i = 0; i < op_.parts; ++i) {
            if (op_.inputs[r.input][i].limb(prime) == out.limb(prime)) return true;
          }
        }
      }
      return false;
    });
    return rows;
  }

  DotArgs::Tile* open(std::size_t first, int count, unsigned accumulate) {
    if (tiles_ == kTiles || layouts_ + kParts * (kOutputs + 1) + kOutputs > kLayouts) flush();
    DotArgs::Tile* tile = &args_.tile[tiles_++];
    *tile = {};
    tile->accumulate = static_cast<std::uint8_t>(accumulate);
    tile->first_row = static_cast<std::int16_t>(rows_);
    tile->limbs = static_cast<std::int16_t>(op_.outputs[first].out[0].limbs());
    for (int o = 0; o < count; ++o) {
      for (int p = 0; p < op_.parts; ++p) {
        const PolyView& v = op_.outputs[first + o].out[p];
        tile->out[o][p] = v.data;
        tile->out_layout[o][p] = layout(v);
      }
    }
    return tile;
  }

  void push(DotArgs::Tile* tile, const Row& row) {
    DotArgs::Row& r = args_.row[rows_++];
    r = {};
    ++tile->rows;
    for (int p = 0; p < op_.parts; ++p) {
      const PolyView& v = op_.inputs[row.input][p];
      r.input[p] = v.data;
      r.input_layout[p] = layout(v);
    }
    for (int o = 0; o < kOutputs; ++o) {
      if (row.factor[o] == nullptr) continue;
      r.factor[o] = row.factor[o]->data;
      r.factor_layout[o] = layout(*row.factor[o]);
    }
  }

  std::uint8_t layout(const PolyView& v) {
    const View view(v);
    const auto same = [&](const DotArgs::Layout& l) {
      return std::equal(l.segment, l.segment + Basis::kMaxRuns, view.segment,
                        [](const Segment& a, const Segment& b) {
                          return a.prime == b.prime && a.count == b.count && a.limb == b.limb;
                        });
    };
    const auto end = args_.layout + layouts_;
    const auto found = std::find_if(args_.layout, end, same);
    if (found == end) {
      std::copy_n(view.segment, Basis::kMaxRuns, args_.layout[layouts_++].segment);
    }
    return static_cast<std::uint8_t>(found - args_.layout);
  }

  Launcher& launcher_;
  const Dot& op_;
  int n_ = 0, outputs_a_tile_ = 1;
  DotArgs args_{};
  int tiles_ = 0, rows_ = 0, layouts_ = 0;
};

}  // namespace

void run(Launcher& launcher, const Dot& op) {
  if (op.outputs.empty()) return;
  DotBatch batch(launcher, op);
  for (std::size_t first = 0; first < op.outputs.size(); first += batch.outputs_a_tile()) {
    const std::size_t left = op.outputs.size() - first;
    batch.add(first, static_cast<int>(std::min<std::size_t>(left, batch.outputs_a_tile())));
  }
  batch.flush();
}

}  // namespace latticino::cuda
