// ModDownFinish: the last step of ModDown and rescale, rows of y transformed on the way.
#include <algorithm>
#include <vector>

#include "backend/cuda/device/async_copy.cuh"
#include "backend/cuda/device/evict_first.cuh"
#include "backend/cuda/device/fetch.cuh"
#include "backend/cuda/device/limb_base.h"
#include "backend/cuda/device/overlap.cuh"
#include "backend/cuda/device/tables.h"
#include "backend/cuda/device/view.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch/dispatch.h"
#include "backend/cuda/ntt/rows.cuh"
#include "backend/cuda/poly/eval_scatter.cuh"

namespace latticino::cuda {
namespace {

constexpr int kItems = 32, kLimbs = 128, kBases = 256;

// Addresses of an item's limbs over a run of primes. That of y is marked if y is in Half.
struct ItemBases {
  LimbBase x, y, add, out, times;
};

struct ModDownFinishArgs {
  RingView ring;
  RowView rows;
  int log_rows, items, runs;
  // The vectors of a thread that are being loaded: first those of x, then those of add or of times,
  // if the item has one of these.
  int slots;
  bool times;  // whether the second vectors are those of times; then add is read when it is needed
  std::uint32_t galois_inverse[kItems];
  struct Run {
    std::int16_t begin, prime;  // position of its first prime among the limbs
  } run[kLimbs];
  ItemBases base[kBases];  // [run][item]
  // Indexed by position in out's basis. [0] is the factor. [1] is 2^32 times the factor, for a
  // product of two words, which redc() has divided by 2^32.
  Shoup factor[2][kLimbs];
};

// A block holds as many rows as a line of Half has (N = 2^16), so that it reads whole lines. The
// blocks of all items at the same rows follow one another and share their twiddles in the cache.
template <int LOG_COLS>
struct CombineShape : RowShape<LOG_COLS> {
  using Base = RowShape<LOG_COLS>;
  static constexpr std::size_t shared_bytes(int slots) {
    return sizeof(uint4) * slots * Base::kBlockThreads + sizeof(std::uint32_t) * Base::kSharedWords;
  }
};

// ONCE: the data are not needed again soon.
template <class S, bool ONCE>
__device__ __forceinline__ void request_vectors(uint4* slots, const LimbBase& from,
                                                std::size_t offset, const RowPosition<S>& at) {
  if (from.empty()) return;
  const auto* limb = reinterpret_cast<const uint4*>(from.limb(offset)) + at.vector();
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    if constexpr (ONCE) {
      copy_async_once(slots + j * S::kBlockThreads, limb + j * S::kThreads);
    } else {
      copy_async(slots + j * S::kBlockThreads, limb + j * S::kThreads);
    }
  }
}

template <class S>
__device__ __forceinline__ void prefetch_vectors(const LimbBase& from, std::size_t offset,
                                                 const RowPosition<S>& at) {
  if (from.empty()) return;
  const auto* limb = reinterpret_cast<const uint4*>(from.limb(offset)) + at.vector();
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    fetch_to_l2(limb + j * S::kThreads);
  }
}

// Computes x factor - y + add where y is, and stores it where the automorphism puts it. x is in the
// thread's first slots; times or add is in the slots after them.
template <class S>
__device__ __forceinline__ void store_differences(const ModDownFinishArgs& a, const ItemBases& base,
                                                  const uint4* x, std::uint32_t (&y)[S::kValues],
                                                  std::size_t offset, const RowPosition<S>& at,
                                                  const Modulus& m) {
  const uint4* second = x + S::kVectors * S::kBlockThreads;
  const bool has_x = !base.x.empty(), has_add = !base.add.empty(), times = !base.times.empty();
  const Shoup factor = a.factor[times ? 1 : 0][blockIdx.z];
  const auto* addend = reinterpret_cast<const uint4*>(base.add.limb(offset)) + at.vector();
  const auto product = [&](std::uint32_t xi, std::uint32_t ki) {
    return canonical(redc(static_cast<std::uint64_t>(xi) * ki, m), m);
  };
  const auto difference = [&](std::uint32_t xi, std::uint32_t yi) {
    return sub_mod(fold(mul_shoup(xi, factor, m.q), m.q), yi, m.q);
  };
  const auto sum = [&](std::uint32_t vi, std::uint32_t wi) { return add_mod(vi, wi, m.q); };
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    uint4 u = has_x ? x[j * S::kBlockThreads] : uint4{};
    if (times) {
      const uint4 k = second[j * S::kBlockThreads];
      u = make_uint4(product(u.x, k.x), product(u.y, k.y), product(u.z, k.z), product(u.w, k.w));
    }
    uint4 v = make_uint4(difference(u.x, y[4 * j]), difference(u.y, y[4 * j + 1]),
                         difference(u.z, y[4 * j + 2]), difference(u.w, y[4 * j + 3]));
    if (has_add) {
      const uint4 w = a.times ? addend[j * S::kThreads] : second[j * S::kBlockThreads];
      v = make_uint4(sum(v.x, w.x), sum(v.y, w.y), sum(v.z, w.z), sum(v.w, w.w));
    }
    y[4 * j] = v.x, y[4 * j + 1] = v.y, y[4 * j + 2] = v.z, y[4 * j + 3] = v.w;
  }
  store_row_image<S>(y, at, base.out.limb(offset), a.galois_inverse[blockIdx.x], a.ring.log_n);
}

