// Device headers mention a launcher; the emulated device has none.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "backend/backend.h"

namespace latticino::cuda {

class DeviceBlock {};
struct Properties;
struct Shape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  bool overlap = false;
};
class Launcher {
 public:
  template <class Kernel, class Args>
  void launch(Kernel kernel, const Shape& shape, const Args& args);
  const std::shared_ptr<const int>& identity() const;
  bool recording() const;
};

}  // namespace latticino::cuda
