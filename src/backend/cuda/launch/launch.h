// The one launch point: every kernel, capture and stream-ordered allocation of a CUDA backend goes
// through its Launcher, which owns the stream, the pool and the device facts kernels are shaped by.
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
#include "backend/cuda/launch/memory.h"

namespace latticino::cuda {

struct Properties {
  int device = 0;
  std::string name;
  int arch = 0;                      // 10 * major + minor: 90 on an H200
  int sms = 0;                       // streaming multiprocessors
  std::size_t shared_per_block = 0;  // most dynamic shared memory a block may ask for
  std::size_t shared_per_sm = 0;
  std::size_t total_bytes = 0;
};

constexpr std::size_t kReservedShared = 1 << 10;  // of every block, beside what it asks for

struct Shape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;  // dynamic; over 48 KB the kernel's limit is raised
  // Programmatic dependent launch: may start before the previous kernel has ended. Only for kernels
  // that follow device/overlap.cuh. A small grid asks for so much shared memory that each
  // multiprocessor takes its share of the blocks: the first to be free would take most of them.
  bool overlap = false;
  // What blocks take at most of the shared memory of a multiprocessor, so that the rest serves its
  // first-level cache; 0: as the driver chooses. Left to it before sm_90, where nothing is
  // measured.
  int shared_percent = 0;
  unsigned cluster = 1;  // blocks of a thread block cluster; more than one from sm_90 on
};

// A shape as the runtime takes it.
struct LaunchConfig {
  LaunchConfig(const Shape& shape, cudaStream_t stream);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[3]{};
};

// Device memory for the duration of one record; given back in stream order.
class Scratch;

class Launcher {
 public:
  // Throws DeviceError if the device does not answer, FileError for a tuning table of another
  // architecture. `options.features` are given.
  explicit Launcher(const CudaOptions& options);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  cudaStream_t stream() const { return stream_; }
  const Properties& properties() const { return properties_; }
  Tuning& tuning() { return *tuning_; }
  const Features& features() const { return *features_; }
  // Names this launcher for as long as somebody holds it.
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
  }
  // Whether a multiprocessor takes one block after the other; otherwise all get an even share of
  // them at once (Shape::overlap).
  bool many_waves(const Shape& shape) const { return blocks_per_sm(shape) > kEvenBlocks; }
  // Clusters (or blocks) of this shape that the device runs side by side; 0: it can place none.
  std::uint32_t clusters_at_once(const void* kernel, const Shape& shape);

  // Memory of the stream-ordered pool. While recording it is taken beside the capture, so the
  // graph sees plain addresses.
  void* allocate(std::size_t bytes);
  void release(void* p, std::size_t bytes) noexcept;
  Scratch scratch(std::size_t bytes);
  std::size_t idle_bytes() const { return pool_.idle_bytes(); }  // in the pool, not in use
  Pool& pool() { return pool_; }

  // Waits for everything submitted; errors of earlier kernels, and faults, surface here.
  void synchronize();
  // A word that kernels set when values do not fit (Embed); host memory, as the device sees it.
  std::uint32_t* fault() const { return device_fault_; }
  // Throws ScaleError for a fault of work that has ended, and forgets it.
  void raise_fault();

  bool recording() const { return recording_; }
  void begin_capture();
  // Scratch blocks used inside the capture move to `keep`: they must live as long as the graph.
  cudaGraph_t end_capture(std::vector<std::pair<void*, std::size_t>>& keep);
  void abandon_capture() noexcept;

 private:
  friend class Scratch;
  static constexpr std::size_t kEvenBlocks = 8;
  bool overlaps(const Shape& shape) const {
    return shape.overlap && properties_.arch >= 90 && features_->overlap;
  }
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
  cudaStream_t side_ = nullptr;  // never captured: allocation while recording
  Pool pool_;
  bool recording_ = false;
  std::unordered_set<const void*> raised_;  // kernels whose limit of shared memory is the device's
  std::unordered_map<const void*, std::size_t> static_shared_;
  std::shared_ptr<std::set<std::string>> launched_;  // CudaOptions::launched
  // Scratch of the current recording: all blocks, and those free for the next record.
  std::vector<std::pair<void*, std::size_t>> recorded_scratch_, idle_scratch_;
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
