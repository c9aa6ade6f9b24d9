// A CPU, or another backend, that shows every record to the test before it runs it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "backend/backend.h"

namespace latticino::test {

class WitnessBackend : public Backend {
 public:
  using See = std::function<void(const Operation&)>;
  explicit WitnessBackend(See see, std::unique_ptr<Backend> inner = make_cpu_backend({true, 1}))
      : see_(std::move(see)), inner_(std::move(inner)) {}
  DeviceInfo info() const override { return inner_->info(); }
  void* allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(void* p, std::size_t bytes) noexcept override { inner_->release(p, bytes); }
  void fill(void* p, std::size_t bytes, std::uint8_t v) override { inner_->fill(p, bytes, v); }
  MemoryUse memory() const override { return inner_->memory(); }
  void reset_memory_peak() override { inner_->reset_memory_peak(); }
  void trim() noexcept override { inner_->trim(); }
  void clear_unused() override { inner_->clear_unused(); }
  void clear(void* p, std::size_t bytes) override { inner_->clear(p, bytes); }
  void copy_in(void* d, const void* h, std::size_t bytes) override { inner_->copy_in(d, h, bytes); }
  void copy_out(void* h, const void* d, std::size_t bytes) override {
    inner_->copy_out(h, d, bytes);
  }
  void upload(const PolyView& to, const std::uint32_t* host) override { inner_->upload(to, host); }
  void download(std::uint32_t* h, const PolyView& from) override { inner_->download(h, from); }
  void synchronize() override { inner_->synchronize(); }
  void begin_record() override { inner_->begin_record(); }
  std::unique_ptr<Replay> end_record() override { return inner_->end_record(); }
  void abandon_record() noexcept override { inner_->abandon_record(); }
  void run(const Operation& op) override {
    see_(op);
    inner_->run(op);
  }

 private:
  See see_;
  std::unique_ptr<Backend> inner_;
};

}  // namespace latticino::test
