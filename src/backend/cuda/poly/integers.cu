// Signed integers into every prime: the exact lift of ModRaise, and uploaded coefficients.
#include <algorithm>

#include "backend/cuda/device/elementwise.cuh"
#include "backend/cuda/device/reduce.cuh"
#include "backend/cuda/device/tables.h"
#include "backend/cuda/kernels.h"
#include "math/modulus.h"

namespace latticino::cuda {
namespace {

constexpr int kItems = 40;
constexpr int kLimbsPerBlock = 8;  // outputs that are computed from one read of the integers

__device__ __forceinline__ void reduce_limbs(const RingArgs& ring, const View& out, int limbs,
                                             std::uint32_t g, const Integers& x) {
  const int first = blockIdx.y * kLimbsPerBlock;
  reduce_into(ring, out, first, min(first + kLimbsPerBlock, limbs), g, x);
}

struct FromIntegersArgs {
  RingArgs ring;
  struct {
    const std::int64_t* in;
    View out;
    int limbs;
  } item[kItems];
};
static_assert(sizeof(FromIntegersArgs) <= 4096);

__global__ void __launch_bounds__(kThreads)
    from_integers(const __grid_constant__ FromIntegersArgs a) {
  allow_next();
  const auto& item = a.item[blockIdx.z];
  const std::uint32_t g = blockIdx.x * kThreads + threadIdx.x;
  if (blockIdx.y * kLimbsPerBlock >= item.limbs || g >= a.ring.groups()) return;
  const longlong2* in = reinterpret_cast<const longlong2*>(item.in) + 2 * g;
  wait_for_previous();
  const longlong2 p = in[0], q = in[1];
  reduce_limbs(a.ring, item.out, item.limbs, g, {{p.x, p.y, q.x, q.y}});
}

struct ModRaiseArgs {
  RingArgs ring;
  struct {
    View in, out;
    std::int16_t limbs;
    bool two;               // whether there are two input primes
    std::uint32_t inverse;  // of the first input prime modulo the second, times R
  } item[kItems];
};
static_assert(sizeof(ModRaiseArgs) <= 4096);

// x0 + q0 [(x1 - x0) / q0] mod q1 is the only integer in [0, q0 q1) with these residues.
__device__ __forceinline__ std::uint64_t combine(std::uint32_t x0, std::uint32_t x1,
                                                 std::uint32_t q0, std::uint32_t inverse,
                                                 const Modulus& m1) {
  const std::uint32_t d = sub_mod(x1, mul_mod(m1.r, x0, m1), m1.q);
  return x0 + static_cast<std::uint64_t>(q0) * mul_mod(d, inverse, m1);
}

__global__ void __launch_bounds__(kThreads) mod_raise(const __grid_constant__ ModRaiseArgs a) {
  allow_next();
  const auto& item = a.item[blockIdx.z];
  const std::uint32_t g = blockIdx.x * kThreads + threadIdx.x;
  if (blockIdx.y * kLimbsPerBlock >= item.limbs || g >= a.ring.groups()) return;
  const int p0 = item.in.prime(0), p1 = item.in.prime(1), log_n = a.ring.log_n;
  const std::uint32_t q0 = a.ring.modulus[p0].q;
  const Modulus m1 = load_modulus(a.ring.modulus + p1);
  wait_for_previous();
  const Group x0 = load_group(item.in.limb(p0, log_n), g);
  const Group x1 = item.two ? load_group(item.in.limb(p1, log_n), g) : Group{};
  const std::uint64_t modulus = item.two ? static_cast<std::uint64_t>(q0) * m1.q : q0;
  Integers x;
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    const std::uint64_t v = item.two ? combine(x0.w[j], x1.w[j], q0, item.inverse, m1) : x0.w[j];
    x.w[j] = static_cast<std::int64_t>(v > modulus / 2 ? v - modulus : v);
  }
  reduce_limbs(a.ring, item.out, item.limbs, g, x);
}

// Launches the items of an operation in batches of kItems; fill writes one item's arguments.
template <class Args, class Op, class Fill>
void launch_batches(Launcher& launcher, void (*kernel)(Args), const Op& op, Fill fill) {
  for (std::size_t first = 0; first < op.items.size(); first += kItems) {
    const int items = static_cast<int>(std::min<std::size_t>(kItems, op.items.size() - first));
    const Ring& ring = *op.items[first].out.ring;
    Args args{};
    args.ring = {ring_view(launcher, ring).modulus, ring.log_n()};
    int limbs = 0;
    for (int i = 0; i < items; ++i) {
      fill(args.item[i], op.items[first + i]);
      limbs = std::max<int>(limbs, args.item[i].limbs);
    }
    const int blocks = (limbs + kLimbsPerBlock - 1) / kLimbsPerBlock;
    launcher.launch(kernel, limb_grid(ring.n(), 1, blocks, items), args);
  }
}

}  // namespace

void run(Launcher& launcher, const FromIntegers& op) {
  launch_batches(launcher, from_integers, op, [](auto& args, const FromIntegers::Item& item) {
    args = {item.in, View(item.out), item.out.limbs()};
  });
}

void run(Launcher& launcher, const ModRaise& op) {
  launch_batches(launcher, mod_raise, op, [](auto& args, const ModRaise::Item& item) {
    const Basis basis = item.in.basis();
    args = {View(item.in), View(item.out), static_cast<std::int16_t>(item.out.limbs()),
            basis.size() == 2, 0};
    if (args.two) {
      const latticino::Modulus m1 = make_modulus(item.in.ring->prime(basis.prime(1)));
      const std::uint32_t q0 = item.in.ring->prime(basis.prime(0));
      const std::uint32_t inverse = inverse_mod(reduce_u64(q0, m1), m1);
      args.inverse = reduce_u64(static_cast<std::uint64_t>(inverse) << 32, m1);
    }
  });
}

}  // namespace latticino::cuda
