// Replaces the ceilings of a GPU in builds without CUDA.
#include "ceilings/ceilings.h"

namespace latticino::bench {

std::vector<Ceiling> gpu_ceilings(int) {
  throw DeviceError("bench.ceilings", "a library built without CUDA", "a build with nvcc",
                    "rebuild where nvcc is found, or measure the CPU");
}

std::string gpu_name() { return {}; }

}  // namespace latticino::bench