template <class S>
__global__ void __launch_bounds__(S::kBlockThreads, S::kMinBlocks)
    mod_down_finish(const __grid_constant__ ModDownFinishArgs a) {
  extern __shared__ uint4 dynamic[];
  const int item = blockIdx.x, limb = blockIdx.z;
  int r = 0;
  while (r + 1 < a.runs && a.run[r + 1].begin <= limb) ++r;
  const int prime = a.run[r].prime + limb - a.run[r].begin;
  const ItemBases& base = a.base[r * a.items + item];
  const Modulus m = load_modulus(a.ring.modulus + prime);
  const std::size_t offset = static_cast<std::size_t>(prime) << a.ring.log_n;

  auto* exchange = reinterpret_cast<std::uint32_t*>(dynamic + a.slots * S::kBlockThreads);
  const int local = threadIdx.x / S::kThreads;
  const RowPosition<S> at(threadIdx.x % S::kThreads, blockIdx.y * S::kRows + local,
                          exchange + local * S::kStride, a.log_rows);
  uint4 *x = dynamic + threadIdx.x, *second = x + S::kVectors * S::kBlockThreads;

  const auto request = [&] {
    // The limbs of a single ciphertext would push out of the cache what is needed sooner. Results
    // of many key switches of one ciphertext stay, as far as they are still there. An x that both
    // items multiply, and a key that many items use, stay as well.
    if (a.items <= 2 && !a.times) {
      request_vectors<S, true>(x, base.x, offset, at);
    } else {
      request_vectors<S, false>(x, base.x, offset, at);
    }
    if (!a.times) return request_vectors<S, false>(second, base.add, offset, at);
    if (a.items <= 2) {
      request_vectors<S, true>(second, base.times, offset, at);
    } else {
      request_vectors<S, false>(second, base.times, offset, at);
    }
    prefetch_vectors<S>(base.add, offset, at);
  };
  std::uint32_t y[S::kValues];
  wait_for_previous();
  if (base.y.marked()) {
    RowTwiddles<S> twiddles;
    load_half<S, true>(y, base.y.limb(offset), at);
    twiddles.load(a.rows.psi, a.rows.units, prime, at);
    request();
    row_forward<S>(y, twiddles, at, m);
#pragma unroll
    for (int j = 0; j < S::kValues; ++j) y[j] = fold(y[j], m.q);
  } else {
    load_eval<S>(y, base.y.limb(offset), at);
    request();
  }
  wait_for_copies();
  allow_next();
  store_differences<S>(a, base, x, y, offset, at, m);
}

// Items that share the basis of the first one, as many as fit into a launch.
class Combination {
 public:
  Combination(Launcher& launcher, const ModDownFinish& op, const Ring& ring)
      : launcher_(launcher), op_(op), ring_(ring), tables_(table_of<RingTables>(launcher, ring)) {
    args_.ring = tables_.view();
    args_.rows = tables_.rows();
    args_.log_rows = half_log_rows(ring.log_n());
  }

