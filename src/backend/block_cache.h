// Released blocks of device memory, kept for the next request of the same size. A driver takes
// microseconds for each block, and operations ask for the same sizes again and again. All work on a
// block is on one stream, so a block may be reused while earlier work on it is still pending.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace latticino {

class BlockCache {
 public:
  // The size of a block for a request of so many bytes. Blocks are kept by this size.
  static std::size_t size_of(std::size_t bytes) {
    return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  }

  // The kept block of size_of(bytes) that was released last; null if there is none.
  void* take(std::size_t bytes) {
    const auto found = classes_.find(size_of(bytes));
    if (found == classes_.end() || found->second.blocks.empty()) return nullptr;
    void* p = found->second.blocks.back();
    found->second.blocks.pop_back();
    found->second.used = ++clock_;
    bytes_ -= found->first;
    return p;
  }

  void give(void* p, std::size_t bytes) {
    const std::size_t size = size_of(bytes);
    Class& of_size = classes_[size];
    of_size.blocks.push_back(p);
    of_size.used = ++clock_;
    bytes_ += size;
  }

  // Calls drop(p, size) for kept blocks until at most `keep` bytes are left. It starts with the
  // size that was not used for the longest time.
  template <class Drop>
  void shrink(std::size_t keep, const Drop& drop) {
    while (bytes_ > keep) {
      const auto oldest = std::min_element(
          classes_.begin(), classes_.end(),
          [](const auto& a, const auto& b) { return a.second.order() < b.second.order(); });
      auto& [size, of_size] = *oldest;
      while (bytes_ > keep && !of_size.blocks.empty()) {
        void* p = of_size.blocks.back();
        of_size.blocks.pop_back();
        bytes_ -= size;
        drop(p, size);
      }
      if (of_size.blocks.empty()) classes_.erase(oldest);
    }
  }

  // Calls work(p, size) for each kept block.
  template <class Work>
  void for_each(const Work& work) const {
    for (const auto& [size, of_size] : classes_) {
      for (void* p : of_size.blocks) work(p, size);
    }
  }

  std::size_t bytes() const { return bytes_; }  // bytes in kept blocks

 private:
  static constexpr std::size_t kAlignment = 256;
  struct Class {
    std::vector<void*> blocks;
    std::uint64_t used = 0;
    // Sizes without blocks come last: they have nothing to drop.
    std::pair<bool, std::uint64_t> order() const { return {blocks.empty(), used}; }
  };
  std::unordered_map<std::size_t, Class> classes_;
  std::uint64_t clock_ = 0;
  std::size_t bytes_ = 0;
};

// Counts the bytes in use, and limits the bytes that may be kept in addition. Together they stay
// close to the most that was ever in use.
class LiveBytes {
 public:
  void add(std::size_t size) {
    live_ += size;
    most_ = std::max(most_, live_);
    peak_ = std::max(peak_, live_);
  }
  void remove(std::size_t size) { live_ -= size; }
  std::size_t live() const { return live_; }
  std::size_t peak() const { return peak_; }  // since reset_peak()
  void reset_peak() { peak_ = live_; }
  std::size_t may_keep() const { return most_ - live_ + most_ / 8; }

 private:
  std::size_t live_ = 0, most_ = 0, peak_ = 0;
};

}  // namespace latticino
