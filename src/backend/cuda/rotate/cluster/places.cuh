// Where the words of a blind rotation that is spread over a cluster (rotate/cluster/cluster.cuh)
// lie: which block of the cluster holds which coefficient and which row, and the buffers of a
// block. Index arithmetic only.
#pragma once

#include <cstdint>

#include "backend/cuda/ntt/core.cuh"
#include "backend/cuda/rotate/products.cuh"

namespace latticino::cuda {

struct ClusterArgs {
  RotateArgs rotate;
  int stages;  // steps whose keys are in shared memory or are being copied
};
static_assert(sizeof(ClusterArgs) <= 4096);

// The parameters of a spread rotation: the ring, the number C of blocks of a cluster, and the
// gadget. PARTS 0: any gadget. KEYS 0: any group and secret. A slice is the part of one polynomial
// that a block holds: eight words for each of its lanes.
template <int LOG_N, int PRIMES, int LOG_BLOCKS, int PARTS, int LEVELS, int KEYS>
struct ClusterShape {
  static constexpr int kLogN = LOG_N, kN = 1 << LOG_N, kPrimes = PRIMES;
  static constexpr int kLogRows = log_rows_of(LOG_N), kLogCols = LOG_N - kLogRows;
  static constexpr int kRows = 1 << kLogRows, kCols = 1 << kLogCols;
  static constexpr int kLogBlocks = LOG_BLOCKS, kBlocks = 1 << LOG_BLOCKS;
  static constexpr bool kOneBlock = kBlocks == 1, kFixed = PARTS != 0;
  using Column = TransformShape<kLogRows>;
  using Row = TransformShape<kLogCols>;
  static constexpr int kValues = 8;  // values per thread
  static_assert(Column::kValues == kValues && Row::kValues == kValues);

  static constexpr int kLogSlice = kLogN - kLogBlocks, kSlice = 1 << kLogSlice;
  static constexpr int kLanes = kSlice / kValues, kGroupThreads = PRIMES * kLanes;
  static constexpr int kSliceRows = kRows / kBlocks, kSliceColumns = kCols / kBlocks;
  static_assert(kSliceRows >= 4, "four rows travel together");

  LATTICINO_HOST_DEVICE static constexpr int parts(const RotateArgs& a) {
    return kFixed ? PARTS : a.parts;
  }
  LATTICINO_HOST_DEVICE static constexpr int levels(const RotateArgs& a) {
    return kFixed ? LEVELS : a.gadget.levels;
  }
  LATTICINO_HOST_DEVICE static constexpr int keys(const RotateArgs& a) {
    return KEYS != 0 ? KEYS : a.keys;
  }
  LATTICINO_HOST_DEVICE static constexpr int rows(const RotateArgs& a) {
    return parts(a) * levels(a);
  }

  // All rows of digits side by side, or in as few rounds as possible, and at least one warp for
  // each scheduler of a multiprocessor.
  static constexpr int kMaxThreads = kFixed ? 256 : 224;
  LATTICINO_HOST_DEVICE static constexpr int groups(int rows) {
    constexpr int kMax = kMaxThreads / kGroupThreads, kMin = 128 / kGroupThreads;
    constexpr int kWhole = kGroupThreads < 32 ? 32 / kGroupThreads : 1;  // groups per warp
    const int rounds = (rows + kMax - 1) / kMax, wanted = (rows + rounds - 1) / rounds;
    return wanted < kMin ? kMin : (wanted + kWhole - 1) / kWhole * kWhole;
  }
  LATTICINO_HOST_DEVICE static constexpr int threads(int rows) {
    return groups(rows) * kGroupThreads;
  }
  static constexpr int kFixedParts = PARTS, kFixedRows = PARTS * LEVELS;

  // Coeff. Lane of column m (c = class + C m) and thread t has rows t + T j, T = Column::kThreads;
  // its two vectors stand side by side with those of its neighbours.
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t coefficient(std::uint32_t word,
                                                                   std::uint32_t of_class) {
    const std::uint32_t vector = word / 4, lane = vector % kLanes;
    const std::uint32_t j = vector / kLanes * 4 + word % 4;
    const std::uint32_t m = lane / Column::kThreads, t = lane % Column::kThreads;
    return ((t + Column::kThreads * j) << kLogCols) + of_class + (m << kLogBlocks);
  }

  // Digits on their way from columns to rows, [four rows][class][column of the class][row of four]:
  // a pad of one vector per class, and of 16 words per polynomial, so that neighbouring threads of
  // a row, rows and polynomials touch all banks.
  static constexpr int kFourVectors = kBlocks * (kSliceColumns + 1);
  static constexpr int kDigitsWords = kSliceRows * kFourVectors + 16;
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t digits_word(std::uint32_t row,
                                                                   std::uint32_t c) {
    const std::uint32_t vector =
        row / 4 * kFourVectors + c % kBlocks * (kSliceColumns + 1) + c / kBlocks;
    return 4 * vector + row % 4;
  }

  // Products on their way from rows to columns: four words of a row, columns v + C id + 2 T k with
  // v < C, k < 4, T = Row::kThreads, go to block v; [id][row][k], a pad of one vector each 8 rows.
  static constexpr int kIds = 2 * Row::kThreads / kBlocks;
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t products_vector(std::uint32_t id,
                                                                       std::uint32_t row) {
    return id * (kRows + kRows / 8) + row + row / 8;
  }
  static constexpr int kProductsWords = 4 * kIds * (kRows + kRows / 8);
};

// Threads of a block at most.
template <class S>
constexpr int kClusterThreads = S::kFixed ? S::threads(S::kFixedRows) : S::kMaxThreads;

// Words that a thread multiplies at once: a vector, or half a vector if that is all that each
// thread has.
template <class S>
constexpr int kProductWords = S::kFixed&& S::kFixedParts* S::kPrimes* S::kSlice <=
                                      2 * S::threads(S::kFixedRows)
                                  ? 2
                                  : 4;

// The buffers of a block, word offsets in its shared memory.
template <class S>
struct ClusterPlaces {
  std::uint32_t own, turned, halves, arriving_digits, digits, arriving_products, products, exchange,
      selectors, keys, key_words, exponents, end;

  LATTICINO_HOST_DEVICE constexpr ClusterPlaces(const RotateArgs& a, int stages) {
    const std::uint32_t polys = S::parts(a) * S::kPrimes, rows = S::rows(a) * S::kPrimes;
    own = 8;  // the first three words count arrivals
    turned = own + polys * S::kSlice;
    halves = turned + (S::kOneBlock || S::keys(a) != 1 ? 0 : polys * S::kSlice);
    arriving_digits = halves + (S::kPrimes == 1 ? 0 : 4 * S::threads(S::rows(a)));
    digits = arriving_digits + rows * S::kDigitsWords;
    arriving_products = digits + rows * S::kSlice;
    products = arriving_products + polys * S::kProductsWords;
    exchange = products + polys * S::kSlice;
    // A transform of T threads exchanges through 8 T + T words.
    selectors = exchange + S::threads(S::rows(a)) * (S::kValues + 1);
    keys = selectors + (S::keys(a) == 1 ? 0 : S::keys(a) * S::kPrimes * S::kSlice);
    key_words = S::keys(a) * rows * S::parts(a) * S::kSlice;
    exponents = keys + stages * key_words;
    end = exponents + a.dimension + 1;
  }
};

}  // namespace latticino::cuda
