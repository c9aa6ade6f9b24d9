// Device headers mention a launcher; the emulated device has none.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "backend/backend.h"

namespace latticino::cuda {

class DeviceBlock {};
class Launcher {
 public:
  const std::shared_ptr<const int>& identity() const;
  bool recording() const;
};

}  // namespace latticino::cuda
