// The architecture of a GPU, which tables of kernels are for.
#pragma once

namespace latticino {

int gpu_arch(int device) noexcept;  // 90 for sm_90; 0 where it does not answer

}  // namespace latticino
