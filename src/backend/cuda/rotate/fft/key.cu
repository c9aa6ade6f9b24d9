// FourierKey: key polynomials as the kernels of rotate/fft/block.cuh read them.
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch/dispatch.h"
#include "backend/cuda/lwe/lwe.cuh"
#include "backend/cuda/rotate/fft/transform.cuh"

namespace latticino::cuda {
namespace {

template <class S>
constexpr int kKeyThreads = 2048 / S::kV;  // for 32 KB of numbers per block

struct FourierKeyArgs {
  const std::uint32_t* in;
  double2* out;
  const double2* roots;
  Complex first[16];
  std::uint32_t count, q[2];
  ShoupFactor inverse;  // inverse of the first prime modulo the second
};

// Coefficient i, centred.
template <class S, int PRIMES>
__device__ __forceinline__ double coefficient(const FourierKeyArgs& a, const std::uint32_t* limbs,
                                              int i) {
  if constexpr (PRIMES == 1) {
    return __int2double_rn(centre(limbs[i], a.q[0]));
  } else {
    return __ll2double_rn(centred_pair(limbs[i], limbs[S::kN + i], a.q[0], a.q[1], a.inverse));
  }
}

template <class S, int PRIMES>
__global__ void __launch_bounds__(kKeyThreads<S>)
    fourier_key(const __grid_constant__ FourierKeyArgs a) {
  constexpr int kUnits = kKeyThreads<S> / S::kThreads;
  __shared__ double2 slots[kUnits][S::kSlot];
  const int unit = threadIdx.x / S::kThreads, t = threadIdx.x % S::kThreads;
  const std::uint32_t index = blockIdx.x * kUnits + unit;
  if (index >= a.count) return;
  const std::uint32_t* limbs = a.in + std::size_t(index) * PRIMES * S::kN;
  Complex x[S::kV];
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    const int i = S::index(0, t, r);
    constexpr double kOneOverHalf = 1.0 / S::kM;
    x[r] = {fourier::times(coefficient<S, PRIMES>(a, limbs, i), kOneOverHalf),
            fourier::times(coefficient<S, PRIMES>(a, limbs, i + S::kM), kOneOverHalf)};
  }
  fourier_forward<S>(x, slots[unit], FourierRoots<false>{a.roots, a.first}, t, 1 + unit);
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    a.out[std::size_t(index) * S::kM + stored_row<S>(r) + t] = vector(x[r]);
  }
}

template <class S, int PRIMES>
void launch_key(Launcher& launcher, const FourierKeyArgs& args) {
  constexpr unsigned kUnits = kKeyThreads<S> / S::kThreads;
  launcher.launch(fourier_key<S, PRIMES>,
                  {dim3((args.count + kUnits - 1) / kUnits), dim3(kKeyThreads<S>)}, args);
}

}  // namespace

void run(Launcher& launcher, const FourierKey& op) {
  for (const FourierKey::Item& item : op.items) {
    const Ring& ring = *item.in.first.ring;
    const Basis basis = item.in.first.basis();
    const RingTables& tables = table_of<RingTables>(launcher, ring);
    FourierKeyArgs args{};
    args.in = item.in.first.limb(basis.prime(0));
    args.out = reinterpret_cast<double2*>(item.out);
    args.roots = reinterpret_cast<const double2*>(tables.device_fourier_roots());
    std::copy_n(tables.fourier_roots().begin(), std::size(args.first), args.first);
    args.count = item.in.count;
    for (int p = 0; p < basis.size(); ++p) args.q[p] = ring.prime(basis.prime(p));
    if (basis.size() == 2) {
      const LweModulus m = make_modulus(args.q[1]);
      args.inverse = make_shoup(inverse_mod(args.q[0] % m.q, m), m);
    }
    dispatch<10, 12>(ring.log_n(), [&](auto log) {
      dispatch<2, 3>(op.glwe_dimension + 1, [&](auto parts) {
        dispatch<1, 2>(basis.size(), [&](auto primes) {
          constexpr int kPrimes = decltype(primes)::value;
          using Shape = FourierKeyShape<decltype(log)::value, decltype(parts)::value, kPrimes>;
          launch_key<Shape, kPrimes>(launcher, args);
        });
      });
    });
  }
}

}  // namespace latticino::cuda
