// Launches of rotate/fft/group.cuh.
#include "backend/cuda/rotate/fft/group.cuh"

namespace latticino::cuda {
namespace {

// f(ring, components, primes) of a shape, as constants.
template <class F>
void of_shape(int log_n, int parts, int primes, const F& f) {
  dispatch<10, 12>(log_n, [&](auto log) {
    dispatch<2, 3>(parts, [&](auto p) { dispatch<1, 2>(primes, [&](auto q) { f(log, p, q); }); });
  });
}

}  // namespace

FourierLimits fourier_group_limits(int log_n, int parts, int primes, int levels) {
  FourierLimits limits;
  of_shape(log_n, parts, primes, [&](auto log, auto p, auto q) {
    using S = FourierGroupUnit<decltype(log)::value>;
    constexpr int kParts = decltype(p)::value, kPrimes = decltype(q)::value;
    limits = {S::kThreads, kMaxGroupThreads, sizeof(double2) * kFourierRoots<S, kParts, kPrimes>,
              fourier_group_bytes<S, kParts, kPrimes>(levels), S::kLogN == 10 ? 29 : 4};
  });
  return limits;
}

void launch_blind_rotate_fft_group(Launcher& launcher, const FourierRotateArgs& args, int primes,
                                   const Shape& shape) {
  const RotateArgs& a = args.rotate;
  of_shape(a.ring.log_n, a.parts, primes, [&](auto log, auto p, auto q) {
    launcher.launch(blind_rotate_fft_group<FourierGroupUnit<decltype(log)::value>,
                                           decltype(p)::value, decltype(q)::value>,
                    shape, args);
  });
}

}  // namespace latticino::cuda
