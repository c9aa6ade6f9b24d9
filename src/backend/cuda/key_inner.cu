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

// Entries E t + j of one digit in [0, q), straight from Eval or through the row transform.
template <class S>
__device__ __forceinline__ void load_digit(std::uint32_t (&x)[S::kValues], const Limb* limb,
                                           bool is_half, const RowTwiddles<S>& twiddles,
                                           const RowPosition<S>& at, const Modulus& m) {
  if (limb[0] != nullptr) return load_eval<S>(x, limb[0], at);
  if (!is_half) return load_eval<S>(x, limb[1], at);
  load_half<S>(x, limb[1], at);
  row_forward<S>(x, twiddles, at, m);
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) x[j] = fold(x[j], m.q);
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

__device__ __forceinline__ uint4 vector_of(const std::uint32_t* limb, std::uint32_t i) {
  return reinterpret_cast<const uint4*>(limb)[i];
}

// Both halves of a target's result at one vector of a row.
struct InnerProduct {
  const uint4* stash;  // of this thread and vector; digits `stride` apart
  int stride, digits;
  const Limb* key;  // (b, a) a digit
  Limb add[2];
  std::uint32_t add_factor;

  __device__ __forceinline__ void compute(std::uint32_t i, const Modulus& m,
                                          uint4 (&result)[2]) const {
    Sums sum[2];
#pragma unroll 4
    for (int d = 0; d < digits; ++d) {
      if (d >= 4 && d % 2 == 0) sum[0].fold(m.q), sum[1].fold(m.q);
      const uint4 x = stash[d * stride];
      const uint4 b = __ldcs(reinterpret_cast<const uint4*>(key[2 * d]) + i);
      const uint4 a = __ldcs(reinterpret_cast<const uint4*>(key[2 * d + 1]) + i);
      sum[0].add(x, b);
      sum[1].add(x, a);
    }
    if (digits > 2) sum[0].fold(m.q), sum[1].fold(m.q);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (add[h] != nullptr) {
        const std::uint32_t f = add_factor;
        sum[h].add(vector_of(add[h], i), make_uint4(f, f, f, f));
        sum[h].fold(m.q);
      }
      result[h] = sum[h].reduce(m);
    }
  }
};

template <class S>
__device__ __forceinline__ void run_target(const KeyInnerArgs& a, const InnerProduct& product,
                                           const Limb* ends, const uint4* stash, int target,
                                           int prime, const RowPosition<S>& at, const Modulus& m) {
  InnerProduct inner = product;
  uint4 r[2];
  if (ends[0] != nullptr && ends[1] != nullptr) {
    const std::uint32_t galois_inverse = a.galois_inverse[target];
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      inner.stash = stash + j * S::kBlockThreads;
      inner.compute(at.vector() + j * S::kThreads, m, r);
      store_image<S>(r[0], j, ends[0], at, galois_inverse, a.ring.log_n);
      store_image<S>(r[1], j, ends[1], at, galois_inverse, a.ring.log_n);
    }
    return;
  }
  std::uint32_t y[2][S::kValues];
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    inner.stash = stash + j * S::kBlockThreads;
    inner.compute(at.vector() + j * S::kThreads, m, r);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      y[h][4 * j] = r[h].x, y[h][4 * j + 1] = r[h].y;
      y[h][4 * j + 2] = r[h].z, y[h][4 * j + 3] = r[h].w;
    }
  }
  RowTwiddles<S> twiddles;
  twiddles.load(a.ring.psi_inv + (static_cast<std::size_t>(prime) << a.ring.log_n), at);
  const Shoup inverse_cols = a.ring.inverse[prime].cols;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (ends[h] != nullptr) {
      store_eval<S>(y[h], ends[h], at);  // beside a half in Half there is no automorphism
      continue;
    }
    row_inverse<S>(y[h], twiddles, at, inverse_cols, m);
    store_half<S>(y[h], ends[2 + h], at);
  }
}

// Addresses of the limbs of one prime in all views of the group.
__device__ __forceinline__ void resolve(Limb* limb, const KeyInnerArgs& a,
                                        const KeyInnerArgs::Group& g, int prime) {
  const int views = kDigitViews * g.digits + target_views(g.digits) * g.targets;
  for (int i = threadIdx.x; i < views; i += blockDim.x) {
    limb[i] = a.view[g.first_view + i].limb(prime, a.ring.log_n);
  }
  __syncthreads();
}

template <class S>
__global__ void __launch_bounds__(S::kBlockThreads)
    key_inner(const __grid_constant__ KeyInnerArgs a) {
  extern __shared__ uint4 dynamic[];
  const KeyInnerArgs::Group& g = a.group[blockIdx.z];
  if (blockIdx.y >= g.primes) return;
  const View &own = a.view[g.first_view], &converted = a.view[g.first_view + 1];
  const int l = blockIdx.y, own_limbs = own.limbs();
  const int prime = l < own_limbs ? own.prime(l) : converted.prime(l - own_limbs);

  uint4* stash = dynamic;  // [digit][vector][thread], each thread its own
  auto* exchange =
      reinterpret_cast<std::uint32_t*>(stash + g.digits * S::kVectors * S::kBlockThreads);
  auto* limb = reinterpret_cast<Limb*>(exchange + S::kSharedWords);
  resolve(limb, a, g, prime);

  const RowPosition<S> at(exchange, a.log_rows);
  const Modulus m = load_modulus(a.ring.modulus + prime);
  stash += threadIdx.x;
  {
    RowTwiddles<S> twiddles;
    twiddles.load(a.ring.psi + (static_cast<std::size_t>(prime) << a.ring.log_n), at);
#pragma unroll 1
    for (int d = 0; d < g.digits; ++d) {
      std::uint32_t x[S::kValues];
      load_digit<S>(x, limb + 2 * d, g.half_digits >> d & 1, twiddles, at, m);
#pragma unroll
      for (int j = 0; j < S::kVectors; ++j) {
        stash[(d * S::kVectors + j) * S::kBlockThreads] =
            make_uint4(x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3]);
      }
    }
  }
#pragma unroll 1
  for (int t = 0; t < g.targets; ++t) {
    const Limb* key = limb + kDigitViews * g.digits + t * target_views(g.digits);
    const Limb* ends = key + 2 * g.digits;
    const InnerProduct inner{stash,
                             S::kVectors * S::kBlockThreads,
                             g.digits,
                             key,
                             {ends[4], ends[5]},
                             a.add_factor[prime]};
    run_target<S>(a, inner, ends, stash, g.first_target + t, prime, at, m);
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
    for (int i = 0; i < groups_; ++i) {
      const KeyInnerArgs::Group& g = args_.group[i];
      primes = std::max<int>(primes, g.primes);
      digits = std::max<int>(digits, g.digits);
      views = std::max(views, kDigitViews * g.digits + target_views(g.digits) * g.targets);
    }
    dispatch<5, 9>(ring_.log_n() - args_.log_rows, [&](auto log_cols) {
      using S = RowShape<decltype(log_cols)::value>;
      const std::size_t shared = sizeof(uint4) * digits * S::kVectors * S::kBlockThreads +
                                 sizeof(std::uint32_t) * S::kSharedWords + sizeof(Limb) * views;
      const Shape shape{dim3((1u << args_.log_rows) / S::kRows, primes, groups_),
                        dim3(S::kBlockThreads), shared};
      launcher_.launch(key_inner<S>, shape, args_);
    });
    groups_ = targets_ = views_ = 0;
  }

 private:
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
