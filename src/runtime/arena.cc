#include "runtime/arena.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>

#include "math/errors.h"
#include "math/interrupt.h"
#include "ops/views.h"

namespace latticino {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr long kInterruptInterval = 50'000'000;  // nanoseconds between two checks for an interrupt

timespec soon() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += kInterruptInterval;
  time.tv_sec += time.tv_nsec / 1'000'000'000;
  time.tv_nsec %= 1'000'000'000;
  return time;
}

std::size_t aligned(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Block::Owner::~Owner() {
  if (!forked()) {
    run_deferred();
    return;
  }
  // A forked child must not use the device, so it deliberately frees nothing here.
  static_cast<void>(backend.release());
  static_cast<void>(recording.release());
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory, the child ends here.
  static_cast<void>(new auto(std::move(deferred)));
}

void Block::Owner::require_own_process(const char* operation) const {
  if (backend == nullptr || crypto::fork_generation() == process) return;
  throw DeviceError(operation, "a process forked from the one that made the context",
                    "a context that this process made",
                    "make a context in the child and load keys there, or start processes with "
                    "multiprocessing's method \"spawn\"");
}

std::unique_lock<std::recursive_mutex> Block::Owner::hold() {
  if (forked()) require_own_process("compute");
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock.owns_lock()) {
    const timespec until = soon();
    if (pthread_mutex_timedlock(mutex.native_handle(), &until) == 0) {
      return std::unique_lock(mutex, std::adopt_lock);
    }
    check_interrupt();
  }
  return lock;
}

void Block::Owner::run_deferred() {
  if (!any_deferred.load(std::memory_order_acquire)) return;
  std::vector<std::function<void()>> now;
  {
    const std::lock_guard lock(deferred_mutex);
    now.swap(deferred);
    any_deferred.store(false, std::memory_order_release);
  }
  for (const std::function<void()>& work : now) work();
}

void Block::Owner::end_block(const std::shared_ptr<Block::Arena>& from, void* data,
                             std::size_t bytes, std::size_t number, bool secret) {
  if (backend == nullptr) {
    live -= bytes;
    if (number != 0) notes.push_back({number, 0});
    return;
  }
  blocks.erase(reinterpret_cast<std::uintptr_t>(data));
  const bool reusable = from != nullptr && from->open();
  try {
    if (secret && reusable) {
      recording->steps.push_back(FillStep{data, bytes, 0});
    } else if (secret) {
      backend->clear(data, bytes);
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): the device is gone, and its memory with it
  }
  if (reusable) from->give(data, bytes);
  if (from != nullptr) return;
  backend->release(data, bytes);
  live -= bytes;
}

void Block::Owner::grow(std::uint64_t bytes) {
  live += bytes;
  peak = std::max(peak, live);
}

std::size_t Block::Owner::note(std::size_t bytes) {
  if (!noting || preparing > 0) return 0;
  notes.push_back({++noted, std::max<std::size_t>(bytes, 1)});
  return noted;
}

Buffer Block::Owner::find(const void* address) {
  const auto key = reinterpret_cast<std::uintptr_t>(address);
  auto after = blocks.upper_bound(key);
  if (after == blocks.begin()) return nullptr;
  Buffer block = std::prev(after)->second.lock();
  const bool inside = block != nullptr && key < std::prev(after)->first + block->bytes();
  return inside ? block : nullptr;
}

void Block::Owner::keep_blocks(const Operation& op) {
  const auto keep = [&](const void* address) {
    Buffer block = find(address);
    const bool foreign = block != nullptr && block->arena_ != recording->arena;
    if (foreign &&
        std::find(recording->kept.begin(), recording->kept.end(), block) == recording->kept.end()) {
      recording->kept.push_back(std::move(block));
    }
  };
  for_each_view(op, [&](const PolyView& v, bool) { keep(v.limb(v.segment[0].prime)); });
  for_each_address(op, keep);
}

Block::Arena::~Arena() {
  owner_->finish([&owner = *owner_, slabs = std::move(slabs_), secret = secret_] {
    for (const auto& [data, bytes] : slabs) {
      try {
        if (secret) owner.backend->clear(data, bytes);
      } catch (...) {  // NOLINT(bugprone-empty-catch): the device is gone, and its memory with it
      }
      owner.backend->release(data, bytes);
      owner.live -= bytes;
    }
  });
}

void Block::Arena::add_slab(std::size_t at_least) {
  const std::size_t size = places_.next_slab(at_least);
  void* data = owner_->backend->allocate(size);
  slabs_.emplace_back(data, size);
  places_.add_slab(size);
  owner_->grow(size);
}

void* Block::Arena::take(std::size_t bytes) {
  std::uint64_t place = 0;
  while (!places_.take(bytes, place)) add_slab(bytes);
  const std::uint64_t offset = place & ((std::uint64_t{1} << Places::kOffsetBits) - 1);
  return static_cast<char*>(slabs_[place >> Places::kOffsetBits].first) + offset;
}

void Block::Arena::give(void* p, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    const auto first = reinterpret_cast<std::uintptr_t>(slabs_[i].first);
    if (address < first || address >= first + slabs_[i].second) continue;
    places_.give((std::uint64_t{i} << Places::kOffsetBits) + (address - first), bytes);
    return;
  }
}

bool Places::take(std::size_t bytes, std::uint64_t& place) {
  const std::size_t size = aligned(bytes);
  auto found = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second >= size && (found == free_.end() || it->second < found->second)) found = it;
  }
  if (found == free_.end()) return false;
  const std::size_t rest = found->second - size;
  place = found->first;
  free_.erase(found);
  if (rest > 0) free_.emplace(place + size, rest);
  return true;
}

void Places::give(std::uint64_t place, std::size_t bytes) {
  std::size_t size = aligned(bytes);
  auto next = free_.lower_bound(place);
  if (next != free_.end() && next->first == place + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == place) {
      previous->second += size;
      return;
    }
  }
  free_.emplace(place, size);
}

std::size_t Places::next_slab(std::size_t bytes) const {
  return std::max(aligned(bytes), slabs_ == 0 ? aligned(expected_) : 0);
}

void Places::add_slab(std::size_t bytes) {
  free_.emplace(slabs_++ << kOffsetBits, bytes);
  bytes_ += bytes;
}

}  // namespace latticino
