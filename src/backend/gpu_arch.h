// The architecture of a GPU, by which tables of kernels are chosen, and its name.
#pragma once

#include <string>

namespace latticino {

int gpu_arch(int device) noexcept;  // 90 for sm_90; 0 if the device does not answer
// For example "NVIDIA H100 80GB HBM3"; empty if the device does not answer.
std::string gpu_name(int device);

}  // namespace latticino
