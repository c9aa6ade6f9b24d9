// Marks the work that a profiler counts. With `ncu --profile-from-start off` these are the kernels
// between start and stop, and no others. The calls are the CUDA driver's. It is opened by name, so
// that programs which build without CUDA have them.
#pragma once

#include <dlfcn.h>

#include <string>

#include "math/errors.h"

namespace latticino::bench {

inline void call_profiler(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  auto* function = driver == nullptr ? nullptr : reinterpret_cast<int (*)()>(dlsym(driver, name));
  if (function == nullptr) {
    throw UnsupportedError("bench", "--profile 1 without a CUDA driver", "a GPU and its driver",
                           "leave out --profile");
  }
  if (const int status = function(); status != 0) {
    throw UnsupportedError("bench", std::string(name) + " with status " + std::to_string(status),
                           "a CUDA context of this thread", "run a kernel before what is profiled");
  }
}

// Nothing else must run in the meantime: `synchronize` waits before the start and before the stop.
template <class Body, class Synchronize>
void profiled(const Body& body, const Synchronize& synchronize) {
  synchronize();
  call_profiler("cuProfilerStart");
  body();
  synchronize();
  call_profiler("cuProfilerStop");
}

}  // namespace latticino::bench
