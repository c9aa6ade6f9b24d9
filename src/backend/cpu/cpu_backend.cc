#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

#include "backend/backend.h"
#include "backend/cpu/executor.h"
#include "backend/cpu_choice.h"
#include "math/errors.h"

namespace latticino {
namespace cpu {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "processor";
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const CpuKernels& kernels, int threads) : executor_(kernels, threads) {}

  DeviceInfo info() const override {
    return {"cpu",
            processor_name() + ", " + executor_.kernels().name + " kernels, " +
                std::to_string(executor_.threads()) + " threads",
            physical_memory(), available_memory()};
  }

  void* allocate(std::size_t bytes) override { return pool_.allocate(bytes); }
  void release(void* p, std::size_t bytes) noexcept override { pool_.release(p, bytes); }
  MemoryUse memory() const override { return {pool_.peak_bytes(), pool_.held_bytes()}; }
  void reset_memory_peak() override { pool_.reset_peak(); }
  void trim() noexcept override { pool_.trim(0); }
  void clear_unused() override {
    pool_.clear_unused();
    executor_.clear_scratch();
    executor_.clear_workspace();
  }
  void clear(void* p, std::size_t bytes) override {
    std::memset(p, 0, bytes);
    executor_.clear_scratch();
  }
  void fill(void* p, std::size_t bytes, std::uint8_t value) override {
    if (recorded_) {
      recorded_->push_back(Fill{p, bytes, value});
    } else {
      std::memset(p, value, bytes);
    }
  }

  void copy_in(void* device, const void* host, std::size_t bytes) override {
    std::memcpy(device, host, bytes);
  }
  void copy_out(void* host, const void* device, std::size_t bytes) override {
    std::memcpy(host, device, bytes);
  }
  void upload(const PolyView& to, const std::uint32_t* host) override {
    const std::size_t n = to.ring->n();
    for (int s = 0; s < to.segments; ++s) {
      const std::size_t words = n * to.segment[s].count;
      std::memcpy(to.data + n * to.segment[s].limb, host, words * sizeof(std::uint32_t));
      host += words;
    }
  }
  void download(std::uint32_t* host, const PolyView& from) override {
    const std::size_t n = from.ring->n();
    for (int s = 0; s < from.segments; ++s) {
      const std::size_t words = n * from.segment[s].count;
      std::memcpy(host, from.data + n * from.segment[s].limb, words * sizeof(std::uint32_t));
      host += words;
    }
  }

  void run(const Operation& op) override {
    if (recorded_) {
      recorded_->push_back(op);
    } else {
      execute(op);
    }
  }
  void synchronize() override {}

  void begin_record() override { recorded_.emplace(); }
  std::unique_ptr<Replay> end_record() override {
    if (!recorded_) throw std::logic_error("end_record() without begin_record()");
    auto replay = std::make_unique<CpuReplay>(*this, std::move(*recorded_));
    recorded_.reset();
    return replay;
  }
  void abandon_record() noexcept override { recorded_.reset(); }

 private:
  struct Fill {
    void* p;
    std::size_t bytes;
    std::uint8_t value;
  };
  using Step = std::variant<Operation, Fill>;

  class CpuReplay final : public Replay {
   public:
    CpuReplay(CpuBackend& backend, std::vector<Step> steps)
        : backend_(backend), steps_(std::move(steps)) {}
    void launch() override {
      for (const Step& step : steps_) {
        if (const auto* op = std::get_if<Operation>(&step)) {
          backend_.execute(*op);
        } else {
          const Fill& fill = std::get<Fill>(step);
          std::memset(fill.p, fill.value, fill.bytes);
        }
      }
    }

   private:
    CpuBackend& backend_;
    std::vector<Step> steps_;
  };

  void execute(const Operation& op) {
    std::visit([&](const auto& record) { cpu::run(executor_, record); }, op);
  }

  Executor executor_;
  HostPool pool_;
  std::optional<std::vector<Step>> recorded_;
};

const CpuKernels& chosen_kernels(const CpuOptions& options) {
  const CpuKernels* simd = options.simd ? simd_kernels() : nullptr;
  return simd != nullptr ? *simd : reference_kernels();
}

}  // namespace
}  // namespace cpu

CpuChoice cpu_choice(const CpuOptions& options) {
  if (options.threads < 0) {
    throw ValueError("cpu", std::to_string(options.threads) + " threads", "0 (all cores) or more",
                     "set threads to 0 or a count");
  }
  const int cores = cpu::available_cores();
  const int threads = options.threads == 0 ? cores : options.threads;
  return {cpu::chosen_kernels(options).name, threads, std::min(threads, cores)};
}

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  return std::make_unique<cpu::CpuBackend>(cpu::chosen_kernels(options),
                                           cpu_choice(options).threads);
}

}  // namespace latticino
