// Transform: columns (Coeff <-> Half) and rows (Half <-> Eval), each one launch for a batch.
#include <algorithm>
#include <optional>
#include <vector>

#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/dispatch.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/limb_base.h"
#include "backend/cuda/ntt_columns.cuh"
#include "backend/cuda/ntt_rows.cuh"
#include "backend/cuda/overlap.cuh"
#include "backend/cuda/tables.h"

namespace latticino::cuda {
namespace {

constexpr int kItems = 60, kRuns = 128;  // of one launch

// A block reads the addresses of its limb from the parameters.
struct TransformArgs {
  RingView ring;
  RowView rows;
  int log_rows, log_cols;
  struct Item {
    std::int16_t first_run, runs, limbs;
  } item[kItems];
  struct Run {
    std::int16_t begin, prime;  // place of its first prime among the limbs of the item
    LimbBase in, out, times;    // times: of products only
  } run[kRuns];
};

struct BlockLimb {
  int prime;
  const std::uint32_t *in, *times;
  std::uint32_t* out;
  __device__ __forceinline__ BlockLimb(const TransformArgs& a, const TransformArgs::Item& item,
                                       int place) {
    const TransformArgs::Run* run = a.run + item.first_run;
    for (int r = 1; r < item.runs && run[1].begin <= place; ++r) ++run;
    prime = run->prime + place - run->begin;
    const std::size_t offset = static_cast<std::size_t>(prime) << a.ring.log_n;
    in = run->in.limb(offset);
    times = run->times.limb(offset);
    out = run->out.limb(offset);
  }
};

// A factor of products, on its way while tables and the other factor are loaded: slots of the
// thread's own.
template <class S>
struct FactorCopies {
  uint4* slots;
  __device__ __forceinline__ void request(const std::uint32_t* limb, const RowPosition<S>& at) {
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      copy_async(slots + j * S::kBlockThreads,
                 reinterpret_cast<const uint4*>(limb) + at.vector() + j * S::kThreads);
    }
  }
  __device__ __forceinline__ void multiply(std::uint32_t (&x)[S::kValues], const Modulus& m) const {
    const auto product = [&](std::uint32_t& v, std::uint32_t w) {
      v = reduce_products(static_cast<std::uint64_t>(v) * w, m);
    };
    wait_for_copies();
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      const uint4 w = slots[j * S::kBlockThreads];
      product(x[4 * j], w.x), product(x[4 * j + 1], w.y);
      product(x[4 * j + 2], w.z), product(x[4 * j + 3], w.w);
    }
  }
};

enum class Rows { Forward, Inverse, InverseOfProduct };

template <class S, Rows KIND>
__global__ void __launch_bounds__(S::kBlockThreads, S::kMinBlocks)
    transform_rows(const __grid_constant__ TransformArgs a) {
  constexpr bool FORWARD = KIND == Rows::Forward, PRODUCT = KIND == Rows::InverseOfProduct;
  __shared__ std::uint32_t shared[S::kSharedWords];
  __shared__ uint4 slots[PRODUCT ? S::kVectors * S::kBlockThreads : 1];
  const TransformArgs::Item& item = a.item[blockIdx.z];
  const int place = blockIdx.y;
  if (place >= item.limbs) return;
  const BlockLimb limb(a, item, place);
  const int prime = limb.prime;
  const auto at = RowPosition<S>::in_block(shared, a.log_rows);
  const Modulus m = load_modulus(a.ring.modulus + prime);
  RowTwiddles<S> twiddles;
  twiddles.load(FORWARD ? a.rows.psi : a.rows.psi_inv, FORWARD ? a.rows.units : a.rows.units_inv,
                prime, at);
  std::uint32_t x[S::kValues];
  wait_for_previous();
  if constexpr (FORWARD) {
    load_half<S>(x, limb.in, at);
    row_forward<S>(x, twiddles, at, m);
#pragma unroll
    for (int j = 0; j < S::kValues; ++j) x[j] = fold(x[j], m.q);
    allow_next();
    store_eval<S>(x, limb.out, at);
  } else {
    FactorCopies<S> factor{slots + threadIdx.x};
    if constexpr (PRODUCT) factor.request(limb.times, at);
    load_eval<S>(x, limb.in, at);
    const Shoup inverse_cols = a.ring.inverse[prime].cols;
    if constexpr (PRODUCT) factor.multiply(x, m);
    row_inverse<S>(x, twiddles, at, inverse_cols, m);
    allow_next();
    store_half<S>(x, limb.out, at);
  }
}

// A block transforms kColumns columns of one limb. On the Coeff side lanes run over all columns of
// the block, on the Half side over the four columns of a strip.
template <int LOG_ROWS>
struct ColumnBlock : ColumnShape<LOG_ROWS> {
  using Base = ColumnShape<LOG_ROWS>;
  static constexpr int kStrips = Base::kStripThreads >= 64 ? 4 : 8;
  static constexpr int kColumns = kLineColumns * kStrips;
  static constexpr int kBlockThreads = kStrips * Base::kStripThreads;
  // The strips of a warp's columns, and its rows, fall on different banks.
  static constexpr int kStripStride = Base::kStripWords + 128 / kColumns;
};

