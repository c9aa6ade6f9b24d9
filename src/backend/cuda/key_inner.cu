// KeyInner: rows of the converted digits, their products with the keys of all targets, and rows
// back where the result is wanted in Half. A block owns a few rows of one prime: it transforms them
// for every digit once and then meets every key there.
#include <algorithm>

#include "backend/cuda/dispatch.h"
#include "backend/cuda/eval_scatter.cuh"
#include "backend/cuda/kernels.h"
#include "backend/cuda/ntt_rows.cuh"
#include "backend/cuda/tables.h"
#include "backend/cuda/view.h"

namespace latticino::cuda {
namespace {

constexpr int kViews = 400, kGroups = 16, kTargets = 40, kPrimes = 256, kDigits = 32;

// Views of a group: (own, converted) a digit, then for each target (b, a) a digit, eval, half and
// add, each for h = 0, 1.
constexpr int kDigitViews = 2, kEndViews = 6;
LATTICINO_HOST_DEVICE constexpr int target_views(int digits) { return 2 * digits + kEndViews; }

struct KeyInnerArgs {
  RingView ring;
  int log_rows;
  struct Group {
    std::int16_t first_view, first_target, digits, targets, primes;
    std::uint32_t half_digits;  // bit d: digit d's converted limbs are in Half
  } group[kGroups];
  std::uint32_t galois_inverse[kTargets];
  std::uint32_t add_factor[kPrimes];  // by ring index
  View view[kViews];
};

using Limb = std::uint32_t*;

// A block holds kRows rows of one prime. Each digit has kRows * kThreads threads that transform its
// rows into shared memory; then all threads of the block share the vectors of the rows.
// DIGITS 0: any number, up to kLanes at a time.
template <int LOG_COLS, int DIGITS>
struct InnerShape : RowShape<LOG_COLS> {
  using Base = RowShape<LOG_COLS>;
  static constexpr int kDigits = DIGITS;
  static constexpr int kLanes = DIGITS == 0 ? 8 : DIGITS;
  static constexpr int kUnit = 64 / Base::kThreads;  // rows of two warps
  static constexpr int kRows = DIGITS == 1 ? 4 * kUnit : DIGITS == 2 ? 2 * kUnit : kUnit;
  static constexpr int kLaneThreads = kRows * Base::kThreads;
  static constexpr int kMaxThreads = kLanes * kLaneThreads;
  static constexpr int kBlockVectors = kRows * Base::kRowVectors;
  static constexpr int kDigitWords = kRows * Base::kStride;

  static constexpr std::size_t shared_bytes(int digits, int views) {
    return sizeof(std::uint32_t) * kDigitWords * (digits + 2) + sizeof(Limb) * views;
  }
};

// Addresses of the limbs of one prime in all views of the group.
__device__ __forceinline__ void resolve(Limb* limb, const KeyInnerArgs& a,
                                        const KeyInnerArgs::Group& g, int prime) {
  const int views = kDigitViews * g.digits + target_views(g.digits) * g.targets;
  for (int i = threadIdx.x; i < views; i += blockDim.x) {
    limb[i] = a.view[g.first_view + i].limb(prime, a.ring.log_n);
  }
  __syncthreads();
}

// What all parts of the kernel know.
template <class S>
struct Block {
  const KeyInnerArgs& a;
  const KeyInnerArgs::Group& g;
  int prime;
  Modulus m;
  std::uint32_t* digits;   // [digit][row][kStride]
  std::uint32_t* results;  // [h][row][kStride], on their way to Half

