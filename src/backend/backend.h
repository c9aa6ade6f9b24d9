// The whole interface between the library and a device: a backend implements it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/features.h"
#include "backend/tuning.h"
#include "ops/operations.h"

namespace latticino {

struct DeviceInfo {
  std::string backend;  // "cpu" or "cuda"
  std::string name;     // name of the processor or GPU
  std::size_t total_bytes = 0, free_bytes = 0;
  int arch = 0;  // GPUs only, for example 90 for sm_90
};

// Memory that a backend took for blocks, programs and scratch. Tables of constants are not counted.
struct MemoryUse {
  std::size_t peak = 0;  // the most in use at once since reset_memory_peak()
  std::size_t held = 0;  // taken from the device, whether in use or kept for reuse
};

// An ordered stream of work with the memory and graphs that belong to it. One Backend instance owns
// one stream; several may live side by side on one device. Not thread-safe: Queue serialises.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceInfo info() const = 0;

  // Raw device memory, 256-byte aligned, uninitialised. Throws OutOfMemoryError. Stream-ordered:
  // memory released after work was submitted may be handed out again to later work.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* p, std::size_t bytes) noexcept = 0;
  // Sets every byte of the block to `value`, in stream order. May be recorded.
  virtual void fill(void* p, std::size_t bytes, std::uint8_t value) = 0;
  virtual MemoryUse memory() const = 0;
  virtual void reset_memory_peak() = 0;
  virtual void trim() noexcept = 0;  // returns blocks that are kept for reuse to the device
  // Sets memory that is kept for reuse to zero, in stream order: whoever is given it next finds
  // nothing of what was there before. Not while recording.
  virtual void clear_unused() = 0;
  // Clears, in stream order, a block that held secrets, and what operations on it may have left in
  // scratch memory that is not cleared by itself. Not while recording.
  virtual void clear(void* p, std::size_t bytes) = 0;

  // Copies bytes between host and device. Returns when the host memory may be reused.
  virtual void copy_in(void* device, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, const void* device, std::size_t bytes) = 0;
  // Copies the limbs of a view, one limb after the other in basis order, each in the logical order
  // of poly/domain.h.
  virtual void upload(const PolyView& to, const std::uint32_t* host) = 0;
  virtual void download(std::uint32_t* host, const PolyView& from) = 0;

  // Runs a record that has been checked. If a value does not fit (Embed), the backend throws a
  // ScaleError. A CPU throws it here, or when a replay is launched. A GPU throws it at the next
  // synchronize, copy_out or download, for all earlier work.
  virtual void run(const Operation& op) = 0;
  virtual void synchronize() = 0;

  // Recording: operations that are run between begin and end are captured and not executed. The
  // result can be replayed on this backend's stream. Every table an operation needs must exist
  // already.
  class Replay {
   public:
    virtual ~Replay() = default;
    virtual void launch() = 0;
  };
  virtual void begin_record() = 0;
  virtual std::unique_ptr<Replay> end_record() = 0;
  virtual void abandon_record() noexcept = 0;
};

struct CpuOptions {
  bool simd = true;  // false: the plain reference kernels
  int threads = 0;   // 0: all cores
};
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options = {});

struct CudaOptions {
  int device = 0;
  // The file with a table of `latticino tune`, by which kernel variants are chosen (tuning.h). If
  // empty, the shipped table of the device's architecture is used. FileError if it cannot be read
  // or belongs to another architecture.
  std::string tuning_file;
  std::shared_ptr<Tuning> tuning;  // a tuner's own table, instead of a file
  // Features that are left out, for measurements (scratch is not cleared then). If empty, nothing
  // is left out. Except for `tuning`, which is read once, they may change between records and
  // between recordings.
  std::shared_ptr<const Features> features;
  // For tests: receives the mangled names of kernels that ran.
  std::shared_ptr<std::set<std::string>> launched;
  // The most bytes of shared memory that a block may have, to measure what a device with less of it
  // runs: sm_86, sm_89 and sm_120 have 101376 (99 KB). 0: the device's own limit.
  std::size_t shared_limit = 0;
  // Chooses kernels and launches as this architecture would, to measure what an older device runs.
  // For example 89 is sm_89. Below 90 no launch overlaps the one before it, and there are no
  // clusters of blocks. The table of kernel variants is that of this architecture. The compiled
  // code is still the device's own. 0: the device's architecture.
  int arch = 0;
  // Released blocks are kept for the next request of their size, because the driver takes
  // microseconds for a block. false: each goes back to the driver's pool at once, and scratch is
  // cleared after each use.
  bool keep_blocks = true;
};
// Throws DeviceError if the library was built without CUDA or no device answers.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options = {});
bool cuda_built();
int cuda_device_count() noexcept;  // 0 if the build has no CUDA, or the machine no driver or device
// Whether the device computes FP64 at half the rate of FP32 (sm_80, sm_90, sm_100) rather than at
// 1/64 of it (sm_89, sm_120). False if the device does not answer.
bool cuda_has_fast_doubles(int device) noexcept;

}  // namespace latticino
