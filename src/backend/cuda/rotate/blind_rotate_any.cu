// The blind rotations of any gadget, group and secret.
#include "backend/cuda/launch/dispatch.h"
#include "backend/cuda/rotate/blind_rotate.cuh"

namespace latticino::cuda {

void launch_any_rotate(Launcher& launcher, const RotateArgs& args, int log_n, int primes) {
  dispatch<10, 12>(log_n, [&](auto log) {
    using Shape = BlindShape<decltype(log)::value>;
    if (primes == 1) return launch_rotate<Shape, 1, 0>(launcher, args);
    launch_rotate<Shape, 2, 0>(launcher, args);
  });
}

}  // namespace latticino::cuda
