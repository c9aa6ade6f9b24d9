// The CUDA backend: implements backend.h with one Launcher.
#include "backend/backend.h"

#include <string>
#include <utility>
#include <vector>

#include "backend/branches.h"
#include "backend/cuda/device/view.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/key_switch/key_inner.h"
#include "backend/cuda/poly/transfer.h"
#include "backend/gpu_arch.h"
#include "backend/splitting.h"
#include "math/errors.h"

namespace latticino {
namespace cuda {
namespace {

// An instantiated graph. Shares the launcher, so it may outlive the backend.
class GraphReplay : public Backend::Replay {
 public:
  GraphReplay(std::shared_ptr<Launcher> launcher, cudaGraph_t graph,
              std::vector<std::pair<void*, std::size_t>> scratch)
      : launcher_(std::move(launcher)), scratch_(std::move(scratch)) {
    // Without the flag the kernels of both branches have the priority of the stream.
    const unsigned flags =
        launcher_->capture_forked() ? cudaGraphInstantiateFlagUseNodePriority : 0;
    const cudaError_t status = cudaGraphInstantiate(&exec_, graph, flags);
    cudaGraphDestroy(graph);
    if (status != cudaSuccess) free_scratch();
    check(status, "cuda.end_record");
  }

  ~GraphReplay() override {
    if (cudaGraphExecDestroy(exec_) != cudaSuccess) cudaGetLastError();
    free_scratch();
  }

  void launch() override {
    launcher_->activate();
    check(cudaGraphLaunch(exec_, launcher_->stream()), "cuda.replay");
  }

 private:
  void free_scratch() noexcept {
    for (const auto& block : scratch_) launcher_->release(block.first, block.second);
  }

  std::shared_ptr<Launcher> launcher_;
  cudaGraphExec_t exec_ = nullptr;
  std::vector<std::pair<void*, std::size_t>> scratch_;
};

class CudaBackend : public Backend, public Branches {
 public:
  explicit CudaBackend(const CudaOptions& options)
      : launcher_(std::make_shared<Launcher>(options)),
        splitting_(
            {kViewSegments, [this](const KeyInner& op) { return most_digits(*launcher_, op); }},
            [this](const Ring& ring, const Basis& basis, Domain domain) {
              scratch_.push_back(
                  launcher_->scratch(sizeof(std::uint32_t) * ring.n() * basis.size()));
              return PolyView::contiguous(scratch_.back().as<std::uint32_t>(), ring, basis, domain);
            },
            [this](const Operation& op) {
              std::visit([&](const auto& record) { cuda::run(*launcher_, record); }, op);
            }) {}

  DeviceInfo info() const override {
    launcher_->activate();
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cuda.info");
    const Properties& device = launcher_->properties();
    return {"cuda", device.name, total, free + launcher_->idle_bytes(), device.arch};
  }

  void* allocate(std::size_t bytes) override {
    launcher_->activate();
    return launcher_->allocate(bytes);
  }
  void release(void* p, std::size_t bytes) noexcept override { launcher_->release(p, bytes); }
  MemoryUse memory() const override { return launcher_->pool().use(); }
  void reset_memory_peak() override { launcher_->pool().reset_peak(); }
  void trim() noexcept override { launcher_->trim(); }
  void clear_unused() override {
    launcher_->activate();
    launcher_->clear_unused();
    staging_.wipe();
  }
  void clear(void* p, std::size_t bytes) override {
    launcher_->activate();
    launcher_->clear(p, bytes);
    staging_.wipe();  // the staging buffers may have carried the block's contents
  }
  void fill(void* p, std::size_t bytes, std::uint8_t value) override {
    launcher_->activate();
    check(cudaMemsetAsync(p, value, bytes, launcher_->stream()), "cuda.fill");
  }

  void copy_in(void* device, const void* host, std::size_t bytes) override {
    begin_transfer("cuda.copy_in");
    staging_.copy_in(device, host, bytes, launcher_->stream());
  }
  void copy_out(void* host, const void* device, std::size_t bytes) override {
    begin_transfer("cuda.copy_out");
    staging_.copy_out(host, device, bytes, launcher_->stream());
    launcher_->raise_fault();
  }
  void upload(const PolyView& to, const std::uint32_t* host) override {
    begin_transfer("cuda.upload");
    cuda::upload(*launcher_, staging_, to, host);
  }
  void download(std::uint32_t* host, const PolyView& from) override {
    begin_transfer("cuda.download");
    cuda::download(*launcher_, staging_, host, from);
    launcher_->raise_fault();
  }

  void run(const Operation& op) override {
    launcher_->activate();
    scratch_.clear();  // scratch memory of a record that threw
    splitting_.run(op);
    scratch_.clear();
  }
  void synchronize() override {
    launcher_->activate();
    launcher_->synchronize();
  }

  void begin_record() override {
    launcher_->activate();
    launcher_->begin_capture();
  }
  std::unique_ptr<Replay> end_record() override {
    launcher_->activate();
    std::vector<std::pair<void*, std::size_t>> scratch;
    const cudaGraph_t graph = launcher_->end_capture(scratch);
    return std::make_unique<GraphReplay>(launcher_, graph, std::move(scratch));
  }
  void abandon_record() noexcept override { launcher_->abandon_capture(); }

  void fork() override {
    launcher_->activate();
    launcher_->fork();
  }
  void choose(Branch branch) override { launcher_->choose(branch); }
  void join() override {
    launcher_->activate();
    launcher_->join();
  }

 private:
  void begin_transfer(const char* operation) const {
    launcher_->activate();
    if (launcher_->recording()) {
      throw UnsupportedError(operation, "a host transfer while recording", "an immediate run",
                             "move the transfer out of the recorded function");
    }
  }

  std::shared_ptr<Launcher> launcher_;
  std::vector<Scratch> scratch_;  // scratch memory of the record that is being run
  Splitting splitting_;
  Staging staging_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options) {
  const int devices = cuda_device_count();
  if (options.device < 0 || options.device >= devices) {
    throw DeviceError("cuda.backend", "device " + std::to_string(options.device),
                      "one of " + std::to_string(devices) + " devices that can be used",
                      "choose another device, check the driver, or use the CPU backend");
  }
  CudaOptions chosen = options;
  if (options.features == nullptr) {
    chosen.features = std::make_shared<const Features>();
    return std::make_unique<cuda::CudaBackend>(chosen);
  }
  if (!options.features->tuning) chosen.tuning = std::make_shared<Tuning>();
  return make_lowered_backend(std::make_unique<cuda::CudaBackend>(chosen), chosen.features);
}

bool cuda_built() { return true; }

int cuda_device_count() noexcept {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess) return devices;
  cudaGetLastError();
  return 0;
}

bool cuda_has_fast_doubles(int device) noexcept {
  int ratio = 0;  // rate of FP32 divided by the rate of FP64
  if (cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, device) ==
      cudaSuccess) {
    return ratio <= 4;
  }
  cudaGetLastError();
  return false;
}

std::string gpu_name(int device) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) return properties.name;
  cudaGetLastError();
  return {};
}

int gpu_arch(int device) noexcept {
  int major = 0, minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess) {
    return 10 * major + minor;
  }
  cudaGetLastError();
  return 0;
}

}  // namespace latticino
