// Transform: columns (Coeff <-> Half) and rows (Half <-> Eval), each one launch for a batch, or
// both in one (ntt/block.cu).
#include <algorithm>
#include <optional>
#include <vector>

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch/dispatch.h"
#include "backend/cuda/ntt/batch.h"
#include "backend/cuda/ntt/block.h"
#include "backend/cuda/ntt/columns.cuh"
#include "backend/cuda/ntt/forms.h"
#include "backend/cuda/ntt/row_blocks.cuh"

namespace latticino::cuda {
namespace {

template <class S, Rows KIND, bool LOADED>
__global__ void __launch_bounds__(S::kBlockThreads, S::kMinBlocks)
    transform_rows(const __grid_constant__ TransformArgs a) {
  __shared__ std::uint32_t shared[S::kSharedWords];
  __shared__ uint4 slots[KIND == Rows::InverseOfProduct ? S::kVectors * S::kBlockThreads : 1];
  rows_of_block<S, KIND, LOADED>(a, shared, slots);
}

// 64, 102 or 168 registers per thread, by degree.
template <class S>
constexpr int kKeptRowBlocks = S::kValues > 16  ? 3
                               : S::kValues > 8 ? 5
                                                : 8;

template <class S, Rows KIND>
__global__ void __launch_bounds__(S::kBlockThreads, kKeptRowBlocks<S>)
    transform_kept_rows(const __grid_constant__ TransformArgs a) {
  __shared__ std::uint32_t shared[S::kSharedWords];
  kept_rows_of_block<S, KIND>(a, shared);
}

// A block transforms kColumns columns of one limb. On the side of Coeff lanes go along all columns
// of the block, on the side of Half along the four columns of a strip.
template <int LOG_ROWS>
struct ColumnBlock : ColumnShape<LOG_ROWS> {
  using Base = ColumnShape<LOG_ROWS>;
  static constexpr int kStrips = Base::kStripThreads >= 64 ? 4 : 8;
  static constexpr int kColumns = kLineColumns * kStrips;
  static constexpr int kBlockThreads = kStrips * Base::kStripThreads;
  // The strips of a warp's columns fall on different banks, and so do its rows.
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

using Pair = TransformPair;

template <Rows KIND>
void launch_rows(TransformBatch& batch, const std::vector<Pair>& pairs) {
  batch.each_launch(pairs, [&](const TransformArgs& args, unsigned limbs) {
    dispatch<5, 9>(args.log_cols, [&](auto log_cols) {
      using S = RowShape<decltype(log_cols)::value>;
      const Shape shape{dim3((1u << args.log_rows) / S::kRows, limbs, args.count),
                        dim3(S::kBlockThreads), 0, true};
      batch.launcher().launch(batch.launcher().features().twiddles ? transform_rows<S, KIND, false>
                                                                   : transform_rows<S, KIND, true>,
                              shape, args);
    });
  });
}

template <Rows KIND>
void launch_kept_rows(TransformBatch& batch, const std::vector<Pair>& pairs) {
  batch.each_launch(pairs, [&](const TransformArgs& args, unsigned limbs) {
    dispatch<5, 9>(args.log_cols, [&](auto log_cols) {
      using S = RowShape<decltype(log_cols)::value>;
      const unsigned blocks = (1u << args.log_rows) / S::kRows;
      const auto at_once =
          static_cast<unsigned>(batch.launcher().properties().sms) * kKeptRowBlocks<S>;
      const Shape shape{dim3(blocks, limbs, even_blocks(args.count, blocks * limbs, at_once)),
                        dim3(S::kBlockThreads), 0, true};
      batch.launcher().launch(transform_kept_rows<S, KIND>, shape, args);
    });
  });
}

void launch_columns(TransformBatch& batch, const std::vector<Pair>& pairs, bool forward) {
  batch.each_launch(pairs, [&](const TransformArgs& args, unsigned limbs) {
    dispatch<5, 8>(args.log_rows, [&](auto log_rows) {
      using S = ColumnBlock<decltype(log_rows)::value>;
      const Shape shape{dim3((1u << args.log_cols) / S::kColumns, limbs, args.count),
                        dim3(S::kBlockThreads)};
      batch.launcher().launch(forward ? transform_columns<S, true> : transform_columns<S, false>,
                              shape, args);
    });
  });
}

// Polynomials over the same primes in scratch memory, one limb after another from `first` on.
PolyView scratch_view(const PolyView& like, std::uint32_t* data, std::uint32_t first, Domain d) {
  return PolyView::contiguous(data, *like.ring, like.basis(), d, first);
}

bool same_limbs(const PolyView& a, const PolyView& b) {
  return a.limb(a.segment[0].prime) == b.limb(b.segment[0].prime);
}

bool whole(const Pair& i) {
  return i.in.domain != i.out.domain && i.in.domain != Domain::Half && i.out.domain != Domain::Half;
}

// The form for the pairs of one direction.
int form_of(Launcher& launcher, const std::vector<Pair>& pairs) {
  TransformCase x{pairs[0].in.ring->log_n(), pairs[0].in.domain < pairs[0].out.domain};
  const Basis basis = pairs[0].in.basis();
  for (const Pair& i : pairs) {
    x.limbs = std::max(x.limbs, i.in.limbs());
    x.items += i.count;
    x.alike = x.alike && i.in.basis() == basis;
    x.array = x.array || i.count > 1;
  }
  const TransformForms forms(x, launcher.properties().sms, launcher.properties().shared_per_block);
  return launcher.tuning().pick(tuning_key(x), forms.own(), forms.can_run());
}

// All transforms of a record, as launches. A phase moves entries between blocks, because the orders
// of its two sides differ, so it never runs in place. Two phases pass data through scratch memory,
// and a single phase in place reads from a copy.
class Phases {
 public:
  Phases(Launcher& launcher, const Ring& ring) : batch_(launcher, ring), ring_(ring) {}

