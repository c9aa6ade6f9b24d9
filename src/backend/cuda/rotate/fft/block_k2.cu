// Blind rotation in FP64 for k = 2.
#include "backend/cuda/rotate/fft/block.cuh"

namespace latticino::cuda {

void launch_blind_rotate_fft_k2(Launcher& launcher, const FourierRotateArgs& args, int primes,
                                const Shape& shape) {
  dispatch<10, 12>(args.rotate.ring.log_n, [&](auto log) {
    using S = FourierShape<decltype(log)::value, fourier_log_values(decltype(log)::value, 3)>;
    launcher.launch(primes == 1 ? blind_rotate_fft<S, 3, 1> : blind_rotate_fft<S, 3, 2>, shape,
                    args);
  });
}

}  // namespace latticino::cuda
