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

// Where blocks lie in the slabs of an arena. Requests take the best fitting part; freed neighbours
// are merged. A place is a slab's number and an offset, so it depends on the requests alone, and a
// dry run finds the memory that a recording takes.
class Places {
 public:
  static constexpr int kOffsetBits = 44;  // slabs are smaller, so two are never neighbours

  // `expected`: the bytes of the first slab.
  explicit Places(std::uint64_t expected) : expected_(expected) {}

  // A place for `bytes`, if a slab has room.
  bool take(std::size_t bytes, std::uint64_t& place);
  void give(std::uint64_t place, std::size_t bytes);
  // The bytes that the next slab needs, for a request without room.
  std::size_t next_slab(std::size_t bytes) const;
  void add_slab(std::size_t bytes);
  std::uint64_t bytes() const { return bytes_; }  // of all slabs

 private:
  std::uint64_t expected_, bytes_ = 0, slabs_ = 0;
  std::map<std::uint64_t, std::size_t> free_;  // place -> bytes; never adjacent
};

// State shared by a queue, its blocks and its programs. The last of them destroys the backend.
struct Block::Owner {
  struct Recording {
    std::shared_ptr<Block::Arena> arena;
    std::vector<ProgramStep> steps;
    std::vector<Buffer> kept;  // blocks from outside that the steps use
  };

  std::recursive_mutex mutex;        // recursive: dropping the last owner of a block locks it again
  std::unique_ptr<Backend> backend;  // null: dry
  std::unique_ptr<Recording> recording;
  bool poisoned = false;    // new blocks are filled with kPoison
  bool warming_up = false;  // first run of a body that will be recorded
  std::map<std::uintptr_t, std::weak_ptr<Block>> blocks;  // by address
  std::uint64_t live = 0, peak = 0, baseline = 0;
  DryReport report, preparation;
  int preparing = 0;  // how many Queue::Preparing live
  // Of a dry queue that notes allocations: the number of a block and its bytes, 0 where it ends.
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

  // Ends a block, an arena or a program: at once if the mutex is free, otherwise when the thread
  // that holds it is done. Destructors never wait for a recording, because its body may wait for a
  // lock that the destructor's thread holds (Python's own, for example).
  template <class Work>
  void finish(Work work) {
    if (forked()) {  // never destroyed in a forked child, which ends without it
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
  void run_deferred();  // does the deferred work in order; the mutex is held

  std::mutex deferred_mutex;  // held only briefly
  std::vector<std::function<void()>> deferred;
  std::atomic<bool> any_deferred{false};  // looking takes no lock

  void end_block(const std::shared_ptr<Block::Arena>& from, void* data, std::size_t bytes,
                 std::size_t number, bool secret);
  std::size_t note(std::size_t bytes);  // the number of a new block; 0 if it is not noted
  void grow(std::uint64_t bytes);
  void keep_blocks(const Operation& op);  // of a recorded operation
  Buffer find(const void* address);       // null when it belongs to no block
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
