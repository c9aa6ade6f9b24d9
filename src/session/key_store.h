// Keys of several clients on one device within a budget of memory. Bundles that were not used for
// the longest time go to host memory and come back at their next use.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/queue.h"

namespace latticino::session {

// The public keys of one client in device memory.
class KeyBundle {
 public:
  virtual ~KeyBundle() = default;
  virtual std::uint64_t bytes() const = 0;  // bytes of device memory that it takes now
  // LoadBundle makes the bundle again from these bytes
  virtual std::vector<std::uint8_t> stored() const = 0;
};
using LoadBundle = std::function<std::shared_ptr<KeyBundle>(std::span<const std::uint8_t> stored)>;

// Thread-safe. Lock order: the queue's mutex before the store's, so a recording, which holds the
// queue, may ask for keys.
class KeyStore {
 public:
  class Entry;
  using Handle = std::shared_ptr<Entry>;  // the store forgets a bundle when its last handle is gone
  using Pin = std::shared_ptr<KeyBundle>;  // keeps the bundle in device memory

  // `budget` in bytes; none: no limit. `patience`: how long a call waits for operations on other
  // bundles to end, if all bundles in use together exceed the budget.
  KeyStore(std::shared_ptr<Queue> queue, std::optional<std::uint64_t> budget,
           std::chrono::milliseconds patience = std::chrono::seconds(30));

  // Throws OutOfMemoryError for a bundle that is larger than the budget, or if pinned bundles leave
  // no room.
  Handle add(std::string id, std::shared_ptr<KeyBundle> bundle, LoadBundle load);
  // Keeps the bundle in device memory, and brings it back first if it is in host memory. `lasting`:
  // the pin does not end soon, so other calls do not wait for it. Throws what loading throws; the
  // bundle then stays in host memory.
  Pin pin(const Handle& entry, bool lasting = false);

  struct Use {
    std::string id;
    std::uint64_t bytes = 0;       // of device memory; if it is in host memory, what it took before
    std::uint64_t host_bytes = 0;  // of the copy in host memory, which stays once it is made
    bool resident = false, pinned = false;
    double last_use = 0;  // seconds since 1970
    std::uint64_t evictions = 0;
  };
  std::vector<Use> uses() const;
  std::optional<std::uint64_t> budget() const { return budget_; }

 private:
  Pin pinned(const Handle& entry, bool lasting);
  Pin pin_resident(const Handle& entry, bool lasting);
  bool make_room(const Entry& wanted, bool& hopeless);
  void wait(std::chrono::steady_clock::time_point until, const Entry& wanted, bool hopeless);
  std::vector<Handle> entries() const;

  std::shared_ptr<Queue> queue_;
  std::optional<std::uint64_t> budget_;
  std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::uint64_t clock_ = 0;  // counts uses, to order them by time
  mutable std::vector<std::weak_ptr<Entry>> entries_;
};

}  // namespace latticino::session
