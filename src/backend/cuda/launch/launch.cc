#include "backend/cuda/launch/launch.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

#include "math/errors.h"

namespace latticino::cuda {
namespace {

Properties read_properties(const CudaOptions& options) {
  cudaDeviceProp p{};
  check(cudaSetDevice(options.device), "cuda.device");
  check(cudaGetDeviceProperties(&p, options.device), "cuda.device");
  Properties out;
  out.device = options.device;
  out.name = p.name;
  out.arch = 10 * p.major + p.minor;
  out.sms = p.multiProcessorCount;
  out.shared_per_block = out.shared_of_device = p.sharedMemPerBlockOptin;
  out.shared_per_sm = p.sharedMemPerMultiprocessor;
  out.total_bytes = p.totalGlobalMem;
  return given_less(std::move(out), options.shared_limit, options.arch);
}

std::shared_ptr<Tuning> tuning_of(const CudaOptions& options, int arch) {
  auto tuning = options.tuning;
  if (tuning == nullptr) {
    const bool given = !options.tuning_file.empty();
    tuning =
        std::make_shared<Tuning>(given ? Tuning::load(options.tuning_file) : Tuning::shipped(arch));
  }
  if (tuning->arch() != 0 && tuning->arch() != arch) {
    throw FileError("cuda.tuning", "a table of architecture " + std::to_string(tuning->arch()),
                    "one of " + std::to_string(arch), "run latticino tune on this device");
  }
  return tuning;
}

std::string mangled_name(const void* function) {
  const char* mangled = nullptr;
  if (cudaFuncGetName(&mangled, function) == cudaSuccess && mangled != nullptr) return mangled;
  cudaGetLastError();
  return "unknown kernel";
}

std::string kernel_name(const void* function) {
  const std::string mangled = mangled_name(function);
  int status = 0;
  char* plain = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = plain != nullptr ? plain : mangled;
  std::free(plain);
  return name;
}

}  // namespace

LaunchConfig::LaunchConfig(const Shape& shape, cudaStream_t stream) {
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  if (shape.overlap) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.shared_percent > 0) {
    cudaLaunchAttribute& carveout = attributes[config.numAttrs++];
    carveout.id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    carveout.val.sharedMemCarveout = static_cast<unsigned>(shape.shared_percent);
  }
  if (shape.cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = shape.cluster;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  }
}

Launcher::Launcher(const CudaOptions& options)
    : identity_(std::make_shared<const int>(options.device)),
      properties_(read_properties(options)),
      tuning_(tuning_of(options, properties_.arch)),
      features_(options.features),
      pool_(options.device, options.keep_blocks),
      launched_(options.launched) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cuda.stream");
  const cudaError_t status = cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking);
  if (status != cudaSuccess) {
    cudaStreamDestroy(stream_);
    check(status, "cuda.stream");
  }
  void* word = nullptr;
  check(cudaHostAlloc(&word, sizeof(std::uint32_t), cudaHostAllocMapped), "cuda.fault");
  fault_ = static_cast<std::uint32_t*>(word);
  *fault_ = 0;
  check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_fault_), word, 0), "cuda.fault");
}

Launcher::~Launcher() {
  if (cudaSetDevice(properties_.device) != cudaSuccess) return;
  if (recording_) abandon_capture();
  pool_.empty(stream_);
  cudaStreamSynchronize(stream_);
  cudaStreamSynchronize(side_);
  cudaStreamDestroy(side_);
  cudaStreamDestroy(stream_);
  if (other_.stream != nullptr) cudaStreamDestroy(other_.stream);
  if (reached_ != nullptr) cudaEventDestroy(reached_);
  cudaFreeHost(const_cast<std::uint32_t*>(fault_));
}

void Launcher::activate() const { check(cudaSetDevice(properties_.device), "cuda.device"); }

// The limit of a kernel counts for the whole process, and not for this launcher only. Every
// launcher sets the same value, the most that the device allows, so none lowers it for another one.
void Launcher::raise_shared_limit(const void* function, std::size_t bytes) {
  if (bytes == 0 || raised_.contains(function)) return;
  const std::size_t fixed = static_shared(function);
  if (fixed + bytes <= kDefaultShared) return;
  const std::size_t most = properties_.shared_of_device - fixed;
  check_launch(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(most)),
               function);
  raised_.insert(function);
}

