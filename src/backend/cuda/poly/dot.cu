// Sums of products with shared operands, in Eval. Outputs are computed in tiles: a row of a tile is
// one input with its factor for each output of the tile, so that an input is read once per tile.
#include <algorithm>
#include <utility>

#include "backend/cuda/device/tables.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/poly/products.cuh"
#include "ops/dot_effort.h"

namespace latticino::cuda {
namespace {

constexpr int kTiles = kDotTiles, kRows = kDotRows, kLayouts = 24;  // limits of one launch
constexpr int kOutputs = kDotOutputs;                               // the most outputs of a tile
constexpr int kParts = 3;

// Views in few bytes: the views of one operation share a few lists of segments.
struct DotArgs {
  RingArgs ring;
  struct Tile {
    std::uint32_t* out[kOutputs][kParts];
    std::uint8_t out_layout[kOutputs][kParts];
    std::uint8_t accumulate;  // a bit for each output: whether it adds to what is there
    // For each row, s if its factors are polynomials in X^(2^s); 0 for full factors.
    std::uint8_t repeat;
    std::int16_t first_row, rows, limbs;
  } tile[kTiles];
  struct Row {
    const std::uint32_t* input[kParts];
    const std::uint32_t* factor[kOutputs];  // null: no product with this output
    std::uint8_t input_layout[kParts], factor_layout[kOutputs];
  } row[kRows];
  struct Layout {
    Segment segment[kViewSegments];
    int repeat;  // s if the factor is a polynomial in X^(2^s)
  } layout[kLayouts];

  // Ring index of the l-th prime of a layout.
  __device__ int prime(int index, int l) const {
    int p = 0;
#pragma unroll
    for (int i = 0; i < kViewSegments; ++i) {
      const Segment& s = layout[index].segment[i];
      if (l >= 0 && l < s.count) p = s.prime + l;
      l -= s.count;
    }
    return p;
  }

  // The limb of a prime; null where there is none.
  template <class Word>
  __device__ Word* limb(Word* data, int index, int prime) const {
    const Layout& l = layout[index];
    Word* found = nullptr;
#pragma unroll
    for (int i = 0; i < kViewSegments; ++i) {
      const Segment& s = l.segment[i];
      if (prime >= s.prime && prime < s.prime + s.count) {
        const std::size_t limb = s.limb + (prime - s.prime);
        found = data + (limb << (ring.log_n - l.repeat));
      }
    }
    return found;
  }
};
static_assert(sizeof(DotArgs) <= 4096);

// Addresses of one prime's limbs for a row: those of the inputs' parts, then those of the factors;
// null if there is none. A block computes them once, as a look-up costs more than the products.
using Address = const std::uint32_t*;

template <int PARTS, int OUTPUTS>
__device__ __forceinline__ void resolve(Address (*address)[PARTS + OUTPUTS], const DotArgs& a,
                                        const DotArgs::Tile& tile, int prime) {
  constexpr int kWidth = PARTS + OUTPUTS;
  for (int i = threadIdx.x; i < tile.rows * kWidth; i += kThreads) {
    const DotArgs::Row& row = a.row[tile.first_row + i / kWidth];
    const int k = i % kWidth;
    const Address data = k < PARTS ? row.input[k] : row.factor[k - PARTS];
    const int layout = k < PARTS ? row.input_layout[k] : row.factor_layout[k - PARTS];
    address[i / kWidth][k] = data == nullptr ? nullptr : a.limb(data, layout, prime);
  }
  __syncthreads();
}

// The factor at four entries. A full factor has a word for each of them. A factor in X^(2^s) has
// one word that stands for all four. That is a variable of its own, because copying a word that is
// still being loaded would wait for it.
template <bool REPEAT>
struct Factor {
  Group v;
  __device__ __forceinline__ void load(Address limb, std::uint32_t at) { v = load_group(limb, at); }
  __device__ __forceinline__ std::uint32_t word(int j) const { return v.w[j]; }
};
template <>
struct Factor<true> {
  std::uint32_t v;
  __device__ __forceinline__ void load(Address limb, std::uint32_t at) { v = limb[at]; }
  __device__ __forceinline__ std::uint32_t word(int) const { return v; }
};

template <int PARTS, int OUTPUTS, bool REPEAT>
struct Operands {
  Group x[PARTS];
  Factor<REPEAT> f[OUTPUTS];
  unsigned present;  // A bit for each output, the same for the whole block.

