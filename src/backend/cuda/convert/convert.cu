// Convert: in Half, tiles of columns; in Coeff, entry by entry.
#include <algorithm>
#include <limits>
#include <vector>

#include "backend/cuda/convert/entries.cuh"
#include "backend/cuda/convert/few_sources.cuh"
#include "backend/cuda/convert/tile.cuh"
#include "backend/cuda/convert/tile_choice.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch/dispatch.h"

namespace latticino::cuda {
namespace {

constexpr int kMaxSources = 24;  // most sources of a tile: six steps of the matrix units
// log2 N of the square tiles that have kernels without matrix units
constexpr int kSquareDegree = 16;
constexpr int kPlainThreads = 128;

// Coeff: an entry per thread; its centred sources stay in shared memory.
template <bool LAZY>
__global__ void __launch_bounds__(kPlainThreads)
    convert_entries(const __grid_constant__ TileArgs a) {
  extern __shared__ std::int32_t centred_sources[];
  const TileArgs::Item& item = a.item[blockIdx.z];
  const int n = item.table.sources, log_n = a.ring.log_n;
  const std::uint32_t entry = blockIdx.x * kPlainThreads + threadIdx.x;
  std::int32_t* y = centred_sources + threadIdx.x;
  for (int j = 0; j < n; ++j) {
    const int prime = item.in.prime(j);
    const std::uint32_t q = a.ring.modulus[prime].q;
    const std::uint32_t x = item.in.limb(prime, log_n)[entry];
    y[j * kPlainThreads] = centred(fold(mul_shoup(x, item.table.source[j].factor, q), q), q);
  }
  for (int i = blockIdx.y; i < item.table.targets; i += gridDim.y) {
    const int prime = item.out.prime(i);
    const Modulus m = load_modulus(a.ring.modulus + prime);
    const std::int32_t* row = item.table.matrix + i * n;
    item.out.limb(prime, log_n)[entry] = convert_entry<LAZY>(y, kPlainThreads, row, n, m);
  }
}

// The smallest possible tile: whole warps on whole strips.
template <int LOG_ROWS, int STEPS>
using NarrowTile = TileShape<LOG_ROWS, 0, LOG_ROWS == 5 ? 2 : 1, 256, 1, 1, STEPS>;

// For 17 to 20 sources at N = 2^16, on a device whose blocks have 99 KB.
using SmallTile = TileShape<8, 8, 1, 256, 1, 1, 5, false, true, true, 4>;

// Square tiles without matrix units: deep ones, in as few sizes as possible.
template <int STEPS, bool LAZY = true>
using IntegerTile = TileShape<8, 8, 1, 512, 2, 1, STEPS, false, false, LAZY>;

template <class S>
bool fits(const Launcher& launcher, int targets) {
  return S::shared_bytes(targets) <= launcher.properties().shared_per_block;
}

// Calls use(shape) with the matrix units' tile that takes the least shared memory.
template <class Use>
void with_smallest_tile(int log_n, int sources, const Use& use) {
  const int log_rows = half_log_rows(log_n);
  if (log_rows == 8 && sources > 12 && sources <= 16) return use(NarrowTile<8, 4>());
  if (log_n == kSquareDegree && sources > 16 && sources <= 20) return use(SmallTile());
  dispatch<5, 8>(log_rows, [&](auto rows) {
    constexpr int kLogRows = decltype(rows)::value;
    if (sources <= 12) return use(NarrowTile<kLogRows, 3>());
    use(NarrowTile<kLogRows, 6>());
  });
}

struct Job {
  const Convert::Item* item;
  const ConversionTables* table;
};

struct ConvertBatch {
  Launcher& launcher;
  const Ring& ring;

  template <class Launch>
  void each_chunk(const std::vector<Job>& jobs, const Launch& launch) const {
    TileArgs args{};
    args.ring = ring_view(launcher, ring);
    args.log_rows = half_log_rows(ring.log_n());
    args.log_cols = ring.log_n() - args.log_rows;
    for (std::size_t first = 0; first < jobs.size(); first += kTileItems) {
      const int count = static_cast<int>(std::min<std::size_t>(kTileItems, jobs.size() - first));
      int sources = 0, targets = 0;
      for (int i = 0; i < count; ++i) {
        const Job& job = jobs[first + i];
        args.item[i] = {job.table->view(), View(job.item->in), View(job.item->out)};
        sources = std::max<int>(sources, job.table->view().sources);
        targets = std::max<int>(targets, job.table->view().targets);
      }
      launch(args, sources, targets, static_cast<unsigned>(count));
    }
  }