std::size_t Launcher::static_shared(const void* function) {
  const auto known = static_shared_.find(function);
  if (known != static_shared_.end()) return known->second;
  cudaFuncAttributes attributes{};
  check_launch(cudaFuncGetAttributes(&attributes, function), function);
  return static_shared_[function] = attributes.sharedSizeBytes;
}

// Rounded up.
std::size_t Launcher::blocks_per_sm(const Shape& shape) const {
  const std::size_t blocks = std::size_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  const auto sms = static_cast<std::size_t>(properties_.sms);
  return (blocks + sms - 1) / sms;
}

// The dynamic shared memory to ask for so that a multiprocessor holds its even share of the grid
// and no more. If the kernel itself asks for more, or if the grid has many waves, it is what the
// kernel asks for.
std::size_t Launcher::even_shared(const void* function, const Shape& shape) {
  constexpr std::size_t kGranularity = 256;
  if (many_waves(shape)) return shape.shared_bytes;
  const std::size_t taken = static_shared(function) + kReservedShared;
  const std::size_t room = std::min(properties_.shared_per_sm / blocks_per_sm(shape),
                                    properties_.shared_per_block + kReservedShared);
  if (room <= taken) return shape.shared_bytes;
  return std::max(shape.shared_bytes, (room - taken) / kGranularity * kGranularity);
}

std::uint32_t Launcher::clusters_at_once(const void* kernel, const Shape& shape) {
  if (shape.cluster > 1 && properties_.arch < 90) return 0;
  const auto key = std::make_tuple(kernel, shape.cluster, shape.block.x, shape.shared_bytes);
  const auto known = at_once_.find(key);
  if (known != at_once_.end()) return known->second;
  raise_shared_limit(kernel, shape.shared_bytes);
  int count = 0;
  cudaError_t status = cudaSuccess;
  if (shape.cluster > 1) {
    constexpr unsigned kPortable = 8;  // more blocks must be allowed before any launch
    if (shape.cluster > kPortable) {
      status = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    }
    Shape launched = shape;
    launched.overlap = overlaps(shape);
    const LaunchConfig config(launched, stream_);
    if (status == cudaSuccess) {
      status = cudaOccupancyMaxActiveClusters(&count, kernel, &config.config);
    }
  } else {
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &count, kernel, static_cast<int>(shape.block.x), shape.shared_bytes);
    count *= properties_.sms;
  }
  if (status != cudaSuccess) {  // the device cannot place such a cluster
    cudaGetLastError();
    count = 0;
  }
  return at_once_[key] = static_cast<std::uint32_t>(count);
}

void Launcher::note_launch(const void* function) const {
  if (launched_ != nullptr) launched_->insert(mangled_name(function));
}

void Launcher::check_launch(cudaError_t status, const void* function) const {
  if (status == cudaSuccess) return;
  check(status, ("cuda kernel " + kernel_name(function)).c_str());
}

void* Launcher::allocate(std::size_t bytes) {
  if (!recording_) return pool_.allocate(bytes, stream_);
  void* p = pool_.allocate(bytes, side_);
  check(cudaStreamSynchronize(side_), "cuda.allocate");
  return p;
}

void Launcher::release(void* p, std::size_t bytes) noexcept {
  if (p != nullptr) pool_.release(p, bytes, memory_stream());
}

Scratch Launcher::scratch(std::size_t bytes) {
  if (!recording_) return {*this, pool_.allocate_scratch(bytes, stream_), bytes};
  const auto fits = [&](const auto& block) { return block.second >= bytes; };
  const auto it = std::find_if(idle_scratch_.begin(), idle_scratch_.end(), fits);
  if (it != idle_scratch_.end()) {
    const auto block = *it;
    idle_scratch_.erase(it);
    return {*this, block.first, block.second};
  }
  void* p = allocate(bytes);
  recorded_scratch_.emplace_back(p, bytes);
  return {*this, p, bytes};
}

