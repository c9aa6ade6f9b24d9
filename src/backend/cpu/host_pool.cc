#include "backend/cpu/host_pool.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "math/errors.h"

namespace latticino::cpu {
namespace {

#if defined(__EMSCRIPTEN__)
constexpr std::size_t kHugePage = ~std::size_t{0};  // not available here
#else
constexpr std::size_t kHugePage = std::size_t{1} << 21;
#endif

[[noreturn]] void out_of_memory(std::size_t bytes) {
  throw OutOfMemoryError("allocate", std::to_string(available_memory() >> 20) + " MiB available",
                         std::to_string((bytes >> 20) + 1) + " MiB in one block",
                         "use smaller parameters, fewer keys or a machine with more memory");
}

}  // namespace

#if defined(__EMSCRIPTEN__)

// How far the memory of the module may grow, and how much of that is free.
std::size_t physical_memory() { return LATTICINO_WASM_MEMORY; }
std::size_t available_memory() {
  return physical_memory() - static_cast<std::size_t>(mallinfo().uordblks);
}

#else

namespace {

// A limit of this container (cgroup version 2 or 1), or no limit.
std::size_t container_limit() {
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    std::size_t limit = 0;
    if (file >> limit && limit > 0) return limit;
  }
  return ~std::size_t{0};
}

}  // namespace

std::size_t physical_memory() {
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  return std::min(pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), container_limit());
}

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string key, rest; file >> key && std::getline(file, rest);) {
    if (key == "MemAvailable:") {
      const std::size_t bytes = 1024 * std::strtoull(rest.c_str(), nullptr, 10);
      return std::min(bytes, physical_memory());
    }
  }
  return physical_memory();
}

#endif

HostBuffer::HostBuffer(std::size_t bytes) {
  if (bytes == 0) return;
  if (bytes > physical_memory()) out_of_memory(bytes);
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  data_ = std::aligned_alloc(alignment, rounded);
  if (data_ == nullptr) out_of_memory(bytes);
  bytes_ = rounded;
  // This is only advice: if the system refuses, small pages are used.
  if (alignment == kHugePage) (void)madvise(data_, rounded, MADV_HUGEPAGE);
}

HostBuffer::~HostBuffer() { std::free(data_); }

// Classes are exact for polynomials of up to 63 limbs; at most 1/32 of a block is waste.
std::size_t HostPool::size_class(std::size_t bytes) {
  const std::size_t floor = std::max<std::size_t>(std::bit_floor(bytes), HostBuffer::kAlignment);
  const std::size_t step = std::max<std::size_t>(floor / 32, HostBuffer::kAlignment);
  return (bytes + step - 1) / step * step;
}

void* HostPool::allocate(std::size_t bytes) {
  // The sums may wrap around.
  if (bytes > std::numeric_limits<std::size_t>::max() / 4) out_of_memory(bytes);
  const std::size_t size = size_class(std::max<std::size_t>(bytes, 1));
  HostBuffer buffer;
  if (auto found = free_.find(size); found != free_.end()) {
    buffer = std::move(found->second);
    free_.erase(found);
    free_bytes_ -= size;
  } else {
    const std::size_t most = physical_memory();
    if (size > most || live_bytes_ > most - size) out_of_memory(bytes);
    try {
      buffer = HostBuffer(size);
    } catch (const OutOfMemoryError&) {
      trim(0);
      buffer = HostBuffer(size);
    }
  }
  void* data = buffer.data();
  live_.emplace(data, std::move(buffer));
  live_bytes_ += size;
  peak_live_bytes_ = std::max(peak_live_bytes_, live_bytes_);
  reported_peak_ = std::max(reported_peak_, live_bytes_);
  // Limits kept memory, so that kept and used memory together stay near the largest use so far.
  trim(peak_live_bytes_ - live_bytes_ + peak_live_bytes_ / 16);
  return data;
}

void HostPool::release(void* p, std::size_t bytes) noexcept {
  const auto found = live_.find(p);
  if (found == live_.end()) return;
  const std::size_t size = size_class(std::max<std::size_t>(bytes, 1));
  free_.emplace(size, std::move(found->second));
  live_.erase(found);
  live_bytes_ -= size;
  free_bytes_ += size;
}

void HostPool::clear_unused() noexcept {
  for (const auto& [size, buffer] : free_) std::memset(buffer.data(), 0, size);
}

void HostPool::trim(std::size_t keep) noexcept {
  while (free_bytes_ > keep && !free_.empty()) {
    const auto largest = std::prev(free_.end());
    free_bytes_ -= largest->first;
    free_.erase(largest);
  }
}

}  // namespace latticino::cpu