  void entries(const std::vector<Job>& jobs) const {
    each_chunk(jobs, [&](const TileArgs& args, int sources, int targets, unsigned count) {
      const unsigned blocks = static_cast<unsigned>(ring.n()) / kPlainThreads;
      const unsigned split = std::clamp(targets / 8, 1, 8);
      launcher.launch(launcher.features().lazy ? convert_entries<true> : convert_entries<false>,
                      {dim3(blocks, split, count), dim3(kPlainThreads),
                       sizeof(std::int32_t) * sources * kPlainThreads},
                      args);
    });
  }

  template <class S>
  void launch_tile(const TileArgs& args, int targets, unsigned count, unsigned split) const {
    const Shape shape{dim3((1u << args.log_cols) / S::kColumns, split, count),
                      dim3(S::kBlockThreads), S::shared_bytes(targets), true};
    launcher.launch(convert_tile<S>, shape, args);
  }

  void launch_smallest(const TileArgs& args, int sources, int targets, unsigned count,
                       unsigned split) const {
    with_smallest_tile(ring.log_n(), sources, [&](auto shape) {
      launch_tile<decltype(shape)>(args, targets, count, split);
    });
  }

  template <int SOURCES>
  void launch_few(const TileArgs& args, int targets, unsigned count, unsigned split) const {
    using S = FewShape<SOURCES>;
    const Shape shape{dim3((1u << args.log_cols) / kLineColumns, split, count),
                      dim3(S::kBlockThreads), S::shared_bytes(targets), true};
    launcher.launch(convert_few<S>, shape, args);
  }
  void launch_few(const TileArgs& args, int sources, int targets, unsigned count,
                  unsigned split) const {
    dispatch<1, kFewSources>(
        sources, [&](auto n) { launch_few<decltype(n)::value>(args, targets, count, split); });
  }

  TileVariant pick(const TilePlace& place, unsigned count) const {
    const TuningKey key{TunedKernel::ConvertTile,
                        ring.log_n(),
                        {place.sources, place.targets, static_cast<int>(count)}};
    return TileVariant::of(launcher.tuning().pick(key, place.own().number(), place.can_run()));
  }

  // N = 2^16.
  template <int STEPS>
  void tile_square(const TileArgs& args, int sources, int targets, unsigned count) const {
    using Wide = TileShape<8, 8, 2, 512, 2, 1, STEPS>;
    using Deep = TileShape<8, 8, 1, 512, 2, 1, STEPS>;
    using Narrow = TileShape<8, 8, 1, 256, 1, 1, STEPS>;
    using Teams = TileShape<8, 8, 1, 512, 1, 1, STEPS, true>;
    // Wide: for more sources it fits into no multiprocessor. Narrow: it is never faster than Teams
    // if these take as much memory. Teams: with more sources there is no room for a second block.
    constexpr bool kWide = STEPS <= 3, kNarrow = STEPS >= 3, kTeams = STEPS <= 4;
    using Integer = IntegerTile<STEPS <= 3 ? 3 : 6>;
    using Eager = IntegerTile<STEPS <= 3 ? 3 : 6, false>;
    const bool matrix = launcher.features().matrix, lazy = matrix || launcher.features().lazy;
    const Properties& device = launcher.properties();
    TilePlace place{sources, targets, (count << args.log_cols) / Deep::kColumns,
                    static_cast<unsigned>(device.sms), 0};
    const auto add = [&](TileKind kind, bool exists, std::size_t bytes) {
      if (exists && bytes <= device.shared_per_block) place.kinds |= 1u << static_cast<int>(kind);
    };
    add(TileKind::Wide, kWide && matrix, Wide::shared_bytes(targets));
    add(TileKind::Deep, true,
        matrix ? Deep::shared_bytes(targets) : Integer::shared_bytes(targets));
    add(TileKind::Narrow, kNarrow && matrix, Narrow::shared_bytes(targets));
    add(TileKind::Few, sources <= kFewSources && lazy,
        FewShape<kFewSources>::shared_bytes(targets));
    add(TileKind::Teams, kTeams && matrix, Teams::shared_bytes(targets));
    if (place.kinds == 0) return launch_smallest(args, sources, targets, count, 1);
    const TileVariant chosen = pick(place, count);
    const auto splits = static_cast<unsigned>(chosen.splits);
    if constexpr (kWide) {
      if (chosen.kind == TileKind::Wide) return launch_tile<Wide>(args, targets, count, splits);
    }
    if constexpr (kNarrow) {
      if (chosen.kind == TileKind::Narrow) return launch_tile<Narrow>(args, targets, count, splits);
    }
    if constexpr (kTeams) {
      if (chosen.kind == TileKind::Teams) return launch_tile<Teams>(args, targets, count, splits);
    }
    if (chosen.kind == TileKind::Few) return launch_few(args, sources, targets, count, splits);
    if (!lazy) return launch_tile<Eager>(args, targets, count, splits);
    if (!matrix) return launch_tile<Integer>(args, targets, count, splits);
    launch_tile<Deep>(args, targets, count, splits);
  }

