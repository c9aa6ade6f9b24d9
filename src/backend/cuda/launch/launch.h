// Launches kernels. Every kernel, capture and stream-ordered allocation of a CUDA backend goes
// through its Launcher. It owns the stream, the pool, and the facts about the device that decide
// the shapes of kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/branches.h"
#include "backend/cuda/launch/memory.h"
#include "backend/cuda/launch/properties.h"

namespace latticino::cuda {

constexpr std::size_t kReservedShared =
    // CUDA reserves so much shared memory for every block, in addition to what the block asks for
    1 << 10;

struct Shape {
  dim3 grid;
  dim3 block;
  // Dynamic shared memory; for more than 48 KB the kernel's limit is raised.
  std::size_t shared_bytes = 0;
  // Programmatic dependent launch: the kernel may start before the previous one has ended. Only for
  // kernels that follow device/overlap.cuh. If the grid is small, a block asks for so much shared
  // memory that each multiprocessor takes its even share of the blocks. Otherwise the first
  // multiprocessors that are free would take most of them.
  bool overlap = false;
  // The most shared memory of a multiprocessor that blocks take; the rest serves its first-level
  // cache. 0: the driver chooses. Before sm_90, where nothing is measured, the driver always
  // chooses.
  int shared_percent = 0;
  unsigned cluster = 1;  // blocks of a thread block cluster; more than one from sm_90 on
};

// The shape in the form that the CUDA runtime takes.
struct LaunchConfig {
  LaunchConfig(const Shape& shape, cudaStream_t stream);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[3]{};
};

// Device memory for the duration of one record. It is returned in stream order.
class Scratch;

class Launcher {
 public:
  // Throws DeviceError if the device does not answer, FileError for a tuning table of another
  // architecture. `options.features` must be set.
  explicit Launcher(const CudaOptions& options);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  cudaStream_t stream() const { return stream_; }
  const Properties& properties() const { return properties_; }
  Tuning& tuning() { return *tuning_; }
  const Features& features() const { return *features_; }
  // A name for this launcher, valid as long as a caller holds it.
  const std::shared_ptr<const int>& identity() const { return identity_; }
  // Makes the device current for the calling thread.
  void activate() const;

  template <class... Params, class... Args>
  void launch(void (*kernel)(Params...), const Shape& shape, Args&&... args) {
    if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return;
    const void* function = reinterpret_cast<const void*>(kernel);
    Shape sized = shape;
    sized.overlap = overlaps(shape);
    if (properties_.arch < 90) sized.shared_percent = 0;
    if (sized.overlap) sized.shared_bytes = even_shared(function, shape);
    raise_shared_limit(function, sized.shared_bytes);
    const LaunchConfig config(sized, stream_);
    note_launch(function);
    check_launch(cudaLaunchKernelEx(&config.config, kernel, std::forward<Args>(args)...), function);
    plain_ = forked_;
  }
  // Whether each multiprocessor should run one block after the other. Otherwise it gets an even
  // share of the blocks at once (Shape::overlap).
  bool many_waves(const Shape& shape) const { return blocks_per_sm(shape) > kEvenBlocks; }
  // The number of clusters (or blocks) of this shape that the device runs at the same time; 0 if it
  // cannot place one.
  std::uint32_t clusters_at_once(const void* kernel, const Shape& shape);

  // Memory of the pool. During a recording it is allocated outside of the capture, so the graph has
  // fixed addresses. The device must be the thread's own (activate()) for allocate() and clear().
  void* allocate(std::size_t bytes);
  void release(void* p, std::size_t bytes) noexcept;
  Scratch scratch(std::size_t bytes);
  // Writes zeros over a block, and over scratch memory: kernels may have left parts of it there.
  void clear(void* p, std::size_t bytes);
  void trim() noexcept { pool_.trim(memory_stream()); }
  void clear_unused() { pool_.clear_unused(stream_); }
  // Bytes in the pool that are not in use.
  std::size_t idle_bytes() const { return pool_.idle_bytes(); }
  Pool& pool() { return pool_; }