template <class S>
struct BlockPlace {
  ColumnPosition<S> wide, narrow;
  int log_cols;
  __device__ __forceinline__ explicit BlockPlace(int log_cols)
      : wide(ColumnPosition<S>::across(threadIdx.x, S::kColumns)),
        narrow(ColumnPosition<S>::in_strips(threadIdx.x)),
        log_cols(log_cols) {}
  __device__ __forceinline__ std::uint32_t coeff(int j) const {
    return ((wide.t + S::kThreads * j) << log_cols) + blockIdx.x * S::kColumns +
           threadIdx.x % S::kColumns;
  }
  __device__ __forceinline__ std::uint32_t half() const {
    return half_base<S>(blockIdx.x * S::kColumns + narrow.strip * kLineColumns, log_cols, narrow);
  }
};

template <class S>
__device__ __forceinline__ void forward_block(const std::uint32_t* in, std::uint32_t* out,
                                              std::uint32_t* shared, const Shoup* table,
                                              const BlockPlace<S>& at, const Modulus& m) {
  const WideTwiddles<S> wide(table);
  const NarrowTwiddles<S> narrow(table, at.narrow.t);
  std::uint32_t x[S::kValues];
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = in[at.coeff(j)];
  wide.forward(x, m);
  write_wide<S>(x, shared + at.wide.strip * S::kStripStride, at.wide);
  __syncthreads();
  read_narrow<S>(x, shared + at.narrow.strip * S::kStripStride, at.narrow);
  narrow.forward(x, m);
  std::uint32_t* p = out + at.half();
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) p[half_step<S>(j, at.log_cols)] = fold(x[j], m.q);
}

template <class S>
__device__ __forceinline__ void inverse_block(const std::uint32_t* in, std::uint32_t* out,
                                              std::uint32_t* shared, const Shoup* table,
                                              const InverseDegrees& inverse,
                                              const BlockPlace<S>& at, const Modulus& m) {
  const NarrowTwiddles<S> narrow(table, at.narrow.t);
  const WideTwiddles<S> wide(table);
  const std::uint32_t* p = in + at.half();
  std::uint32_t x[S::kValues];
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = p[half_step<S>(j, at.log_cols)];
  narrow.inverse(x, m);
  write_narrow<S>(x, shared + at.narrow.strip * S::kStripStride, at.narrow);
  __syncthreads();
  read_wide<S>(x, shared + at.wide.strip * S::kStripStride, at.wide);
  wide.inverse(x, inverse.rows, inverse.last, m);
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) out[at.coeff(j)] = x[j];
}

template <class S, bool FORWARD>
__global__ void __launch_bounds__(S::kBlockThreads)
    transform_columns(const __grid_constant__ TransformArgs a) {
  __shared__ std::uint32_t shared[S::kStrips * S::kStripStride];
  const TransformArgs::Item& item = a.item[blockIdx.z];
  const int place = blockIdx.y;
  if (place >= item.limbs) return;
  const BlockLimb limb(a, item, place);
  const int prime = limb.prime;
  const Modulus m = load_modulus(a.ring.modulus + prime);
  const Shoup* table = (FORWARD ? a.ring.column_psi : a.ring.column_psi_inv) +
                       (static_cast<std::size_t>(prime) << a.log_rows);
  const BlockPlace<S> at(a.log_cols);
  if constexpr (FORWARD) {
    forward_block<S>(limb.in, limb.out, shared, table, at, m);
  } else {
    inverse_block<S>(limb.in, limb.out, shared, table, a.ring.inverse[prime], at, m);
  }
}

struct Pair {
  PolyView in, out;
  PolyView times = {};
};

// Packs pairs into launches.
class Batch {
 public:
  Batch(Launcher& launcher, const Ring& ring) : launcher_(launcher), ring_(ring) {
    args_.ring = ring_view(launcher, ring);
    args_.rows = row_view(launcher, ring);
    args_.log_rows = half_log_rows(ring.log_n());
    args_.log_cols = ring.log_n() - args_.log_rows;
  }

  template <Rows KIND>
  void rows(const std::vector<Pair>& pairs) {
    each_chunk(pairs, [&](unsigned limbs, unsigned count) {
      dispatch<5, 9>(args_.log_cols, [&](auto log_cols) {
        using S = RowShape<decltype(log_cols)::value>;
        const Shape shape{dim3((1u << args_.log_rows) / S::kRows, limbs, count),
                          dim3(S::kBlockThreads), 0, true};
        launcher_.launch(transform_rows<S, KIND>, shape, args_);
      });
    });
  }

  void columns(const std::vector<Pair>& pairs, bool forward) {
    each_chunk(pairs, [&](unsigned limbs, unsigned count) {
      dispatch<5, 8>(args_.log_rows, [&](auto log_rows) {
        using S = ColumnBlock<decltype(log_rows)::value>;
        const Shape shape{dim3((1u << args_.log_cols) / S::kColumns, limbs, count),
                          dim3(S::kBlockThreads)};
        launcher_.launch(forward ? transform_columns<S, true> : transform_columns<S, false>, shape,
                         args_);
      });
    });
  }

