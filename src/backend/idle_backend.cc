#include "backend/idle_backend.h"

#include <cstring>
#include <utility>

namespace latticino {
namespace {

constexpr std::size_t kAlignment = 256;

class IdleReplay final : public Backend::Replay {
 public:
  explicit IdleReplay(std::shared_ptr<IdleCounts> counts) : counts_(std::move(counts)) {}
  void launch() override { ++counts_->replays; }

 private:
  std::shared_ptr<IdleCounts> counts_;
};

class IdleBackend final : public Backend {
 public:
  explicit IdleBackend(std::shared_ptr<IdleCounts> counts)
      : counts_(counts != nullptr ? std::move(counts) : std::make_shared<IdleCounts>()) {}

  DeviceInfo info() const override { return {"none", make_cpu_backend({true, 1})->info().name}; }

  void* allocate(std::size_t bytes) override {
    ++counts_->allocations;
    counts_->allocated_bytes += bytes;
    const std::uintptr_t address = next_;
    next_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is only a name, which nobody reads.
    return reinterpret_cast<void*>(address);
  }
  void release(void*, std::size_t) noexcept override {}
  void fill(void*, std::size_t, std::uint8_t) override {}
  MemoryUse memory() const override { return {}; }
  void reset_memory_peak() override {}
  void trim() noexcept override {}
  void clear_unused() override {}
  void clear(void*, std::size_t) override {}

  void copy_in(void*, const void*, std::size_t) override { ++counts_->copies_in; }
  void copy_out(void* host, const void*, std::size_t bytes) override {
    ++counts_->copies_out;
    std::memset(host, 0, bytes);
  }
  void upload(const PolyView&, const std::uint32_t*) override { ++counts_->copies_in; }
  void download(std::uint32_t* host, const PolyView& from) override {
    ++counts_->copies_out;
    std::memset(host, 0, sizeof(std::uint32_t) * from.ring->n() * from.limbs());
  }

  void run(const Operation&) override {
    if (!recording_) ++counts_->records;
  }
  void synchronize() override { ++counts_->waits; }

  void begin_record() override { recording_ = true; }
  std::unique_ptr<Replay> end_record() override {
    recording_ = false;
    return std::make_unique<IdleReplay>(counts_);
  }
  void abandon_record() noexcept override { recording_ = false; }

 private:
  std::shared_ptr<IdleCounts> counts_;
  bool recording_ = false;
  std::uintptr_t next_ = std::uintptr_t{1} << 40;
};

}  // namespace

std::unique_ptr<Backend> make_idle_backend(std::shared_ptr<IdleCounts> counts) {
  return std::make_unique<IdleBackend>(std::move(counts));
}

}  // namespace latticino
