// The queue between scheme code and a backend: it checks records, then runs, records or counts
// them. It owns memory; scheme code asks it for buffers so that recorded and dry runs see them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backend/backend.h"
#include "ops/effort.h"

namespace latticino {

// A reference-counted block of backend memory; released (stream-ordered) with its last owner.
// Secret blocks are cleared first. In a dry run data() is null and only the size counts.
class Block;
using Buffer = std::shared_ptr<Block>;

class Block {
 public:
  ~Block();
  void* data() const { return data_; }
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(data_); }
  std::size_t bytes() const { return bytes_; }
  struct Owner;  // shared state of the queue the block came from (runtime/arena.h)
  class Arena;   // memory of one program

 private:
  friend class Queue;
  Block() = default;
  std::shared_ptr<Owner> owner_;
  std::shared_ptr<Arena> arena_;  // for blocks that were allocated while recording
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t noted_ = 0;  // for a dry queue: its number, from 1; 0: not noted
  bool secret_ = false;
};

// A polynomial that owns its memory.
struct Poly {
  Buffer buffer;
  PolyView view;
};

// The counts of a dry run.
struct DryReport {
  std::uint64_t bytes_moved = 0;
  std::uint64_t operations = 0;
  // The most memory of buffers alive at once, beyond those alive at the last reset_peak() (inputs
  // and keys).
  std::uint64_t peak_bytes = 0;
  std::map<std::string, std::uint64_t> operations_by_name;
  std::map<std::string, std::uint64_t> bytes_by_name;
  // sums of effort, for records that have one (ops/effort.h)
  std::map<std::string, Effort> effort_by_name;
};

// A recorded sequence: replays on fixed memory. Keeps every buffer it uses alive.
class Program {
 public:
  Program(Program&&) noexcept;
  ~Program();
  void run();  // asynchronous on CUDA
  // Bytes of its own memory, in addition to the memory of its inputs.
  std::uint64_t arena_bytes() const;

 private:
  friend class Queue;
  struct State;
  explicit Program(std::unique_ptr<State> s);
  std::unique_ptr<State> state_;
};

class Queue {
 public:
  explicit Queue(std::unique_ptr<Backend> backend);  // runs operations immediately
  // A dry queue: it counts operations, has no backend, and never touches data.
  static std::unique_ptr<Queue> dry();
  ~Queue();

  bool is_dry() const;
  bool recording() const;

  Buffer allocate(std::size_t bytes, bool secret = false);
  Poly allocate(const Ring& ring, const Basis& basis, Domain domain, bool secret = false);
  // For objects that are made when they are first used, and then kept. A dry run counts them as if
  // they had existed before, as they do in every later run.
  Buffer allocate_kept(std::size_t bytes);
  Poly allocate_kept(const Ring& ring, const Basis& basis, Domain domain);

  // While an object of this class exists, constants are made, such as encoded weights. A recording
  // uses constants that exist already: what is submitted for them is no part of a replay, and what
  // is allocated for them is no part of its arena. A dry queue counts it in preparation() too.
  class Preparing {
   public:
    explicit Preparing(const Queue& queue) : Preparing(queue, false) {}
    ~Preparing();
    Preparing(const Preparing&) = delete;
    Preparing& operator=(const Preparing&) = delete;

   protected:
    Preparing(const Queue& queue, bool kept);

   private:
    std::shared_ptr<Block::Owner> owner_;
    bool kept_;
  };

  // The same for constants and keys that are kept. A dry run counts what is allocated as if it had
  // existed before, as it does in every later run.
  class Keeping : public Preparing {
   public:
    explicit Keeping(const Queue& queue) : Preparing(queue, true) {}
  };

  // Stops before the record, or within it, if an interrupt was asked for (math/interrupt.h).
  void submit(Operation op);

  // Host transfers synchronise; they throw UnsupportedError while recording or dry.
  void upload(const PolyView& to, const std::uint32_t* host);
  void download(std::uint32_t* host, const PolyView& from);
  void copy_in(void* device, const void* host, std::size_t bytes);
  void copy_out(void* host, const void* device, std::size_t bytes);
  void synchronize();

  // Runs `body` once immediately (tables get built, errors surface), then records it: `body` must
  // submit the same work both times. Blocks that the recorded body allocates come from the
  // program's own arena; those freed inside it are reused inside it, those that stay hold the
  // results of each run. Host transfers throw UnsupportedError while recording (in the first run
  // they are allowed: caches fill there). Other threads wait until it returns.
  Program record(const std::function<void()>& body);

  // DeviceError if the process was forked from the one that made the queue, as in every other
  // function that computes: worker threads and locks of the parent do not exist there.
  void require_own_process(const char* operation) const;
  // Makes other threads wait while several calls belong together.
  std::unique_lock<std::recursive_mutex> lock() const;

  DryReport report() const;       // counts of a dry queue so far
  DryReport preparation() const;  // the part of them that made constants
  // A dry queue notes what is allocated and freed from now on, and tells how much memory a
  // recording of that work keeps for itself (Program::arena_bytes).
  void note_allocations();
  std::uint64_t arena_bytes() const;
  std::uint64_t live_bytes() const;  // bytes allocated now
  std::uint64_t peak_bytes() const;  // the most since construction or since reset_peak()
  void reset_peak();
  // The memory that the backend took, scratch included. The peak of a dry run is compared with it.
  MemoryUse device_memory() const;
  // Fills every block that is allocated from now on with bytes 0xA5, in recorded programs at each
  // run. If a result depends on memory that nobody wrote, it changes (tests).
  void poison(bool on);
  // Sets memory that is kept for reuse to zero, so that a block that is allocated later holds
  // nothing of an earlier one. Blocks in use and the memory of programs stay as they are.
  // UnsupportedError while recording; a dry queue has no memory.
  void clear_unused();
  DeviceInfo device() const;
  Backend* backend();  // null for a dry queue; for conformance tests and benchmarks only

 private:
  std::shared_ptr<Block::Owner> owner_;
};

}  // namespace latticino
