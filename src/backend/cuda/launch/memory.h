// Device memory: CUDA status -> typed error, the stream-ordered pool, plain blocks for tables, and
// the pinned staging buffers of host transfers.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/backend.h"
#include "backend/block_cache.h"

namespace latticino::cuda {

// Throws OutOfMemoryError or DeviceError naming `operation` unless status is success.
void check(cudaError_t status, const char* operation);

// Memory of one backend, which stays with it until it is destroyed. The driver's own stream-ordered
// pool takes microseconds for a block. With `keep`, released blocks are therefore kept for the next
// request of their size (backend/block_cache.h). `stream` is the stream of all work. While that
// stream is being captured, callers pass another stream. The captured stream has no pending work
// then, so a kept block may be cleared and used on the other stream.
class Pool {
 public:
  Pool(int device, bool keep);
  ~Pool();  // empty() must be called before
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Throws OutOfMemoryError if the device has no more memory.
  void* allocate(std::size_t bytes, cudaStream_t stream);
  void release(void* p, std::size_t bytes, cudaStream_t stream) noexcept;
  // Scratch memory may still hold a part of a secret. It is cleared before it is used for anything
  // but scratch, before it goes back to the driver, and by clear_scratch().
  void* allocate_scratch(std::size_t bytes, cudaStream_t stream);
  void release_scratch(void* p, std::size_t bytes, cudaStream_t stream) noexcept;
  void clear_scratch(cudaStream_t stream);

  // Clears all kept blocks. Those that the pool gave back to the driver were cleared before, but
  // only with `keep`: without it, blocks that held no secrets go back as they are.
  void clear_unused(cudaStream_t stream);

  std::size_t idle_bytes() const;  // bytes that are held and not in use
  MemoryUse use() const;
  void reset_peak();
  void empty(cudaStream_t stream) noexcept;  // gives kept blocks back to the driver's pool
  // The same, and then gives idle memory of that pool to the device.
  void trim(cudaStream_t stream) noexcept;

 private:
  void* fresh(std::size_t bytes, cudaStream_t stream);
  void drop(void* p, cudaStream_t stream) noexcept;  // releases a block to the driver's pool
  void drop_cleared(void* p, std::size_t size, cudaStream_t stream) noexcept;
  void shrink(cudaStream_t stream) noexcept;
  std::size_t counted(cudaMemPoolAttr what) const;  // bytes that the driver counts

  int device_;
  bool keep_;
  cudaMemPool_t pool_ = nullptr;
  BlockCache clean_, scratch_;
  LiveBytes live_;
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
  int turn_ = 0;  // alternates buffers also between small transfers
};

}  // namespace latticino::cuda
