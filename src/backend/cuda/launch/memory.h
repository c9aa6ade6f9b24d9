// Device memory: CUDA status -> typed error, the stream-ordered pool, plain blocks for tables, and
// the pinned staging buffers of host transfers.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/backend.h"

namespace latticino::cuda {

// Throws OutOfMemoryError or DeviceError naming `operation` unless status is success.
void check(cudaError_t status, const char* operation);

// A stream-ordered pool of its own. The backend keeps its memory until it is destroyed.
class Pool {
 public:
  explicit Pool(int device);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void* allocate(std::size_t bytes, cudaStream_t stream);  // throws OutOfMemoryError
  void release(void* p, cudaStream_t stream) noexcept;
  std::size_t idle_bytes() const;  // held and not in use
  MemoryUse use() const;           // as the driver counts
  void reset_peak();
  void trim() noexcept;  // gives idle memory back to the driver

 private:
  cudaMemPool_t pool_ = nullptr;
};

// Device memory of a table, outside of any stream. It lives as long as its Ring or BaseConversion,
// which may outlive the backend.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(int device, std::size_t bytes);
  DeviceBlock(DeviceBlock&& other) noexcept;
  DeviceBlock& operator=(DeviceBlock&& other) noexcept;
  ~DeviceBlock();
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  int device_ = 0;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Two pinned buffers that are used in turn. Host memory may be reused when copy_in returns. The
// copy engine works on one buffer while the host fills the other.
class Staging {
 public:
  Staging();
  void copy_in(void* device, const void* host, std::size_t bytes, cudaStream_t stream);
  void copy_out(void* host, const void* device, std::size_t bytes, cudaStream_t stream);
  // Clears what the last transfers left here. Called when a block that held secrets ends.
  void wipe();

 private:
  static constexpr std::size_t kBytes = std::size_t{8} << 20;
  struct Slot {
    Slot() = default;
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot();
    void wipe();
    std::uint8_t* host = nullptr;
    cudaEvent_t done = nullptr;
    std::size_t used = 0;  // bytes written since the last wipe
  };
  Slot slot_[2];
  int turn_ = 0;  // small transfers in a row also alternate
};

}  // namespace latticino::cuda