  __device__ __forceinline__ std::uint32_t row_of(int local) const {
    return row_at(blockIdx.x * S::kRows + local, a.log_rows);
  }
  __device__ __forceinline__ RowPosition<S> position(std::uint32_t* words, int thread) const {
    const int local = thread / S::kThreads;
    return {thread % S::kThreads, blockIdx.x * S::kRows + local, words + local * S::kStride,
            a.log_rows};
  }
  __device__ __forceinline__ std::size_t table() const {
    return static_cast<std::size_t>(prime) << a.ring.log_n;
  }
};

// Rows of all digits, in [0, q), to shared memory: straight from Eval or through the transform.
template <class S>
__device__ __forceinline__ void load_digits(const Block<S>& block, const Limb* limb) {
  const int lanes = S::kDigits == 0 ? blockDim.x / S::kLaneThreads : S::kDigits;
  const int lane = threadIdx.x / S::kLaneThreads, thread = threadIdx.x % S::kLaneThreads;
  RowTwiddles<S> twiddles;
  twiddles.load(block.a.ring.psi + block.table(), block.position(block.digits, thread));
#pragma unroll 1
  for (int d = lane; d < block.g.digits; d += lanes) {
    const auto at = block.position(block.digits + d * S::kDigitWords, thread);
    std::uint32_t x[S::kValues];
    const Limb own = limb[2 * d], converted = limb[2 * d + 1];
    if (own == nullptr && (block.g.half_digits >> d & 1) != 0) {
      load_half<S>(x, converted, at);
      row_forward<S>(x, twiddles, at, block.m);
#pragma unroll
      for (int j = 0; j < S::kValues; ++j) x[j] = fold(x[j], block.m.q);
      __syncwarp();
    } else {
      load_eval<S>(x, own != nullptr ? own : converted, at);
    }
    auto* row = reinterpret_cast<uint4*>(at.shared) + at.t;
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      row[j * S::kThreads] = make_uint4(x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3]);
    }
  }
  __syncthreads();
}

// Sums of products of residues. Four products are below 2 q 2^32 <= 2^64; one fold brings that
// below q 2^32, and leaves room for two more.
struct Sums {
  std::uint64_t s[4] = {};
  __device__ __forceinline__ void fold(std::uint32_t q) {
#pragma unroll
    for (int i = 0; i < 4; ++i) s[i] = fold_sum(s[i], q);
  }
  __device__ __forceinline__ void add(uint4 x, uint4 y) {
    s[0] += static_cast<std::uint64_t>(x.x) * y.x;
    s[1] += static_cast<std::uint64_t>(x.y) * y.y;
    s[2] += static_cast<std::uint64_t>(x.z) * y.z;
    s[3] += static_cast<std::uint64_t>(x.w) * y.w;
  }
  __device__ __forceinline__ uint4 reduce(const Modulus& m) const {
    return make_uint4(reduce_products(s[0], m), reduce_products(s[1], m), reduce_products(s[2], m),
                      reduce_products(s[3], m));
  }
};

// A target's views of this prime.
struct TargetLimbs {
  const Limb* key;  // (b, a) a digit
  const Limb* eval;
  const Limb* half;
  const Limb* add;
  __device__ __forceinline__ TargetLimbs(const Limb* limb, int digits, int target)
      : key(limb + kDigitViews * digits + target * target_views(digits)),
        eval(key + 2 * digits),
        half(eval + 2),
        add(half + 2) {}
};

// Both halves of a target at vector i of its limbs, which is vector `at` of the block's rows.
template <class S>
__device__ __forceinline__ void multiply_keys(const Block<S>& block, const TargetLimbs& target,
                                              std::uint32_t i, const std::uint32_t* x,
                                              uint4 (&result)[2]) {
  const std::uint32_t q = block.m.q;
  const int digits = S::kDigits == 0 ? block.g.digits : S::kDigits;
  Sums sum[2];
  const auto step = [&](int d) {
    const uint4 v = *reinterpret_cast<const uint4*>(x + d * S::kDigitWords);
    const uint4 b = __ldcs(reinterpret_cast<const uint4*>(target.key[2 * d]) + i);
    const uint4 a = __ldcs(reinterpret_cast<const uint4*>(target.key[2 * d + 1]) + i);
    sum[0].add(v, b);
    sum[1].add(v, a);
  };
  if constexpr (S::kDigits == 0) {
#pragma unroll 2
    for (int d = 0; d < digits; ++d) {
      if (d >= 4 && d % 2 == 0) sum[0].fold(q), sum[1].fold(q);
      step(d);
    }
  } else {
#pragma unroll
    for (int d = 0; d < S::kDigits; ++d) step(d);
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (digits > 2) sum[h].fold(q);
    if (target.add[h] != nullptr) {
      const std::uint32_t f = block.a.add_factor[block.prime];
      sum[h].add(reinterpret_cast<const uint4*>(global(target.add[h]))[i], make_uint4(f, f, f, f));
      sum[h].fold(q);
    }
    result[h] = sum[h].reduce(block.m);
  }
}

