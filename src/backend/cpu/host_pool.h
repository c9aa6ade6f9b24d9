#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace latticino::cpu {

// Aligned host memory, huge pages where the system gives them. Throws OutOfMemoryError.
class HostBuffer {
 public:
  static constexpr std::size_t kAlignment = 256;
  HostBuffer() = default;
  explicit HostBuffer(std::size_t bytes);
  ~HostBuffer();
  HostBuffer(HostBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

std::size_t physical_memory();   // bytes of the machine, or of the container if that is less
std::size_t available_memory();  // of these, bytes that are not in use now

// Keeps released blocks for the next request of the same size class: fresh pages cost more than
// most operations on them. Not thread-safe (Queue serialises).
class HostPool {
 public:
  void* allocate(std::size_t bytes);
  void release(void* p, std::size_t bytes) noexcept;
  // Frees released blocks until at most `keep` bytes of them are left.
  void trim(std::size_t keep) noexcept;
  void clear_unused() noexcept;  // sets released blocks to zero

  std::size_t held_bytes() const { return live_bytes_ + free_bytes_; }
  // The most bytes handed out at once since the last reset.
  std::size_t peak_bytes() const { return reported_peak_; }
  void reset_peak() { reported_peak_ = live_bytes_; }

 private:
  static std::size_t size_class(std::size_t bytes);

  std::map<void*, HostBuffer> live_;
  std::multimap<std::size_t, HostBuffer> free_;  // released blocks by size class
  std::size_t live_bytes_ = 0, free_bytes_ = 0, peak_live_bytes_ = 0, reported_peak_ = 0;
};

}  // namespace latticino::cpu