  __device__ __forceinline__ void load(const Address* address, std::uint32_t g, std::uint32_t at) {
    present = 0;
#pragma unroll
    for (int o = 0; o < OUTPUTS; ++o) {
      if (address[PARTS + o] == nullptr) continue;
      present |= 1u << o;
      f[o].load(address[PARTS + o], at);
    }
    if (present == 0) return;
#pragma unroll
    for (int p = 0; p < PARTS; ++p) x[p] = load_group(address[p], g);
  }
};

// Folds after every two rows: sums below q 2^32 have room for two products.
template <int PARTS, int OUTPUTS>
struct DotSums {
  std::uint64_t acc[OUTPUTS][PARTS][kGroup] = {};

  template <bool REPEAT>
  __device__ __forceinline__ void add(const Operands<PARTS, OUTPUTS, REPEAT>& v) {
#pragma unroll
    for (int o = 0; o < OUTPUTS; ++o) {
      if ((v.present >> o & 1) == 0) continue;
#pragma unroll
      for (int p = 0; p < PARTS; ++p) {
#pragma unroll
        for (int j = 0; j < kGroup; ++j) {
          acc[o][p][j] += static_cast<std::uint64_t>(v.x[p].w[j]) * v.f[o].word(j);
        }
      }
    }
  }
  __device__ __forceinline__ void fold(std::uint32_t q) {
#pragma unroll
    for (int o = 0; o < OUTPUTS; ++o) {
#pragma unroll
      for (int p = 0; p < PARTS; ++p) {
#pragma unroll
        for (int j = 0; j < kGroup; ++j) acc[o][p][j] = fold_sum(acc[o][p][j], q);
      }
    }
  }
};

template <int PARTS, int OUTPUTS, bool REPEAT>
__global__ void __launch_bounds__(kThreads, OUTPUTS > 2 || PARTS * OUTPUTS > 4 ? 2
                                            : PARTS * OUTPUTS > 2              ? 3
                                                                               : 4)
    dot(const __grid_constant__ DotArgs a) {
  __shared__ Address address[kRows][PARTS + OUTPUTS];
  allow_next();
  const DotArgs::Tile& tile = a.tile[blockIdx.z];
  if (blockIdx.y >= tile.limbs) return;
  const int prime = a.prime(tile.out_layout[0][0], blockIdx.y);
  const Modulus m = load_modulus(a.ring.modulus + prime);
  resolve<PARTS, OUTPUTS>(address, a, tile, prime);
  const std::uint32_t g = blockIdx.x * kThreads + threadIdx.x;
  wait_for_previous();

  // The operands of the next row are loaded while this row is multiplied.
  DotSums<PARTS, OUTPUTS> sums;
  Operands<PARTS, OUTPUTS, REPEAT> even, odd;
  const int log_n = a.ring.log_n, repeat = tile.repeat;
  const std::uint32_t at =
      REPEAT ? position(Domain::Eval, logical_index(Domain::Eval, g * kGroup, log_n) >> repeat,
                        log_n - repeat)
             : g;
  const int rows = tile.rows;
  if (rows > 0) even.load(address[0], g, at);
#pragma unroll 1
  for (int r = 0; r < rows; r += 2) {
    if (r + 1 < rows) odd.load(address[r + 1], g, at);
    sums.add(even);
    if (r + 2 < rows) even.load(address[r + 2], g, at);
    if (r + 1 < rows) sums.add(odd);
    sums.fold(m.q);
  }
#pragma unroll
  for (int o = 0; o < OUTPUTS; ++o) {
    if (tile.out[o][0] == nullptr) continue;
#pragma unroll
    for (int p = 0; p < PARTS; ++p) {
      std::uint32_t* limb = a.limb(tile.out[o][p], tile.out_layout[o][p], prime);
      finish_products(sums.acc[o][p], limb, g, tile.accumulate >> o & 1, m);
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
    outputs_a_tile_ = dot_tile(op);
  }

  int outputs_a_tile() const { return outputs_a_tile_; }

  // Outputs [first, first + count) as one tile.
  void add(std::size_t first, int count) {
    const std::vector<Row> rows = rows_of(first, count);
    unsigned accumulate = 0;
    for (int o = 0; o < count; ++o) accumulate |= op_.outputs[first + o].accumulate << o;
    DotArgs::Tile* tile = open(first, count, accumulate, rows.empty() ? 0 : rows[0].repeat);
    for (const Row& row : rows) {
      if (rows_ == kRows || layouts_ + kParts + kOutputs > kLayouts || row.repeat != tile->repeat) {
        flush();
        tile = open(first, count, (1u << count) - 1, row.repeat);
      }
      push(tile, row);
    }
  }

  void flush() {
    if (tiles_ == 0) return;
    int limbs = 0;
    for (int i = 0; i < tiles_; ++i) limbs = std::max<int>(limbs, args_.tile[i].limbs);
    const Kernel kernel = repeating_ ? kernel_of<true>() : kernel_of<false>();
    launcher_.launch(kernel, limb_grid(n_, 1, limbs, tiles_), args_);
    tiles_ = rows_ = layouts_ = 0;
  }

 private:
  struct Row {
    int input = 0, repeat = 0;
    std::array<const PolyView*, kOutputs> factor{};
  };

  template <bool REPEAT>
  Kernel kernel_of() const {
    switch (op_.parts * 10 + outputs_a_tile_) {
      case 11:
        return dot<1, 1, REPEAT>;
      case 12:
        return dot<1, 2, REPEAT>;
      case 14:
        return dot<1, 4, REPEAT>;
      case 21:
        return dot<2, 1, REPEAT>;
      case 22:
        return dot<2, 2, REPEAT>;
      case 24:
        return dot<2, 4, REPEAT>;
      case 31:
        return dot<3, 1, REPEAT>;
      default:
        return dot<3, 2, REPEAT>;
    }
  }

  std::vector<Row> rows_of(std::size_t first, int count) const {
    std::vector<Row> rows;
    for (int o = 0; o < count; ++o) {
      for (const Dot::Term& t : op_.outputs[first + o].terms) {
        const int repeat = repeat_of(t.factor);
        const auto free = [&](const Row& r) {
          return r.input == t.input && r.repeat == repeat && !r.factor[o];
        };
        auto row = std::find_if(rows.begin(), rows.end(), free);
        if (row == rows.end()) row = rows.insert(row, Row{t.input, repeat, {}});
        row->factor[o] = &t.factor;
      }
    }
    // An output may be one of its own inputs. Such inputs are read before a later launch for the
    // same output overwrites them.
    std::stable_partition(rows.begin(), rows.end(), [&](const Row& r) {
      for (int o = 0; o < count; ++o) {
        for (int p = 0; p < op_.parts; ++p) {
          for (int i = 0; i < op_.parts; ++i) {
            if (same_limbs(op_.inputs[r.input][i], op_.outputs[first + o].out[p])) return true;
          }
        }
      }
      return false;
    });
    // All rows of a tile have one s. Rows in which an output is one of its inputs have whole
    // factors, so they stay first.
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.repeat < b.repeat; });
    return rows;
  }