 private:
  // The bounds of the runs in which all views stay in one segment.
  static std::vector<int> bounds_of(const Pair& pair) {
    RunBounds bounds;
    bounds.add(pair.in);
    bounds.add(pair.out);
    bounds.add(pair.times);
    std::vector<int> at;
    for (const int prime : bounds.sorted()) {
      if (pair.in.basis().contains(prime)) at.push_back(prime);
    }
    return at;
  }

  template <class Launch>
  void each_chunk(const std::vector<Pair>& pairs, const Launch& launch) {
    int items = 0, runs = 0, limbs = 0;
    const auto flush = [&] {
      if (items > 0) launch(static_cast<unsigned>(limbs), static_cast<unsigned>(items));
      items = runs = limbs = 0;
    };
    for (const Pair& pair : pairs) {
      const std::vector<int> starts = bounds_of(pair);
      const int count = static_cast<int>(starts.size());
      if (items == kItems || runs + count > kRuns) flush();
      TransformArgs::Item& item = args_.item[items++];
      item = {static_cast<std::int16_t>(runs), static_cast<std::int16_t>(count),
              static_cast<std::int16_t>(pair.in.limbs())};
      limbs = std::max<int>(limbs, item.limbs);
      const Basis basis = pair.in.basis();
      for (int place = 0, next = 0; place < basis.size(); ++place) {
        if (next == count || basis.prime(place) != starts[next]) continue;
        const int prime = starts[next++];
        args_.run[runs++] = {static_cast<std::int16_t>(place), static_cast<std::int16_t>(prime),
                             LimbBase(pair.in, prime), LimbBase(pair.out, prime),
                             LimbBase(pair.times, prime)};
      }
    }
    flush();
  }

  Launcher& launcher_;
  const Ring& ring_;
  TransformArgs args_{};
};

// The same primes in scratch memory, limbs one after another from `first`.
PolyView scratch_view(const PolyView& like, std::uint32_t* data, std::uint32_t first, Domain d) {
  return PolyView::contiguous(data, *like.ring, like.basis(), d, first);
}

bool same_limbs(const PolyView& a, const PolyView& b) {
  return a.limb(a.segment[0].prime) == b.limb(b.segment[0].prime);
}

bool two_phases(const Transform::Item& i) {
  return i.in.domain != i.out.domain && i.in.domain != Domain::Half && i.out.domain != Domain::Half;
}

// A phase moves entries between blocks (the orders of its two sides differ), so it never runs in
// place: two phases meet in scratch, and one phase in place reads from a copy.
struct Phases {
  Copy before;
  std::vector<Pair> columns[2], rows[2];  // [forward]
  std::vector<Pair> products;             // rows

  void add(const PolyView& in, const PolyView& out) {
    const bool forward = in.domain < out.domain;
    const bool coeff = in.domain == Domain::Coeff || out.domain == Domain::Coeff;
    (coeff ? columns : rows)[forward].push_back({in, out});
  }

  void add(const Transform::Item& i, std::uint32_t* scratch, std::uint32_t& used) {
    if (i.times.segments > 0) return products.push_back({i.in, i.out, i.times});
    const bool two = two_phases(i), in_place = same_limbs(i.in, i.out);
    if (i.in.domain == i.out.domain) {
      if (!in_place) before.items.push_back({i.in, i.out});
      return;
    }
    if (!two && !in_place) return add(i.in, i.out);
    const Domain d = two ? Domain::Half : i.in.domain;
    const PolyView middle = scratch_view(i.in, scratch, used, d);
    used += static_cast<std::uint32_t>(i.in.limbs());
    if (two) {
      add(i.in, middle);
    } else {
      before.items.push_back({i.in, middle});
    }
    add(middle, i.out);
  }
};

std::size_t scratch_limbs(const Transform& op) {
  std::size_t limbs = 0;
  for (const Transform::Item& i : op.items) {
    if (two_phases(i) || same_limbs(i.in, i.out)) limbs += i.in.limbs();
  }
  return limbs;
}

}  // namespace

void run(Launcher& launcher, const Transform& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items.front().out.ring;
  const std::size_t bytes = scratch_limbs(op) * sizeof(std::uint32_t) * ring.n();
  std::optional<Scratch> scratch;
  if (bytes > 0) scratch.emplace(launcher.scratch(bytes));
  std::uint32_t* middle = scratch ? scratch->as<std::uint32_t>() : nullptr;
  Phases phases;
  std::uint32_t used = 0;
  for (const Transform::Item& i : op.items) phases.add(i, middle, used);

  Batch batch(launcher, ring);
  if (!phases.before.items.empty()) run(launcher, phases.before);
  batch.columns(phases.columns[true], true);
  batch.rows<Rows::Forward>(phases.rows[true]);
  batch.rows<Rows::Inverse>(phases.rows[false]);
  batch.rows<Rows::InverseOfProduct>(phases.products);
  batch.columns(phases.columns[false], false);
}

}  // namespace latticino::cuda