// Rows of the results that leave in Half.
template <class S>
__device__ __forceinline__ void invert_results(const Block<S>& block, const TargetLimbs& target) {
  __syncthreads();
  for (int i = threadIdx.x; i < 2 * S::kLaneThreads; i += blockDim.x) {
    const int h = i / S::kLaneThreads;
    if (target.eval[h] != nullptr) continue;
    const auto at = block.position(block.results + h * S::kDigitWords, i % S::kLaneThreads);
    RowTwiddles<S> twiddles;
    twiddles.load(block.a.ring.psi_inv + block.table(), at);
    std::uint32_t x[S::kValues];
    const auto* row = reinterpret_cast<const uint4*>(at.shared) + at.t;
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      const uint4 v = row[j * S::kThreads];
      x[4 * j] = v.x, x[4 * j + 1] = v.y, x[4 * j + 2] = v.z, x[4 * j + 3] = v.w;
    }
    row_inverse<S>(x, twiddles, at, block.a.ring.inverse[block.prime].cols, block.m);
    store_half<S>(x, target.half[h], at);
  }
  __syncthreads();
}

template <class S>
__device__ __forceinline__ void run_target(const Block<S>& block, const TargetLimbs& target,
                                           std::uint32_t galois_inverse) {
  constexpr int kUnroll = S::kDigits == 1 ? 4 : S::kDigits == 2 ? 2 : 1;
#pragma unroll kUnroll
  for (int u = threadIdx.x; u < S::kBlockVectors; u += blockDim.x) {
    const int local = u / S::kRowVectors, v = u % S::kRowVectors;
    const std::uint32_t row = block.row_of(local);
    const std::uint32_t at = local * S::kStride + 4 * v;
    uint4 r[2];
    multiply_keys<S>(block, target, row * S::kRowVectors + v, block.digits + at, r);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (target.eval[h] != nullptr) {
        store_image<S>(r[h], row, v, target.eval[h], galois_inverse, block.a.ring.log_n);
      } else {
        *reinterpret_cast<uint4*>(block.results + h * S::kDigitWords + at) = r[h];
      }
    }
  }
  if (target.eval[0] == nullptr || target.eval[1] == nullptr) invert_results<S>(block, target);
}

template <class S>
__global__ void __launch_bounds__(S::kMaxThreads, S::kDigits == 0 ? 1 : 4)
    key_inner(const __grid_constant__ KeyInnerArgs a) {
  extern __shared__ uint4 dynamic[];
  const KeyInnerArgs::Group& g = a.group[blockIdx.z];
  if (blockIdx.y >= g.primes) return;
  const View &own = a.view[g.first_view], &converted = a.view[g.first_view + 1];
  const int l = blockIdx.y, own_limbs = own.limbs();
  const int prime = l < own_limbs ? own.prime(l) : converted.prime(l - own_limbs);

  auto* digits = reinterpret_cast<std::uint32_t*>(dynamic);
  std::uint32_t* results = digits + g.digits * S::kDigitWords;
  auto* limb = reinterpret_cast<Limb*>(results + 2 * S::kDigitWords);
  resolve(limb, a, g, prime);
  const Block<S> block{a, g, prime, load_modulus(a.ring.modulus + prime), digits, results};
  load_digits<S>(block, limb);
#pragma unroll 1
  for (int t = 0; t < g.targets; ++t) {
    run_target<S>(block, TargetLimbs(limb, g.digits, t), a.galois_inverse[g.first_target + t]);
  }
}

// Packs groups into launches; the targets of a group that does not fit are split, and each part
// transforms the digits again.
class KeyInnerBatch {
 public:
  KeyInnerBatch(Launcher& launcher, const KeyInner& op, const Ring& ring)
      : launcher_(launcher), ring_(ring) {
    args_.ring = ring_view(launcher, ring);
    args_.log_rows = half_log_rows(ring.log_n());
    if (static_cast<int>(op.add_factor.size()) > kPrimes) {
      throw UnsupportedError("cuda.key_inner", std::to_string(op.add_factor.size()) + " primes",
                             "a ring of at most " + std::to_string(kPrimes), "use fewer primes");
    }
    std::copy(op.add_factor.begin(), op.add_factor.end(), args_.add_factor);
  }