  // The first common prime decides: an input overlaps an output either limb for limb or not at all.
  static bool same_limbs(const PolyView& x, const PolyView& out) {
    const Basis common = x.basis().intersect(out.basis());
    return common.size() > 0 && x.limb(common.prime(0)) == out.limb(common.prime(0));
  }

  int repeat_of(const PolyView& v) const { return args_.ring.log_n - v.ring->log_n(); }

  DotArgs::Tile* open(std::size_t first, int count, unsigned accumulate, int repeat) {
    if (tiles_ == kTiles || layouts_ + kParts * (kOutputs + 1) + kOutputs > kLayouts ||
        repeating_ != (repeat > 0)) {
      flush();
    }
    repeating_ = repeat > 0;
    DotArgs::Tile* tile = &args_.tile[tiles_++];
    *tile = {};
    tile->accumulate = static_cast<std::uint8_t>(accumulate);
    tile->repeat = static_cast<std::uint8_t>(repeat);
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
    const int repeat = repeat_of(v);
    const auto same = [&](const DotArgs::Layout& l) {
      return l.repeat == repeat && std::equal(l.segment, l.segment + kViewSegments, view.segment,
                                              [](const Segment& a, const Segment& b) {
                                                return a.prime == b.prime && a.count == b.count &&
                                                       a.limb == b.limb;
                                              });
    };
    const auto end = args_.layout + layouts_;
    const auto found = std::find_if(args_.layout, end, same);
    if (found == end) {
      args_.layout[layouts_].repeat = repeat;
      std::copy_n(view.segment, kViewSegments, args_.layout[layouts_++].segment);
    }
    return static_cast<std::uint8_t>(found - args_.layout);
  }

  Launcher& launcher_;
  const Dot& op_;
  int n_ = 0, outputs_a_tile_ = 1;
  DotArgs args_{};
  int tiles_ = 0, rows_ = 0, layouts_ = 0;
  bool repeating_ = false;  // whether the factors of this launch repeat
};

}  // namespace

void run(Launcher& launcher, const Dot& op) {
  if (op.outputs.empty()) return;
  DotBatch batch(launcher, op);
  for (std::size_t first = 0, last = 0; first < op.outputs.size(); first = last) {
    // The outputs of a tile have one basis.
    const Basis basis = op.outputs[first].out[0].basis();
    const std::size_t most = std::min(op.outputs.size(), first + batch.outputs_a_tile());
    for (last = first + 1; last < most && op.outputs[last].out[0].basis() == basis;) ++last;
    batch.add(first, static_cast<int>(last - first));
  }
  batch.flush();
}

}  // namespace latticino::cuda
