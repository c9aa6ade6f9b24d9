#include "runtime/queue.h"

#include <algorithm>

#include "math/errors.h"
#include "math/interrupt.h"
#include "ops/views.h"
#include "runtime/arena.h"
#include "runtime/observe.h"

namespace latticino {
namespace {

// A view of a dry context on a queue that computes would read from address zero.
void require_memory(const Operation& op) {
  bool missing = false;
  for_each_view(op, [&](const PolyView& v, bool) { missing = missing || v.data == nullptr; });
  for_each_address(op, [&](const void* address) { missing = missing || address == nullptr; });
  if (missing) {
    throw ContextError(name(op), "a view without memory", "views of this queue",
                       "do not mix objects of a dry run with real ones");
  }
}

constexpr std::uint8_t kPoison = 0xA5;  // words that are larger than every prime

void count(DryReport& report, const Operation& op, std::uint64_t bytes, const Effort& effort) {
  report.bytes_moved += bytes;
  ++report.operations;
  ++report.operations_by_name[name(op)];
  report.bytes_by_name[name(op)] += bytes;
  if (effort.items == 0) return;
  Effort& sum = report.effort_by_name[name(op)];
  sum.items += effort.items;
  sum.work += effort.work;
  sum.path += effort.path;
  sum.fourier_work += effort.fourier_work;
  sum.fourier_path += effort.fourier_path;
}

[[noreturn]] void no_transfer(const char* operation, bool dry) {
  throw UnsupportedError(operation, dry ? "a dry run" : "a recording", "a queue that computes now",
                         "move the transfer outside");
}

}  // namespace

Block::~Block() {
  if (owner_ == nullptr) return;
  owner_->finish([&owner = *owner_, from = std::move(arena_), data = data_, bytes = bytes_,
                  number = noted_,
                  secret = secret_] { owner.end_block(from, data, bytes, number, secret); });
}

Queue::Queue(std::unique_ptr<Backend> backend) : owner_(std::make_shared<Block::Owner>()) {
  owner_->backend = std::move(backend);
}

Queue::~Queue() {
  owner_->finish([] {});
}

std::unique_lock<std::recursive_mutex> Queue::lock() const { return owner_->hold(); }

std::unique_ptr<Queue> Queue::dry() { return std::make_unique<Queue>(nullptr); }

void Queue::require_own_process(const char* operation) const {
  owner_->require_own_process(operation);
}

bool Queue::is_dry() const { return owner_->backend == nullptr; }

bool Queue::recording() const {
  const auto lock = owner_->hold();
  return owner_->recording != nullptr;
}

Buffer Queue::allocate(std::size_t bytes, bool secret) {
  const auto lock = owner_->hold();
  owner_->run_deferred();
  struct Made final : Block {};  // one allocation that holds the block and the count of its owners
  Buffer block = std::make_shared<Made>();
  if (is_dry()) {
    const std::uint64_t before = owner_->peak;
    owner_->grow(bytes);
    if (owner_->keeping > 0) owner_->peak = before + bytes;
    block->noted_ = owner_->note(bytes);
  } else if (owner_->recording != nullptr) {
    const std::shared_ptr<Block::Arena>& arena = owner_->recording->arena;
    block->data_ = arena->take(bytes);
    block->arena_ = arena;
    if (secret) arena->mark_secret();
  } else {
    block->data_ = owner_->backend->allocate(bytes);
    owner_->grow(bytes);
  }
  block->owner_ = owner_;
  block->bytes_ = bytes;
  block->secret_ = secret;
  if (is_dry()) return block;
  owner_->blocks[reinterpret_cast<std::uintptr_t>(block->data_)] = block;
  if (owner_->poisoned && owner_->recording != nullptr) {
    owner_->recording->steps.push_back(FillStep{block->data_, bytes, kPoison});
  } else if (owner_->poisoned) {
    owner_->backend->fill(block->data_, bytes, kPoison);
  }
  return block;
}

Poly Queue::allocate(const Ring& ring, const Basis& basis, Domain domain, bool secret) {
  if (basis.size() == 0 || basis.run(basis.runs() - 1).end > ring.prime_count()) {
    throw ShapeError("allocate", "basis " + basis.str(),
                     "primes of a ring with " + std::to_string(ring.prime_count()),
                     "check the basis");
  }
  Poly poly;
  poly.buffer = allocate(sizeof(std::uint32_t) * ring.n() * basis.size(), secret);
  poly.view = PolyView::contiguous(poly.buffer->words(), ring, basis, domain);
  return poly;
}

Buffer Queue::allocate_kept(std::size_t bytes) {
  const Keeping kept(*this);
  return allocate(bytes);
}

Poly Queue::allocate_kept(const Ring& ring, const Basis& basis, Domain domain) {
  const Keeping kept(*this);
  return allocate(ring, basis, domain);
}

void Queue::submit(Operation op) {
  check_interrupt();
  check(op);
  owner_->require_own_process("compute");
  const auto lock = owner_->hold();
  if (is_dry()) {
    const std::uint64_t bytes = bytes_moved(op);
    const Effort e = effort(op);
    count(owner_->report, op, bytes, e);
    if (owner_->preparing > 0) count(owner_->preparation, op, bytes, e);
    return;
  }
  require_memory(op);
  if (owner_->recording != nullptr) {
    owner_->keep_blocks(op);
    owner_->recording->steps.emplace_back(std::move(op));
  } else {
    owner_->backend->run(op);
    if (any_observed()) note_work(owner_->backend.get(), work_of(op));
  }
}

void Queue::upload(const PolyView& to, const std::uint32_t* host) {
  const auto lock = owner_->hold();
  if (is_dry() || owner_->recording != nullptr) no_transfer("upload", is_dry());
  owner_->backend->upload(to, host);
}

void Queue::download(std::uint32_t* host, const PolyView& from) {
  const auto lock = owner_->hold();
  if (is_dry() || owner_->recording != nullptr) no_transfer("download", is_dry());
  owner_->backend->download(host, from);
}

void Queue::copy_in(void* device, const void* host, std::size_t bytes) {
  const auto lock = owner_->hold();
  if (is_dry() || owner_->recording != nullptr) no_transfer("copy_in", is_dry());
  owner_->backend->copy_in(device, host, bytes);
}

void Queue::copy_out(void* host, const void* device, std::size_t bytes) {
  const auto lock = owner_->hold();
  if (is_dry() || owner_->recording != nullptr) no_transfer("copy_out", is_dry());
  owner_->backend->copy_out(host, device, bytes);
}

void Queue::synchronize() {
  const auto lock = owner_->hold();
  if (!is_dry() && owner_->recording == nullptr) owner_->backend->synchronize();
}

DryReport Queue::report() const {
  const auto lock = owner_->hold();
  DryReport report = owner_->report;
  report.peak_bytes = owner_->peak - owner_->baseline;
  return report;
}

DryReport Queue::preparation() const {
  const auto lock = owner_->hold();
  return owner_->preparation;
}

Queue::Preparing::Preparing(const Queue& queue, bool kept) : kept_(kept) {
  if (!queue.is_dry()) return;
  owner_ = queue.owner_;
  const auto lock = owner_->hold();
  ++owner_->preparing;
  owner_->keeping += kept_;
}

Queue::Preparing::~Preparing() {
  if (owner_ == nullptr) return;
  const std::lock_guard lock(owner_->mutex);
  --owner_->preparing;
  owner_->keeping -= kept_;
}

void Queue::note_allocations() {
  const auto lock = owner_->hold();
  owner_->noting = true;
  owner_->notes.clear();
}

std::uint64_t Queue::arena_bytes() const {
  const auto lock = owner_->hold();
  owner_->run_deferred();
  struct Held {
    std::uint64_t place = 0;
    std::size_t bytes = 0;
  };
  std::map<std::size_t, Held> held;  // by block number
  std::uint64_t live = 0, most = 0;
  for (const auto& [number, bytes] : owner_->notes) {
    if (bytes > 0) {
      held[number].bytes = bytes;
      most = std::max(most, live += bytes);
    } else if (const auto found = held.find(number); found != held.end()) {
      live -= found->second.bytes;
      held.erase(found);
    }
  }
  held.clear();
  Places places(most);
  for (const auto& [number, bytes] : owner_->notes) {
    if (bytes > 0) {
      Held& block = held[number] = {0, bytes};
      while (!places.take(bytes, block.place)) places.add_slab(places.next_slab(bytes));
    } else if (const auto found = held.find(number); found != held.end()) {
      places.give(found->second.place, found->second.bytes);
      held.erase(found);
    }
  }
  return places.bytes();
}

std::uint64_t Queue::live_bytes() const {
  const auto lock = owner_->hold();
  owner_->run_deferred();
  return owner_->live;
}

std::uint64_t Queue::peak_bytes() const {
  const auto lock = owner_->hold();
  return owner_->peak;
}

void Queue::reset_peak() {
  const auto lock = owner_->hold();
  owner_->peak = owner_->baseline = owner_->live;
  if (!is_dry()) owner_->backend->reset_memory_peak();
}

void Queue::clear_unused() {
  const auto lock = owner_->hold();
  if (owner_->recording != nullptr) no_transfer("clear_unused", false);
  owner_->run_deferred();
  if (!is_dry()) owner_->backend->clear_unused();
}

void Queue::poison(bool on) {
  const auto lock = owner_->hold();
  owner_->poisoned = on;
}

MemoryUse Queue::device_memory() const {
  const auto lock = owner_->hold();
  owner_->run_deferred();
  if (!is_dry()) return owner_->backend->memory();
  return {static_cast<std::size_t>(owner_->peak), static_cast<std::size_t>(owner_->live)};
}

DeviceInfo Queue::device() const {
  const auto lock = owner_->hold();
  return is_dry() ? DeviceInfo{"dry", "no device", 0, 0} : owner_->backend->info();
}

Backend* Queue::backend() { return owner_->backend.get(); }

}  // namespace latticino