  // Waits for all submitted work. Errors and faults of earlier kernels are thrown here.
  void synchronize();
  // A word in host memory that kernels set if values do not fit (Embed), at its address on the
  // device.
  std::uint32_t* fault() const { return device_fault_; }
  // Throws ScaleError for a fault of work that has ended, and resets the fault.
  void raise_fault();

  bool recording() const { return recording_; }
  void begin_capture();
  bool capture_forked() const { return capture_forked_; }  // the current or the last recording
  // Scratch blocks that the capture uses move to `keep`: they must live as long as the graph.
  cudaGraph_t end_capture(std::vector<std::pair<void*, std::size_t>>& keep);
  void abandon_capture() noexcept;

  // Branches of a recording (backend/branches.h). Kernels of a branch, and the first kernel after
  // both, do not overlap the kernel that they wait for. They also ask for no more shared memory
  // than they need. Otherwise a launch may ask for its even share of each multiprocessor, and the
  // other branch would find no room there.
  void fork();
  void choose(Branches::Branch branch);
  void join();

 private:
  friend class Scratch;
  static constexpr std::size_t kEvenBlocks = 8;
  cudaStream_t memory_stream() const { return recording_ ? side_ : stream_; }
  bool overlaps(const Shape& shape) const {
    return shape.overlap && properties_.arch >= 90 && features_->overlap && !plain_;
  }
  void require_fork(const char* operation, bool forked) const;
  cudaError_t join_streams() noexcept;
  std::size_t blocks_per_sm(const Shape& shape) const;
  void raise_shared_limit(const void* function, std::size_t bytes);
  std::size_t static_shared(const void* function);
  std::size_t even_shared(const void* function, const Shape& shape);
  void note_launch(const void* function) const;
  void check_launch(cudaError_t status, const void* function) const;
  void return_scratch(void* p, std::size_t bytes) noexcept;

  std::shared_ptr<const int> identity_;
  Properties properties_;
  std::shared_ptr<Tuning> tuning_;
  std::shared_ptr<const Features> features_;
  cudaStream_t stream_ = nullptr;
  volatile std::uint32_t* fault_ = nullptr;
  std::uint32_t* device_fault_ = nullptr;
  cudaStream_t side_ = nullptr;  // never captured: for allocations during recordings
  Pool pool_;
  bool recording_ = false;
  // Kernels whose limit of shared memory is already raised.
  std::unordered_set<const void*> raised_;
  std::unordered_map<const void*, std::size_t> static_shared_;
  // Receives kernel names (CudaOptions::launched).
  std::shared_ptr<std::set<std::string>> launched_;
  // Scratch memory of the current recording: all blocks, and those that the next record may use.
  std::vector<std::pair<void*, std::size_t>> recorded_scratch_, idle_scratch_;
  // The branch that is not chosen: its stream, and scratch that only it may use until the join. The
  // stream and the event are made at the first fork.
  struct Other {
    cudaStream_t stream = nullptr;
    std::vector<std::pair<void*, std::size_t>> idle_scratch;
  } other_;
  cudaEvent_t reached_ = nullptr;
  Branches::Branch branch_ = Branches::Branch::First;
  bool forked_ = false, plain_ = false, capture_forked_ = false;
  // By kernel, blocks of a cluster, threads and shared bytes of a block.
  std::map<std::tuple<const void*, unsigned, unsigned, std::size_t>, std::uint32_t> at_once_;
};

class Scratch {
 public:
  Scratch(Launcher& launcher, void* data, std::size_t bytes)
      : launcher_(&launcher), data_(data), bytes_(bytes) {}
  Scratch(Scratch&& other) noexcept
      : launcher_(other.launcher_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(other.bytes_) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    if (data_ != nullptr) launcher_->return_scratch(data_, bytes_);
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  Launcher* launcher_;
  void* data_;
  std::size_t bytes_;
};

}  // namespace latticino::cuda
