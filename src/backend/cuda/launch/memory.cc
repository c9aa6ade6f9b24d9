#include "backend/cuda/launch/memory.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "crypto/secure_memory.h"
#include "math/errors.h"

namespace latticino::cuda {
namespace {

// After these errors, the CUDA context of the process answers every call with the same error.
bool sticky(cudaError_t e) {
  switch (e) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
      return true;
    default:
      return false;
  }
}

std::string free_memory() {
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return "an unknown amount free";
  return std::to_string(free >> 20) + " of " + std::to_string(total >> 20) + " MiB free";
}

}  // namespace

void check(cudaError_t status, const char* operation) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // resets a non-sticky error, so that the next call does not report it
  const std::string had =
      std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ")";
  if (status == cudaErrorMemoryAllocation) {
    throw OutOfMemoryError(operation, had + ", " + free_memory(), "more device memory",
                           "release ciphertexts or keys, or use a smaller batch");
  }
  throw DeviceError(operation, had, "a CUDA call that succeeds",
                    sticky(status) ? "the CUDA context of this process is lost: restart the process"
                                   : "check the device and its driver");
}

Pool::Pool(int device, bool keep) : device_(device), keep_(keep) {
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = device;
  check(cudaMemPoolCreate(&pool_, &props), "cuda.pool");
  std::uint64_t keep_all = UINT64_MAX;
  const cudaError_t status =
      cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all);
  if (status != cudaSuccess) {
    cudaMemPoolDestroy(pool_);
    check(status, "cuda.pool");
  }
}

Pool::~Pool() { cudaMemPoolDestroy(pool_); }

void* Pool::allocate(std::size_t bytes, cudaStream_t stream) {
  const std::size_t size = BlockCache::size_of(bytes);
  void* p = clean_.take(size);
  if (p == nullptr) {
    p = scratch_.take(size);
    if (p != nullptr) {
      const cudaError_t status = cudaMemsetAsync(p, 0, size, stream);
      if (status != cudaSuccess) scratch_.give(p, size);
      check(status, "cuda.allocate");
    }
  }
  if (p == nullptr) p = fresh(bytes, stream);
  live_.add(size);
  return p;
}

void Pool::release(void* p, std::size_t bytes, cudaStream_t stream) noexcept {
  const std::size_t size = BlockCache::size_of(bytes);
  live_.remove(size);
  if (!keep_) return drop(p, stream);
  clean_.give(p, size);
}

void* Pool::allocate_scratch(std::size_t bytes, cudaStream_t stream) {
  const std::size_t size = BlockCache::size_of(bytes);
  void* p = scratch_.take(size);
  if (p == nullptr) return allocate(bytes, stream);
  live_.add(size);
  return p;
}

void Pool::release_scratch(void* p, std::size_t bytes, cudaStream_t stream) noexcept {
  const std::size_t size = BlockCache::size_of(bytes);
  live_.remove(size);
  if (!keep_) return drop_cleared(p, size, stream);
  scratch_.give(p, size);
}

void Pool::clear_scratch(cudaStream_t stream) {
  cudaError_t status = cudaSuccess;
  scratch_.shrink(0, [&](void* p, std::size_t size) {
    const cudaError_t now = cudaMemsetAsync(p, 0, size, stream);
    if (status == cudaSuccess) status = now;
    clean_.give(p, size);
  });
  check(status, "cuda.clear");
}

void Pool::clear_unused(cudaStream_t stream) {
  clear_scratch(stream);
  cudaError_t status = cudaSuccess;
  clean_.for_each([&](void* p, std::size_t size) {
    const cudaError_t now = cudaMemsetAsync(p, 0, size, stream);
    if (status == cudaSuccess) status = now;
  });
  check(status, "cuda.clear");
}

// Takes a block from the driver. Kept blocks beyond the limit go back to it first. If memory is
// still not enough, all of them go back.
void* Pool::fresh(std::size_t bytes, cudaStream_t stream) {
  shrink(stream);
  const std::size_t size = BlockCache::size_of(bytes);
  void* p = nullptr;
  cudaError_t status = cudaMallocFromPoolAsync(&p, size, pool_, stream);
  if (status == cudaErrorMemoryAllocation) {
    // The memory may be fragmented: freed, but not yet joined. It is returned to the driver, and
    // then the allocation is tried once more.
    cudaGetLastError();
    empty(stream);
    check(cudaStreamSynchronize(stream), "cuda.allocate");
    trim(stream);
    status = cudaMallocFromPoolAsync(&p, size, pool_, stream);
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemoryError("cuda.allocate", "a request for " + std::to_string(bytes) + " bytes",
                           free_memory() + " to suffice",
                           "release ciphertexts or keys, or use a smaller batch");
  }
  check(status, "cuda.allocate");
  return p;
}

// These calls fail only if the device no longer works.
void Pool::drop(void* p, cudaStream_t stream) noexcept {
  if (cudaSetDevice(device_) != cudaSuccess || cudaFreeAsync(p, stream) != cudaSuccess) {
    cudaGetLastError();
  }
}

void Pool::drop_cleared(void* p, std::size_t size, cudaStream_t stream) noexcept {
  if (cudaSetDevice(device_) != cudaSuccess || cudaMemsetAsync(p, 0, size, stream) != cudaSuccess) {
    cudaGetLastError();
  }
  drop(p, stream);
}

