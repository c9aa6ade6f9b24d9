// What make_cpu_backend chooses on this machine.
#pragma once

#include <string>

#include "backend/backend.h"

namespace latticino {

struct CpuChoice {
  std::string kernels;  // "avx512", "avx2" or "reference"
  int threads = 1;
  int usable = 1;  // the threads that can run at once: at most the cores of the process
};
CpuChoice cpu_choice(const CpuOptions& options = {});

}  // namespace latticino
