// Replaces the CUDA backend in builds without CUDA.
#if !defined(LATTICINO_HAVE_CUDA)

#include "backend/backend.h"
#include "backend/gpu_arch.h"
#include "backend/ranges.h"
#include "math/errors.h"

namespace latticino {

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions&) {
  throw DeviceError("cuda", "a library built without CUDA", "a build with nvcc",
                    "rebuild where nvcc is found, or use the cpu device");
}

bool cuda_built() { return false; }

int cuda_device_count() noexcept { return 0; }

bool cuda_has_fast_doubles(int) noexcept { return false; }

int gpu_arch(int) noexcept { return 0; }
std::string gpu_name(int) { return {}; }

void push_range(const char*) {}
void pop_range() {}

}  // namespace latticino

#endif