void Launcher::return_scratch(void* p, std::size_t bytes) noexcept {
  if (recording_) {
    idle_scratch_.emplace_back(p, bytes);
  } else {
    pool_.release_scratch(p, bytes, stream_);
  }
}

void Launcher::clear(void* p, std::size_t bytes) {
  check(cudaMemsetAsync(p, 0, bytes, stream_), "cuda.clear");
  if (!recording_) pool_.clear_scratch(stream_);
}

void Launcher::synchronize() {
  check(cudaStreamSynchronize(stream_), "cuda.synchronize");
  raise_fault();
}

void Launcher::raise_fault() {
  if (*fault_ == 0) return;
  *fault_ = 0;
  throw ScaleError("Embed", "values that are not finite, or a coefficient not below its bound",
                   "coefficients that fit, in everything encoded since the last wait",
                   "scale the values down or encode at a smaller scale or a higher level");
}

void Launcher::begin_capture() {
  // Work on released memory must end before the capture: allocations while recording use another
  // stream, which must not wait for a captured one. Blocks that the pool keeps are idle then too.
  synchronize();
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "cuda.begin_record");
  recording_ = true;
  capture_forked_ = false;
}

cudaGraph_t Launcher::end_capture(std::vector<std::pair<void*, std::size_t>>& keep) {
  if (forked_) {
    abandon_capture();
    throw UnsupportedError("cuda.end_record", "a fork that is not joined",
                           "a recording in one branch", "join the branches first");
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t status = cudaStreamEndCapture(stream_, &graph);
  recording_ = false;
  idle_scratch_.clear();
  keep = std::exchange(recorded_scratch_, {});
  if (status != cudaSuccess) {
    for (const auto& block : std::exchange(keep, {})) release(block.first, block.second);
    check(status, "cuda.end_record");
  }
  return graph;
}

void Launcher::abandon_capture() noexcept {
  if (!recording_) return;
  if (forked_ && join_streams() != cudaSuccess) cudaGetLastError();
  plain_ = false;
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream_, &graph) != cudaSuccess) cudaGetLastError();
  if (graph != nullptr) cudaGraphDestroy(graph);
  recording_ = false;
  idle_scratch_.clear();
  for (const auto& block : std::exchange(recorded_scratch_, {})) release(block.first, block.second);
}

void Launcher::require_fork(const char* operation, bool forked) const {
  if (recording_ && forked_ == forked) return;
  throw UnsupportedError(operation,
                         !recording_ ? "no recording"
                         : forked_   ? "a fork that is not joined"
                                     : "a recording that has not forked",
                         forked ? "branches of a recording" : "a recording in one branch",
                         forked ? "fork the recording first" : "join the branches first");
}

void Launcher::fork() {
  require_fork("cuda.fork", false);
  if (other_.stream == nullptr) {
    int least = 0, most = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &most), "cuda.fork");
    check(cudaStreamCreateWithPriority(&other_.stream, cudaStreamNonBlocking, most), "cuda.fork");
  }
  if (reached_ == nullptr) {
    check(cudaEventCreateWithFlags(&reached_, cudaEventDisableTiming), "cuda.fork");
  }
  check(cudaEventRecord(reached_, stream_), "cuda.fork");
  check(cudaStreamWaitEvent(other_.stream, reached_, 0), "cuda.fork");
  forked_ = plain_ = capture_forked_ = true;
}

void Launcher::choose(Branches::Branch branch) {
  require_fork("cuda.choose", true);
  if (branch == std::exchange(branch_, branch)) return;
  std::swap(stream_, other_.stream);
  std::swap(idle_scratch_, other_.idle_scratch);
}

void Launcher::join() {
  require_fork("cuda.join", true);
  check(join_streams(), "cuda.join");
}

cudaError_t Launcher::join_streams() noexcept {
  if (branch_ == Branches::Branch::Second) std::swap(stream_, other_.stream);
  branch_ = Branches::Branch::First;
  forked_ = false;
  for (const auto& block : std::exchange(other_.idle_scratch, {})) idle_scratch_.push_back(block);
  const cudaError_t status = cudaEventRecord(reached_, other_.stream);
  return status != cudaSuccess ? status : cudaStreamWaitEvent(stream_, reached_, 0);
}

}  // namespace latticino::cuda