  void add(const KeyInner::Group& group) {
    if (group.digits.size() > kDigits) {
      throw UnsupportedError("cuda.key_inner", std::to_string(group.digits.size()) + " digits",
                             "at most " + std::to_string(kDigits), "use fewer digits");
    }
    const int digits = static_cast<int>(group.digits.size()), needed = target_views(digits);
    for (std::size_t t = 0; t < group.targets.size();) {
      if (!fits(kDigitViews * digits + needed)) flush();
      KeyInnerArgs::Group& part = open(group);
      for (; t < group.targets.size() && targets_ < kTargets && views_ + needed <= kViews; ++t) {
        add(group.targets[t]);
        ++part.targets;
      }
    }
  }

  void flush() {
    if (groups_ == 0) return;
    int primes = 0, digits = 0, views = 0;
    bool equal = true;
    for (int i = 0; i < groups_; ++i) {
      const KeyInnerArgs::Group& g = args_.group[i];
      primes = std::max<int>(primes, g.primes);
      digits = std::max<int>(digits, g.digits);
      equal = equal && g.digits == args_.group[0].digits;
      views = std::max(views, kDigitViews * g.digits + target_views(g.digits) * g.targets);
    }
    const int log_cols = ring_.log_n() - args_.log_rows;
    if (log_cols == 8 && equal && digits <= 4) {
      dispatch<1, 4>(digits, [&](auto count) {
        launch<InnerShape<8, decltype(count)::value>>(primes, digits, views);
      });
    } else {
      dispatch<5, 9>(log_cols, [&](auto log) {
        launch<InnerShape<decltype(log)::value, 0>>(primes, digits, views);
      });
    }
    groups_ = targets_ = views_ = 0;
  }

 private:
  template <class S>
  void launch(int primes, int digits, int views) {
    const Shape shape{dim3((1u << args_.log_rows) / S::kRows, primes, groups_),
                      dim3(std::min(digits, S::kLanes) * S::kLaneThreads),
                      S::shared_bytes(digits, views)};
    launcher_.launch(key_inner<S>, shape, args_);
  }

  bool fits(int views) const {
    return groups_ < kGroups && targets_ < kTargets && views_ + views <= kViews;
  }

  KeyInnerArgs::Group& open(const KeyInner::Group& group) {
    KeyInnerArgs::Group& part = args_.group[groups_++];
    const KeyInner::Digit& first = group.digits.front();
    part = {static_cast<std::int16_t>(views_),
            static_cast<std::int16_t>(targets_),
            static_cast<std::int16_t>(group.digits.size()),
            0,
            static_cast<std::int16_t>(first.own.limbs() + first.converted.limbs()),
            0};
    for (std::size_t d = 0; d < group.digits.size(); ++d) {
      const auto& [own, converted] = group.digits[d];
      args_.view[views_++] = View(own);
      args_.view[views_++] = View(converted);
      part.half_digits |= static_cast<std::uint32_t>(converted.domain == Domain::Half) << d;
    }
    return part;
  }

  void add(const KeyInner::Target& target) {
    args_.galois_inverse[targets_++] = inverse_galois(target.galois);
    for (const auto& key : target.key) {
      for (const PolyView& half : key) args_.view[views_++] = View(half);
    }
    for (const auto* ends : {&target.eval, &target.half, &target.add}) {
      for (const PolyView& v : *ends) args_.view[views_++] = View(v);
    }
  }

  Launcher& launcher_;
  const Ring& ring_;
  KeyInnerArgs args_{};
  int groups_ = 0, targets_ = 0, views_ = 0;
};

}  // namespace

void run(Launcher& launcher, const KeyInner& op) {
  if (op.groups.empty()) return;
  const KeyInner::Digit& first = op.groups.front().digits.front();
  const Ring& ring = *(first.own.segments != 0 ? first.own : first.converted).ring;
  KeyInnerBatch batch(launcher, op, ring);
  for (const KeyInner::Group& group : op.groups) batch.add(group);
  batch.flush();
}

}  // namespace latticino::cuda
