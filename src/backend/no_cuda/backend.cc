// Stands in for the CUDA backend in builds without nvcc.
#include "backend/backend.h"
#include "math/errors.h"

namespace latticino {

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions&) {
  throw DeviceError("cuda.backend", "a library built without CUDA", "a build with nvcc",
                    "rebuild where nvcc is found (LATTICINO_CUDA=ON), or use the CPU backend");
}

bool cuda_built() { return false; }

int cuda_device_count() noexcept { return 0; }

}  // namespace latticino
