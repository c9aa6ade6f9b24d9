// SubtractScale: the last step of ModDown and rescale, rows of y transformed on the way.
#include <algorithm>
#include <vector>

#include "backend/cuda/dispatch.h"
#include "backend/cuda/eval_scatter.cuh"
#include "backend/cuda/kernels.h"
#include "backend/cuda/ntt_rows.cuh"
#include "backend/cuda/tables.h"
#include "backend/cuda/view.h"

namespace latticino::cuda {
namespace {

constexpr int kItems = 16, kLimbs = 128;

struct SubtractScaleArgs {
  RingView ring;
  int log_rows;
  struct Item {
    View x, y, add, out;
    std::uint32_t galois_inverse;
    bool y_is_half;
  } item[kItems];
  // By position in out's basis, times R: x_factor and -y_factor.
  std::uint32_t x_factor[kLimbs], y_factor[kLimbs];
};
static_assert(sizeof(SubtractScaleArgs) <= 4096);

template <class S>
__device__ __forceinline__ void load_transformed(std::uint32_t (&y)[S::kValues],
                                                 const SubtractScaleArgs& a,
                                                 const SubtractScaleArgs::Item& item, int prime,
                                                 const RowPosition<S>& at, const Modulus& m) {
  const std::uint32_t* limb = item.y.limb(prime, a.ring.log_n);
  if (!item.y_is_half) return load_eval<S>(y, limb, at);
  RowTwiddles<S> twiddles;
  twiddles.load(a.ring.psi + (static_cast<std::size_t>(prime) << a.ring.log_n), at);
  load_half<S>(y, limb, at);
  row_forward<S>(y, twiddles, at, m);
#pragma unroll
  for (int j = 0; j < S::kValues; ++j) y[j] = fold(y[j], m.q);
}

template <class S>
__global__ void __launch_bounds__(S::kBlockThreads)
    subtract_scale(const __grid_constant__ SubtractScaleArgs a) {
  __shared__ std::uint32_t shared[S::kSharedWords];
  const SubtractScaleArgs::Item& item = a.item[blockIdx.z];
  if (blockIdx.y >= item.out.limbs()) return;
  const int prime = item.out.prime(blockIdx.y), log_n = a.ring.log_n;
  const auto at = RowPosition<S>::in_block(shared, a.log_rows);
  const Modulus m = load_modulus(a.ring.modulus + prime);
  const auto* x = reinterpret_cast<const uint4*>(item.x.limb(prime, log_n));
  const auto* add = reinterpret_cast<const uint4*>(item.add.limb(prime, log_n));
  std::uint32_t* out = item.out.limb(prime, log_n);
  const std::uint32_t fx = x == nullptr ? 0 : a.x_factor[blockIdx.y], fy = a.y_factor[blockIdx.y];

  std::uint32_t y[S::kValues];
  load_transformed<S>(y, a, item, prime, at, m);
#pragma unroll
  for (int j = 0; j < S::kVectors; ++j) {
    const std::uint32_t at_vector = at.vector() + j * S::kThreads;
    const uint4 zero{};
    const uint4 v = x == nullptr ? zero : x[at_vector];
    const uint4 w = add == nullptr ? zero : add[at_vector];
    // Two products of residues: below q 2^32.
    const auto combine = [&](std::uint32_t xi, std::uint32_t yi, std::uint32_t wi) {
      const std::uint64_t sum =
          static_cast<std::uint64_t>(xi) * fx + static_cast<std::uint64_t>(yi) * fy;
      return add_mod(canonical(redc(sum, m), m), wi, m.q);
    };
    const uint4 r = make_uint4(combine(v.x, y[4 * j], w.x), combine(v.y, y[4 * j + 1], w.y),
                               combine(v.z, y[4 * j + 2], w.z), combine(v.w, y[4 * j + 3], w.w));
    store_image<S>(r, at.row, at.t + j * S::kThreads, out, item.galois_inverse, log_n);
  }
}

void fill_factors(SubtractScaleArgs& args, const SubtractScale& op, const PolyView& out,
                  const RingTables& tables) {
  const auto times_r = [](std::uint32_t w, const Modulus& m) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(w) * m.r % m.q);
  };
  const Basis basis = out.basis();
  for (int l = 0; l < basis.size(); ++l) {
    const Modulus& m = tables.modulus(basis.prime(l));
    const std::uint32_t y = op.y_factor[l];
    args.x_factor[l] = l < static_cast<int>(op.x_factor.size()) ? times_r(op.x_factor[l], m) : 0;
    args.y_factor[l] = times_r(y == 0 ? 0 : m.q - y, m);
  }
}

}  // namespace

void run(Launcher& launcher, const SubtractScale& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items.front().out.ring;
  const RingTables& tables = table_of<RingTables>(launcher, ring);
  SubtractScaleArgs args{};
  args.ring = tables.view();
  args.log_rows = half_log_rows(ring.log_n());
  // Factors go by position: a launch takes items of one basis.
  for (std::size_t first = 0; first < op.items.size();) {
    const PolyView& out = op.items[first].out;
    const int limbs = out.limbs();
    if (limbs > kLimbs) {
      throw UnsupportedError("cuda.subtract_scale", std::to_string(limbs) + " limbs",
                             "at most " + std::to_string(kLimbs), "use fewer primes");
    }
    fill_factors(args, op, out, tables);
    int count = 0;
    for (; count < kItems && first < op.items.size(); ++count, ++first) {
      const SubtractScale::Item& item = op.items[first];
      if (item.out.basis() != out.basis()) break;
      args.item[count] = {View(item.x),
                          View(item.y),
                          View(item.add),
                          View(item.out),
                          inverse_galois(item.galois),
                          item.y.domain == Domain::Half};
    }
    dispatch<5, 9>(ring.log_n() - args.log_rows, [&](auto log_cols) {
      using S = RowShape<decltype(log_cols)::value>;
      const Shape shape{dim3((1u << args.log_rows) / S::kRows, limbs, count),
                        dim3(S::kBlockThreads)};
      launcher.launch(subtract_scale<S>, shape, args);
    });
  }
}

}  // namespace latticino::cuda
