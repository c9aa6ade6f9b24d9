// A cache of encoded constants, because encoding costs more than most operations on ciphertexts.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace latticino::session {

// The constants that were used last, up to `limit` bytes. The key is any data by which constants
// differ. Nothing is dropped while a program is recorded, because its constants must stay. Not
// thread-safe: callers hold the lock of the queue, as a recording does.
template <class Kept>
class ConstantCache {
 public:
  using Size = std::function<std::uint64_t(const Kept&)>;
  ConstantCache(std::uint64_t limit, Size size) : limit_(limit), size_(std::move(size)) {}

  std::uint64_t bytes() const { return bytes_; }

  template <class Make>
  std::shared_ptr<const Kept> get(const std::string& key, Make make) {
    if (const auto found = places_.find(key); found != places_.end()) {
      kept_.splice(kept_.begin(), kept_, found->second);
      return kept_.front().second;
    }
    std::shared_ptr<const Kept> made = make();
    kept_.emplace_front(key, made);
    places_[key] = kept_.begin();
    bytes_ += size_(*made);
    shrink();
    return made;
  }

  // While one of these lives, nothing is dropped.
  class Pin {
   public:
    explicit Pin(ConstantCache& cache) : cache_(cache) { ++cache_.pinned_; }
    ~Pin() {
      --cache_.pinned_;
      cache_.shrink();
    }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

   private:
    ConstantCache& cache_;
  };

 private:
  void shrink() {
    while (pinned_ == 0 && bytes_ > limit_ && kept_.size() > 1) {
      bytes_ -= size_(*kept_.back().second);
      places_.erase(kept_.back().first);
      kept_.pop_back();
    }
  }

  using Entries = std::list<std::pair<std::string, std::shared_ptr<const Kept>>>;
  std::uint64_t limit_, bytes_ = 0;
  int pinned_ = 0;
  Size size_;
  Entries kept_;  // the most recently used one comes first
  std::unordered_map<std::string, typename Entries::iterator> places_;
};

}  // namespace latticino::session
