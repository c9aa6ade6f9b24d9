// The properties of a device that decide the shapes of kernels. For measurements, a device can be
// told to choose as a smaller or an older one would (`given_less`).
#pragma once

#include <cstddef>
#include <string>

#include "math/errors.h"

namespace latticino::cuda {

constexpr std::size_t kDefaultShared = 48 << 10;  // the default of a block
constexpr int kFirstArch = 80;                    // the oldest architecture of the library

struct Properties {
  int device = 0;
  std::string name;
  // 10 * major + minor: 90 on an H200. Of the device, or the one that it chooses as
  // (CudaOptions::arch).
  int arch = 0;
  int sms = 0;  // streaming multiprocessors
  // The most dynamic shared memory that a block may ask for: of the device, and of this launcher
  // (CudaOptions::shared_limit).
  std::size_t shared_of_device = 0, shared_per_block = 0;
  std::size_t shared_per_sm = 0;
  std::size_t total_bytes = 0;
};

// UnsupportedError for a limit or an architecture beyond the device's own, or below what the
// library needs. 0: the device's own.
inline Properties given_less(Properties device, std::size_t shared_limit, int arch) {
  const std::size_t most = device.shared_per_block;
  if (shared_limit != 0 && (shared_limit < kDefaultShared || shared_limit > most)) {
    throw UnsupportedError(
        "cuda.device", "shared_limit " + std::to_string(shared_limit),
        std::to_string(kDefaultShared) + " to " + std::to_string(most) + " bytes on this device",
        "choose such a limit, or 0 for the device's own");
  }
  if (arch != 0 && (arch < kFirstArch || arch > device.arch)) {
    throw UnsupportedError(
        "cuda.device", "arch " + std::to_string(arch),
        std::to_string(kFirstArch) + " to " + std::to_string(device.arch) + " on this device",
        "choose such an architecture, or 0 for the device's own");
  }
  if (shared_limit != 0) device.shared_per_block = shared_limit;
  if (arch != 0) device.arch = arch;
  return device;
}

}  // namespace latticino::cuda
