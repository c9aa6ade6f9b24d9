#include <algorithm>

#include "backend/cpu/executor.h"

namespace latticino::cpu {
namespace {

// Number of output limbs that are computed in one pass over the inputs.
constexpr int kOutputGroup = 4;

// One piece of a Convert item: columns [first, first + width) of all rows in Half, entries
// [first, first + width) in Coeff. Its inputs, centred, stay in the second-level cache.
struct Piece {
  const Convert::Item* item;
  int first, width;
};

struct Context {
  const CpuKernels& kernels;
  const RingTable& ring;
  const ConversionTable& table;
  const Convert::Item& item;
  Basis from, to;
};

Context context(Executor& executor, const Convert::Item& item) {
  const RingTable& ring = executor.table(*item.in.ring);
  return {executor.kernels(), ring, conversion_table(*item.table, ring), item, item.table->from(),
          item.table->to()};
}

// Widest power-of-two tile whose inputs stay below 3/8 MiB, at least one cache line of columns.
int tile_width(int sources, int rows, int cols) {
  constexpr std::size_t kWords = std::size_t{3} << 15;
  int width = 16;
  while (width < cols && std::size_t(sources) * rows * width * 2 <= kWords) width *= 2;
  return width;
}

using SourceList = std::vector<const std::int32_t*>;

// Centres one tile of every source in scratch, and passes groups of outputs to `finish`.
void convert_columns(const Context& c, int first, int width, std::uint32_t* scratch) {
  const PrimeTable& any = c.ring.primes[0];
  const std::size_t cols = any.cols(), size = std::size_t(any.rows()) * width;
  const int sources = c.from.size(), targets = c.to.size();
  SourceList y(sources);
  for (int j = 0; j < sources; ++j) {
    const PrimeTable& p = c.ring.primes[c.from.prime(j)];
    std::uint32_t* tile = scratch + j * size;
    c.kernels.inverse_columns(tile, width, c.item.in.limb(c.from.prime(j)) + first, cols, width,
                              c.table.half_factor[j], p);
    auto* centred = reinterpret_cast<std::int32_t*>(tile);
    c.kernels.centre(centred, tile, size, p.modulus);
    y[j] = centred;
  }
  std::uint32_t* group[kOutputGroup];
  for (int g = 0; g < kOutputGroup; ++g) group[g] = scratch + (sources + g) * size;
  for (int i = 0; i < targets; i += kOutputGroup) {
    const int outputs = std::min(kOutputGroup, targets - i);
    c.kernels.convert(group, y.data(), outputs, sources, size, &c.table.matrix[i * sources],
                      &c.table.moduli[i]);
    for (int g = 0; g < outputs; ++g) {
      const int prime = c.to.prime(i + g);
      c.kernels.forward_columns(c.item.out.limb(prime) + first, cols, group[g], width, width,
                                c.ring.primes[prime]);
    }
  }
}

void convert_entries(const Context& c, int first, int width, std::uint32_t* scratch) {
  const int sources = c.from.size(), targets = c.to.size();
  SourceList y(sources);
  for (int j = 0; j < sources; ++j) {
    const Modulus& m = c.ring.primes[c.from.prime(j)].modulus;
    std::uint32_t* tile = scratch + std::size_t(j) * width;
    const std::uint32_t* in = c.item.in.limb(c.from.prime(j)) + first;
    c.kernels.linear(tile, &in, &c.table.factor[j], 1, 0, width, m);
    auto* centred = reinterpret_cast<std::int32_t*>(tile);
    c.kernels.centre(centred, tile, width, m);
    y[j] = centred;
  }
  for (int i = 0; i < targets; i += kOutputGroup) {
    const int outputs = std::min(kOutputGroup, targets - i);
    std::uint32_t* group[kOutputGroup];
    for (int g = 0; g < outputs; ++g) group[g] = c.item.out.limb(c.to.prime(i + g)) + first;
    c.kernels.convert(group, y.data(), outputs, sources, width, &c.table.matrix[i * sources],
                      &c.table.moduli[i]);
  }
}

}  // namespace

void run(Executor& executor, const Convert& op) {
  if (op.items.empty()) return;
  std::vector<Piece> pieces;
  std::size_t scratch = 0, entries = 0;
  for (const Convert::Item& item : op.items) {
    const Ring& ring = *item.in.ring;
    const Context c = context(executor, item);  // builds the tables before threads need them
    const int sources = c.from.size();
    const int rows = c.ring.primes[0].rows(), cols = c.ring.primes[0].cols();
    const bool half = item.in.domain == Domain::Half;
    const int end = half ? cols : ring.n();
    const int width =
        half ? tile_width(sources, rows, cols) : std::min<int>(kBlockEntries, ring.n());
    for (int first = 0; first < end; first += width) pieces.push_back({&item, first, width});
    const std::size_t tile = half ? std::size_t(rows) * width : std::size_t(width);
    scratch = std::max(scratch, tile * (sources + kOutputGroup));
    entries = std::max(entries, tile * (sources + c.to.size()));
  }
  executor.reserve_scratch(scratch);
  executor.parallel(pieces.size(), entries, [&](std::size_t i, std::uint32_t* memory) {
    const Piece& piece = pieces[i];
    const Context c = context(executor, *piece.item);
    if (piece.item->in.domain == Domain::Half) {
      convert_columns(c, piece.first, piece.width, memory);
    } else {
      convert_entries(c, piece.first, piece.width, memory);
    }
  });
}

}  // namespace latticino::cpu