  void tiles(const std::vector<Job>& jobs) const {
    each_chunk(jobs, [&](const TileArgs& args, int sources, int targets, unsigned count) {
      if (args.log_rows == 8 && args.log_cols == 8) {
        if (sources <= 8) return tile_square<2>(args, sources, targets, count);
        if (sources <= 12) return tile_square<3>(args, sources, targets, count);
        if (sources <= 16) return tile_square<4>(args, sources, targets, count);
        return tile_square<6>(args, sources, targets, count);
      }
      dispatch<5, 8>(args.log_rows, [&](auto log_rows) {
        constexpr int kLogRows = decltype(log_rows)::value;
        const TilePlace place{sources, targets, 1, 1, 1u << static_cast<int>(TileKind::Narrow)};
        const auto split = static_cast<unsigned>(pick(place, count).splits);
        using Largest = NarrowTile<kLogRows, 6>;
        if (sources > 12 && fits<Largest>(launcher, targets)) {
          launch_tile<Largest>(args, targets, count, split);
        } else {
          launch_smallest(args, sources, targets, count, split);
        }
      });
    });
  }
};

// Shared memory of the smallest tile of a conversion. If there is none, more than any device has.
std::size_t least_shared_bytes(int log_n, int sources, int targets, bool matrix) {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  if (!matrix) return log_n == kSquareDegree ? IntegerTile<6>::shared_bytes(targets) : bytes;
  with_smallest_tile(log_n, sources,
                     [&](auto shape) { bytes = decltype(shape)::shared_bytes(targets); });
  return bytes;
}

// A conversion that fits no tile goes through Coeff: the same integers, in three launches.
void run_through_coeff(Launcher& launcher, const Convert& op) {
  std::size_t limbs = 0;
  for (const Convert::Item& item : op.items) limbs += item.in.limbs() + item.out.limbs();
  const Ring& ring = *op.items.front().in.ring;
  const Scratch scratch = launcher.scratch(limbs * sizeof(std::uint32_t) * ring.n());
  Transform down, up;
  Convert plain;
  std::uint32_t used = 0;
  for (const Convert::Item& item : op.items) {
    const auto take = [&](const PolyView& like) {
      const PolyView v = PolyView::contiguous(scratch.as<std::uint32_t>(), ring, like.basis(),
                                              Domain::Coeff, used);
      used += static_cast<std::uint32_t>(v.limbs());
      return v;
    };
    const PolyView in = take(item.in), out = take(item.out);
    down.items.push_back({item.in, in});
    plain.items.push_back({item.table, in, out});
    up.items.push_back({out, item.out});
  }
  run(launcher, down);
  run(launcher, plain);
  run(launcher, up);
}

}  // namespace

void run(Launcher& launcher, const Convert& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items.front().in.ring;
  std::vector<Job> tiles, entries;
  Convert rest;
  for (const Convert::Item& item : op.items) {
    const auto& table = table_of<ConversionTables>(launcher, *item.table);
    const int sources = table.view().sources;
    if (item.in.domain == Domain::Coeff) {
      entries.push_back({&item, &table});
    } else if (sources <= kMaxSources && table.fits_matrix_units() &&
               least_shared_bytes(ring.log_n(), sources, table.view().targets,
                                  launcher.features().matrix) <=
                   launcher.properties().shared_per_block) {
      tiles.push_back({&item, &table});
    } else {
      rest.items.push_back(item);
    }
  }
  const ConvertBatch batch{launcher, ring};
  batch.tiles(tiles);
  batch.entries(entries);
  if (!rest.items.empty()) run_through_coeff(launcher, rest);
}

}  // namespace latticino::cuda
