// Blind rotation in FP64 for k = 2.
#include "backend/cuda/blind_fourier.cuh"

namespace latticino::cuda {

void launch_blind_fourier_k2(Launcher& launcher, const FourierRotateArgs& args, int primes) {
  dispatch<10, 12>(args.rotate.ring.log_n, [&](auto log) {
    using Shape = FourierShape<decltype(log)::value, fourier_log_values(3)>;
    if (primes == 1) return launch_blind_fourier<Shape, 3, 1>(launcher, args);
    launch_blind_fourier<Shape, 3, 2>(launcher, args);
  });
}

}  // namespace latticino::cuda
