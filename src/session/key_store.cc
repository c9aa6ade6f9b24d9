#include "session/key_store.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "math/errors.h"
#include "math/interrupt.h"

namespace latticino::session {

class KeyStore::Entry {
 public:
  std::string id;
  LoadBundle load;
  std::atomic<int> pins{0}, lasting{0};  // increased under the store's mutex only
  // Guarded by the store's mutex.
  std::shared_ptr<KeyBundle> bundle;  // null while it is in host memory
  std::vector<std::uint8_t> stored;   // made once, because keys do not change
  std::uint64_t bytes = 0, used = 0, evictions = 0;
  double last_use = 0;

  void evict() {
    if (stored.empty()) stored = bundle->stored();
    bytes = bundle->bytes();
    bundle.reset();
    ++evictions;
  }
};

namespace {

// Ends a pin when the last copy of the protected pointer is gone.
template <class Entry>
struct Guard {
  std::shared_ptr<Entry> entry;
  std::shared_ptr<KeyBundle> bundle;
  bool lasting;
  Guard(std::shared_ptr<Entry> e, bool l) : entry(std::move(e)), bundle(entry->bundle), lasting(l) {
    ++entry->pins;
    if (lasting) ++entry->lasting;
  }
  ~Guard() {
    bundle.reset();
    if (lasting) --entry->lasting;
    --entry->pins;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

std::string bytes_text(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

KeyStore::KeyStore(std::shared_ptr<Queue> queue, std::optional<std::uint64_t> budget,
                   std::chrono::milliseconds patience)
    : queue_(std::move(queue)), budget_(budget), patience_(patience) {}

std::vector<KeyStore::Handle> KeyStore::entries() const {
  std::vector<Handle> out;
  std::erase_if(entries_, [&](const std::weak_ptr<Entry>& weak) {
    Handle entry = weak.lock();
    const bool gone = entry == nullptr;
    if (!gone) out.push_back(std::move(entry));
    return gone;
  });
  return out;
}

KeyStore::Handle KeyStore::add(std::string id, std::shared_ptr<KeyBundle> bundle, LoadBundle load) {
  auto entry = std::make_shared<Entry>();
  entry->id = std::move(id);
  entry->load = std::move(load);
  entry->bytes = bundle->bytes();
  if (budget_ && entry->bytes > *budget_) {
    throw OutOfMemoryError("key_store", "a bundle of " + bytes_text(entry->bytes),
                           "at most the key budget of " + bytes_text(*budget_),
                           "raise key_budget, or plan programs with fewer keys (minimal_keys)");
  }
  const auto until = std::chrono::steady_clock::now() + patience_;
  for (;;) {
    bool hopeless = false;
    {
      const auto queue = queue_->lock();
      const std::lock_guard lock(mutex_);
      if (make_room(*entry, hopeless)) {
        entry->bundle = std::move(bundle);
        entry->used = ++clock_;
        entries_.push_back(entry);
        return entry;
      }
    }
    wait(until, *entry, hopeless);
  }
}

KeyStore::Pin KeyStore::pinned(const Handle& entry, bool lasting) {
  entry->used = ++clock_;
  entry->last_use =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  auto guard = std::make_shared<Guard<Entry>>(entry, lasting);
  KeyBundle* bundle = guard->bundle.get();
  return {std::move(guard), bundle};
}

KeyStore::Pin KeyStore::pin_resident(const Handle& entry, bool lasting) {
  queue_->require_own_process("key_store");  // in a forked child the mutex may be locked for ever
  const std::lock_guard lock(mutex_);
  return entry->bundle == nullptr ? nullptr : pinned(entry, lasting);
}

KeyStore::Pin KeyStore::pin(const Handle& entry, bool lasting) {
  if (Pin pin = pin_resident(entry, lasting)) return pin;
  const auto until = std::chrono::steady_clock::now() + patience_;
  for (;;) {
    bool hopeless = false;
    {
      const auto queue = queue_->lock();
      const std::lock_guard lock(mutex_);
      if (entry->bundle != nullptr) return pinned(entry, lasting);
      if (make_room(*entry, hopeless)) {
        entry->bundle = entry->load(entry->stored);
        return pinned(entry, lasting);
      }
    }
    wait(until, *entry, hopeless);
  }
}

// Moves bundles to host memory until `wanted` fits. `hopeless`: whether that is impossible even
// after running operations have ended. Both mutexes are held.
bool KeyStore::make_room(const Entry& wanted, bool& hopeless) {
  if (!budget_) return true;
  std::uint64_t resident = 0, lasting = 0;
  std::vector<Handle> movable;
  for (Handle& entry : entries()) {
    if (entry->bundle == nullptr) continue;
    const std::uint64_t bytes = entry->bundle->bytes();
    resident += bytes;
    if (entry->lasting > 0) lasting += bytes;
    if (entry->pins == 0) movable.push_back(std::move(entry));
  }
  std::ranges::sort(movable, {}, [](const Handle& entry) { return entry->used; });
  for (const Handle& entry : movable) {
    if (resident + wanted.bytes <= *budget_) break;
    resident -= entry->bundle->bytes();
    entry->evict();
  }
  hopeless = lasting + wanted.bytes > *budget_;
  // A bundle grows by what its uses add to it (sums of digits). If it is the only one in memory, it
  // may come back even if it is now larger than the budget.
  return resident == 0 || resident + wanted.bytes <= *budget_;
}

void KeyStore::wait(std::chrono::steady_clock::time_point until, const Entry& wanted,
                    bool hopeless) {
  if (hopeless || std::chrono::steady_clock::now() > until) {
    throw OutOfMemoryError(
        "key_store",
        "bundles that recorded programs or running operations hold, and one of " +
            bytes_text(wanted.bytes),
        "a key budget for all of them, not " + bytes_text(*budget_),
        "raise key_budget, or drop recorded programs of other bundles");
  }
  check_interrupt();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

std::vector<KeyStore::Use> KeyStore::uses() const {
  queue_->require_own_process("key_store");
  const std::lock_guard lock(mutex_);
  std::vector<Use> out;
  for (const Handle& entry : entries()) {
    const bool resident = entry->bundle != nullptr;
    out.push_back({entry->id, resident ? entry->bundle->bytes() : entry->bytes,
                   entry->stored.size(), resident, entry->pins > 0, entry->last_use,
                   entry->evictions});
  }
  return out;
}

}  // namespace latticino::session