  // Launches the items from `first` on that share a basis and fit; returns the next.
  std::size_t launch(std::size_t first) {
    const Basis basis = op_.items[first].out.basis();
    const int limbs = basis.size();
    if (limbs > kLimbs) {
      throw UnsupportedError("cuda.mod_down_finish", std::to_string(limbs) + " limbs",
                             "at most " + std::to_string(kLimbs), "use fewer primes");
    }
    std::size_t last = first;
    while (last < op_.items.size() && last - first < kItems &&
           op_.items[last].out.basis() == basis) {
      ++last;
    }
    while (!fill(basis, first, last)) --last;
    fill_factors(basis);
    dispatch<5, 9>(ring_.log_n() - args_.log_rows,
                   [&](auto log_cols) { launch<CombineShape<decltype(log_cols)::value>>(limbs); });
    return last;
  }

 private:
  template <class S>
  void launch(int limbs) {
    args_.slots = (any_add_ || args_.times ? 2 : 1) * S::kVectors;
    Shape shape{dim3(args_.items, (1u << args_.log_rows) / S::kRows, limbs), dim3(S::kBlockThreads),
                S::shared_bytes(args_.slots), true};
    // With many waves, a block gets so much shared memory that kMinBlocks blocks fit. A small grid
    // may take all of it, which shares its blocks evenly over the multiprocessors.
    const std::size_t all = launcher_.properties().shared_per_sm;
    const std::size_t taken = 100 * S::kMinBlocks * (shape.shared_bytes + kReservedShared);
    const std::size_t least = std::min<std::size_t>(100, (taken + all - 1) / all);
    shape.shared_percent = launcher_.many_waves(shape) ? static_cast<int>(least) : 100;
    launcher_.launch(mod_down_finish<S>, shape, args_);
  }

  // False if the items have too many runs for one launch (one item never has).
  bool fill(const Basis& basis, std::size_t first, std::size_t last) {
    RunBounds bounds;
    any_add_ = args_.times = false;
    for (std::size_t i = first; i < last; ++i) {
      const ModDownFinish::Item& item = op_.items[i];
      for (const PolyView* v : {&item.x, &item.y, &item.add, &item.out, &item.times}) {
        bounds.add(*v);
      }
      any_add_ = any_add_ || item.add.segments > 0;
      args_.times = args_.times || item.times.segments > 0;
    }
    args_.items = static_cast<int>(last - first);
    args_.runs = 0;
    int place = 0, bases = 0;
    const std::vector<int>& at = bounds.sorted();
    for (std::size_t k = 0; k + 1 < at.size(); ++k) {
      if (!basis.contains(at[k])) continue;
      if (bases + args_.items > kBases) return false;
      args_.run[args_.runs++] = {static_cast<std::int16_t>(place),
                                 static_cast<std::int16_t>(at[k])};
      place += at[k + 1] - at[k];
      for (std::size_t i = first; i < last; ++i) {
        const ModDownFinish::Item& item = op_.items[i];
        args_.galois_inverse[i - first] = inverse_galois(item.galois);
        const LimbBase x(item.x, at[k]);
        args_.base[bases++] = {x, LimbBase(item.y, at[k], item.y.domain == Domain::Half),
                               LimbBase(item.add, at[k]), LimbBase(item.out, at[k]),
                               x.empty() ? x : LimbBase(item.times, at[k])};
      }
    }
    return true;
  }

  void fill_factors(const Basis& basis) {
    for (int l = 0; l < static_cast<int>(op_.factor.size()); ++l) {
      const Modulus m = tables_.modulus(basis.prime(l));
      std::uint64_t w = op_.factor[l];
      for (auto& factor : args_.factor) {
        factor[l] = {static_cast<std::uint32_t>(w), static_cast<std::uint32_t>((w << 32) / m.q)};
        w = w * m.r % m.q;
      }
    }
  }

  Launcher& launcher_;
  const ModDownFinish& op_;
  const Ring& ring_;
  const RingTables& tables_;
  ModDownFinishArgs args_{};
  bool any_add_ = false;
};

}  // namespace

void run(Launcher& launcher, const ModDownFinish& op) {
  if (op.items.empty()) return;
  Combination combination(launcher, op, *op.items.front().out.ring);
  for (std::size_t next = 0; next < op.items.size();) next = combination.launch(next);
}

}  // namespace latticino::cuda