  void add(const Pair& i) {
    if (i.times.segments > 0) return products_.push_back(i);
    if (whole(i)) return whole_[forward(i)].push_back(i);
    const bool in_place = same_limbs(i.in, i.out);
    if (i.in.domain == i.out.domain) {
      if (!in_place) copies_.items.push_back({i.in, i.out});
    } else {
      (in_place ? in_place_ : single_).push_back(i);
    }
  }

  // In the form that a table or the rule chooses.
  void run() {
    const int form[2] = {chosen_form(whole_[false]), chosen_form(whole_[true])};
    run(form);
  }

  void run(const int (&form)[2]) {
    std::size_t limbs = limbs_of(in_place_);
    for (const bool direction : {false, true}) {
      if (in_launches(form[direction])) limbs += limbs_of(whole_[direction]);
    }
    std::optional<Scratch> scratch;
    if (limbs > 0) {
      scratch.emplace(batch_.launcher().scratch(sizeof(std::uint32_t) * limbs * ring_.n()));
      middle_ = scratch->as<std::uint32_t>();
    }
    for (const Pair& i : single_) add_phase(i, false);
    for (const Pair& i : in_place_) {
      const PolyView copy = take(i, i.in.domain);
      copies_.items.push_back({i.in, copy});
      add_phase({copy, i.out}, false);
    }
    for (const bool direction : {false, true}) {
      if (in_launches(form[direction])) split(whole_[direction], form[direction] == kKeptRows);
    }
    launch();
    for (const bool direction : {true, false}) {
      if (!in_launches(form[direction])) {
        launch_blocks(batch_, whole_[direction], direction, form[direction]);
      }
    }
  }

 private:
  static bool forward(const Pair& i) { return i.in.domain < i.out.domain; }
  static bool in_launches(int form) { return form == kTwoLaunches || form == kKeptRows; }
  static std::size_t limbs_of(const std::vector<Pair>& pairs) {
    std::size_t limbs = 0;
    for (const Pair& i : pairs) limbs += std::size_t{i.count} * i.in.limbs();
    return limbs;
  }

  int chosen_form(const std::vector<Pair>& pairs) const {
    return pairs.empty() ? kTwoLaunches : form_of(batch_.launcher(), pairs);
  }

  PolyView take(const Pair& i, Domain d) {
    const std::uint32_t first = used_;
    used_ += static_cast<std::uint32_t>(i.in.limbs());
    return scratch_view(i.in, middle_, first, d);
  }

  void add_phase(const Pair& i, bool kept) {
    const bool coeff = i.in.domain == Domain::Coeff || i.out.domain == Domain::Coeff;
    (coeff ? columns_ : kept ? kept_rows_ : rows_)[forward(i)].push_back(i);
  }

  // Here each member of an array is an item. An offset would cost registers that the kernels of the
  // largest degrees do not have.
  void split(const std::vector<Pair>& pairs, bool kept) {
    for (const Pair& array : pairs) {
      for (std::uint32_t k = 0; k < array.count; ++k) {
        const Pair i = member(array, k);
        const PolyView middle = take(i, Domain::Half);
        add_phase({i.in, middle}, kept);
        add_phase({middle, i.out}, kept);
      }
    }
  }

  void launch() {
    if (!copies_.items.empty()) cuda::run(batch_.launcher(), copies_);
    launch_columns(batch_, columns_[true], true);
    launch_rows<Rows::Forward>(batch_, rows_[true]);
    launch_kept_rows<Rows::Forward>(batch_, kept_rows_[true]);
    launch_rows<Rows::Inverse>(batch_, rows_[false]);
    launch_kept_rows<Rows::Inverse>(batch_, kept_rows_[false]);
    launch_rows<Rows::InverseOfProduct>(batch_, products_);
    launch_columns(batch_, columns_[false], false);
  }

  TransformBatch batch_;
  const Ring& ring_;
  // The parts of the record, each launched on its own. Arrays of two are indexed by [forward].
  std::vector<Pair> whole_[2], single_, in_place_, products_;
  Copy copies_;  // copies of limbs of views that backend/splitting.h has divided
  std::vector<Pair> columns_[2], rows_[2], kept_rows_[2];
  std::uint32_t* middle_ = nullptr;
  std::uint32_t used_ = 0;  // number of limbs of scratch memory
};

}  // namespace

void run(Launcher& launcher, const Transform& op) {
  if (op.items.empty()) return;
  Phases phases(launcher, *op.items.front().out.ring);
  for (const Transform::Item& i : op.items) phases.add({i.in, i.out, i.times});
  phases.run();
}

int array_form(Launcher& launcher, const TransformPair& first) {
  return form_of(launcher, {first});
}

void transform_array(Launcher& launcher, const TransformPair& first, int form) {
  Phases phases(launcher, *first.out.ring);
  phases.add(first);
  phases.run({form, form});
}

}  // namespace latticino::cuda