void Pool::shrink(cudaStream_t stream) noexcept {
  const std::size_t keep = live_.may_keep();
  clean_.shrink(keep - std::min(keep, scratch_.bytes()),
                [&](void* p, std::size_t size) { drop_cleared(p, size, stream); });
  scratch_.shrink(keep, [&](void* p, std::size_t size) { drop_cleared(p, size, stream); });
}

std::size_t Pool::counted(cudaMemPoolAttr what) const {
  std::uint64_t bytes = 0;
  check(cudaMemPoolGetAttribute(pool_, what, &bytes), "cuda.pool");
  return bytes;
}

// The driver counts kept blocks as used.
std::size_t Pool::idle_bytes() const {
  return counted(cudaMemPoolAttrReservedMemCurrent) - counted(cudaMemPoolAttrUsedMemCurrent) +
         clean_.bytes() + scratch_.bytes();
}

MemoryUse Pool::use() const {
  const std::size_t peak = keep_ ? live_.peak() : counted(cudaMemPoolAttrUsedMemHigh);
  return {peak, counted(cudaMemPoolAttrReservedMemCurrent)};
}

void Pool::reset_peak() {
  live_.reset_peak();
  std::uint64_t zero = 0;  // the driver starts again from what is in use
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &zero), "cuda.pool");
}

void Pool::empty(cudaStream_t stream) noexcept {
  clean_.shrink(0, [&](void* p, std::size_t size) { drop_cleared(p, size, stream); });
  scratch_.shrink(0, [&](void* p, std::size_t size) { drop_cleared(p, size, stream); });
}

void Pool::trim(cudaStream_t stream) noexcept {
  empty(stream);
  // A block that empty() released returns to the device only after the stream's earlier work.
  if (keep_ && cudaStreamSynchronize(stream) != cudaSuccess) cudaGetLastError();
  if (cudaMemPoolTrimTo(pool_, 0) != cudaSuccess) cudaGetLastError();
}

DeviceBlock::DeviceBlock(int device, std::size_t bytes) : device_(device), bytes_(bytes) {
  check(cudaSetDevice(device), "cuda.table");
  check(cudaMalloc(&data_, std::max<std::size_t>(bytes, 256)), "cuda.table");
}

DeviceBlock::DeviceBlock(DeviceBlock&& other) noexcept
    : device_(other.device_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBlock& DeviceBlock::operator=(DeviceBlock&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBlock::~DeviceBlock() {
  if (data_ == nullptr) return;
  int current = 0;
  const bool known = cudaGetDevice(&current) == cudaSuccess;
  // This fails only if the CUDA context of the process is being destroyed, and the memory with it.
  if (cudaSetDevice(device_) != cudaSuccess || cudaFree(data_) != cudaSuccess) cudaGetLastError();
  if (known) cudaSetDevice(current);
}

Staging::Staging() {
  for (Slot& s : slot_) {
    check(cudaMallocHost(reinterpret_cast<void**>(&s.host), kBytes), "cuda.staging");
    check(cudaEventCreateWithFlags(&s.done, cudaEventDisableTiming), "cuda.staging");
  }
}

Staging::Slot::~Slot() {
  if (done != nullptr) {
    cudaEventSynchronize(done);
    cudaEventDestroy(done);
  }
  if (host == nullptr) return;
  crypto::secure_clear(host, used);
  cudaFreeHost(host);
}

void Staging::Slot::wipe() {
  if (used == 0) return;
  check(cudaEventSynchronize(done), "cuda.clear");
  crypto::secure_clear(host, used);
  used = 0;
}

void Staging::wipe() {
  for (Slot& s : slot_) s.wipe();
}

void Staging::copy_in(void* device, const void* host, std::size_t bytes, cudaStream_t stream) {
  auto* to = static_cast<std::uint8_t*>(device);
  const auto* from = static_cast<const std::uint8_t*>(host);
  for (std::size_t at = 0; at < bytes; at += kBytes, turn_ ^= 1) {
    Slot& s = slot_[turn_];
    const std::size_t n = std::min(kBytes, bytes - at);
    check(cudaEventSynchronize(s.done), "cuda.copy_in");
    s.used = std::max(s.used, n);
    std::memcpy(s.host, from + at, n);
    check(cudaMemcpyAsync(to + at, s.host, n, cudaMemcpyHostToDevice, stream), "cuda.copy_in");
    check(cudaEventRecord(s.done, stream), "cuda.copy_in");
  }
}

void Staging::copy_out(void* host, const void* device, std::size_t bytes, cudaStream_t stream) {
  auto* to = static_cast<std::uint8_t*>(host);
  const auto* from = static_cast<const std::uint8_t*>(device);
  const std::size_t chunks = (bytes + kBytes - 1) / kBytes;
  const auto size = [&](std::size_t c) { return std::min(kBytes, bytes - c * kBytes); };
  // While chunk c is copied, chunk c - 1 is handed to the caller.
  for (std::size_t c = 0; c <= chunks; ++c) {
    if (c < chunks) {
      Slot& s = slot_[c % 2];
      check(cudaEventSynchronize(s.done), "cuda.copy_out");
      s.used = std::max(s.used, size(c));
      check(cudaMemcpyAsync(s.host, from + c * kBytes, size(c), cudaMemcpyDeviceToHost, stream),
            "cuda.copy_out");
      check(cudaEventRecord(s.done, stream), "cuda.copy_out");
    }
    if (c > 0) {
      Slot& s = slot_[(c - 1) % 2];
      check(cudaEventSynchronize(s.done), "cuda.copy_out");
      std::memcpy(to + (c - 1) * kBytes, s.host, size(c - 1));
    }
  }
}

}  // namespace latticino::cuda
