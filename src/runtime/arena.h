#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "crypto/random_stream.h"
#include "runtime/queue.h"

namespace latticino {

// The steps of a program, in order, before the backend captures it.
struct FillStep {
  void* p;
  std::size_t bytes;
  std::uint8_t value;
};
using ProgramStep = std::variant<Operation, FillStep>;

// The positions of blocks in the slabs of an arena. Requests take the best fitting part; freed
// neighbours are merged. A position is a slab's number and an offset. It depends on the requests
// alone, so a dry run finds out how much memory a recording takes.
class Places {
 public:
  // Slabs are smaller than this, so blocks of two slabs are never neighbours.
  static constexpr int kOffsetBits = 44;

  // `expected`: the bytes of the first slab.
  explicit Places(std::uint64_t expected) : expected_(expected) {}

  // The position of `bytes` bytes, if a slab has room for them.
  bool take(std::size_t bytes, std::uint64_t& place);
  void give(std::uint64_t place, std::size_t bytes);
  // The size of the next slab, for a request that fits into no slab.
  std::size_t next_slab(std::size_t bytes) const;
  void add_slab(std::size_t bytes);
  std::uint64_t bytes() const { return bytes_; }  // bytes of all slabs

 private:
  std::uint64_t expected_, bytes_ = 0, slabs_ = 0;
  std::map<std::uint64_t, std::size_t> free_;  // free parts, as position -> bytes; never adjacent
};

// State that a queue, its blocks and its programs share. The last of them destroys the backend.
struct Block::Owner {
  struct Recording {
    std::shared_ptr<Block::Arena> arena;
    std::vector<ProgramStep> steps;
    std::vector<Buffer> kept;  // blocks from outside of the program that the steps use
  };

  // Recursive, because dropping the last owner of a block locks it again.
  std::recursive_mutex mutex;
  std::unique_ptr<Backend> backend;  // null for a dry queue
  std::unique_ptr<Recording> recording;
  bool poisoned = false;    // whether new blocks are filled with kPoison
  bool warming_up = false;  // whether this is the first run of a body that will be recorded
  std::map<std::uintptr_t, std::weak_ptr<Block>> blocks;  // live blocks by address
  std::uint64_t live = 0, peak = 0, baseline = 0;
  DryReport report, preparation;
  int preparing = 0, keeping = 0;  // how many Queue::Preparing and Queue::Keeping objects exist
  // For a dry queue that notes allocations: the number of a block and its bytes, or 0 bytes when it
  // is released.
  bool noting = false;
  std::size_t noted = 0;
  std::vector<std::pair<std::size_t, std::size_t>> notes;

  ~Owner();

  // The process that made this. A forked child is another process: it has the parent's memory, but
  // neither its threads nor its device, and locks that other threads held stay locked.
  const std::uint64_t process = crypto::fork_generation();
  const std::uint64_t counted = crypto::counted_generation();
  bool forked() const { return backend != nullptr && crypto::counted_generation() != counted; }
  void require_own_process(const char* operation) const;
  // Waits for other threads. A recording or replay of another thread may take long, so it gives up
  // if an interrupt was asked for (math/interrupt.h).
  std::unique_lock<std::recursive_mutex> hold();

  // Destroys a block, an arena or a program. This happens at once if the mutex is free, and
  // otherwise when the thread that holds it unlocks it. Destructors never wait for a recording,
  // because its body may wait for a lock that the destructor's thread holds (Python's own, for
  // example).
  template <class Work>
  void finish(Work work) {
    if (forked()) {  // in a forked child nothing is destroyed, because the child ends without it
      static_cast<void>(new Work(std::move(work)));
      return;
    }
    {
      const std::unique_lock lock(mutex, std::try_to_lock);
      if (lock.owns_lock()) {
        run_deferred();
        work();
        return;
      }
    }
    const std::lock_guard lock(deferred_mutex);
    deferred.push_back(std::move(work));
    any_deferred.store(true, std::memory_order_release);
  }
  void run_deferred();  // does the deferred work in order; the mutex must be held

  std::mutex deferred_mutex;  // locked only briefly
  std::vector<std::function<void()>> deferred;
  std::atomic<bool> any_deferred{false};  // can be read without a lock

  void end_block(const std::shared_ptr<Block::Arena>& from, void* data, std::size_t bytes,
                 std::size_t number, bool secret);
  std::size_t note(std::size_t bytes);  // the number of a new block; 0 if it is not noted
  void grow(std::uint64_t bytes);
  void keep_blocks(const Operation& op);  // of a recorded operation
  Buffer find(const void* address);       // null if it belongs to no block
};

// Fixed memory of one program. Guarded by the owner's mutex.
class Block::Arena {
 public:
  // `expected`: the bytes of the first slab, which are those that the first run of the body used at
  // once.
  Arena(std::shared_ptr<Block::Owner> owner, std::uint64_t expected)
      : owner_(std::move(owner)), places_(expected) {}
  ~Arena();

  void* take(std::size_t bytes);
  void give(void* p, std::size_t bytes);
  void close() { open_ = false; }  // memory that is freed later is not reused
  bool open() const { return open_; }
  void mark_secret() { secret_ = true; }
  std::uint64_t bytes() const { return places_.bytes(); }

 private:
  void add_slab(std::size_t at_least);

  std::shared_ptr<Block::Owner> owner_;
  Places places_;
  bool open_ = true, secret_ = false;
  std::vector<std::pair<void*, std::size_t>> slabs_;
};

}  // namespace latticino
