// A backend that notes the records of each recording, as they reach the device.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backend/backend.h"

namespace latticino::bench {

class Trace : public Backend {
 public:
  Trace(std::unique_ptr<Backend> inner, std::shared_ptr<std::vector<Operation>> log)
      : inner_(std::move(inner)), log_(std::move(log)) {}
  DeviceInfo info() const override { return inner_->info(); }
  void* allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(void* p, std::size_t bytes) noexcept override { inner_->release(p, bytes); }
  void clear(void* p, std::size_t bytes) override { inner_->clear(p, bytes); }
  void fill(void* p, std::size_t bytes, std::uint8_t value) override {
    inner_->fill(p, bytes, value);
  }
  MemoryUse memory() const override { return inner_->memory(); }
  void reset_memory_peak() override { inner_->reset_memory_peak(); }
  void trim() noexcept override { inner_->trim(); }
  void clear_unused() override { inner_->clear_unused(); }
  void copy_in(void* device, const void* host, std::size_t bytes) override {
    inner_->copy_in(device, host, bytes);
  }
  void copy_out(void* host, const void* device, std::size_t bytes) override {
    inner_->copy_out(host, device, bytes);
  }
  void upload(const PolyView& to, const std::uint32_t* host) override { inner_->upload(to, host); }
  void download(std::uint32_t* host, const PolyView& from) override {
    inner_->download(host, from);
  }
  void run(const Operation& op) override {
    if (recording_) log_->push_back(op);
    inner_->run(op);
  }
  void synchronize() override { inner_->synchronize(); }
  void begin_record() override {
    log_->clear();
    recording_ = true;
    inner_->begin_record();
  }
  std::unique_ptr<Replay> end_record() override {
    recording_ = false;
    return inner_->end_record();
  }
  void abandon_record() noexcept override {
    recording_ = false;
    inner_->abandon_record();
  }

 private:
  std::unique_ptr<Backend> inner_;
  std::shared_ptr<std::vector<Operation>> log_;
  bool recording_ = false;
};

}  // namespace latticino::bench
