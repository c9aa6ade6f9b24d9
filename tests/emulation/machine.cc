#include "emulation/machine.h"

#include <cuda_runtime.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "backend/cuda/device/async_copy.cuh"
#include "backend/cuda/device/barrier.cuh"
#include "backend/cuda/device/bulk.cuh"
#include "backend/cuda/device/cluster.cuh"
#include "backend/cuda/device/partial_state.cuh"

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace latticino::emulation {
namespace {

constexpr std::uint32_t kNoWord = 0xDEADBEEFu;  // the pattern of memory that has not been written
constexpr std::size_t kStackBytes = 128 << 10;
constexpr int kCounts = 4;  // counts of arrivals, at the start of a block's shared memory

struct Barrier {
  int arrived = 0, needed = 0, generation = 0;
};

struct Count {
  long bytes = 0;
  int begun = 0;
  unsigned phase = 0;
};

struct Block {
  std::vector<std::uint32_t> shared;
  std::array<Barrier, 16> barrier;
  std::vector<Barrier> warp;
  std::vector<double> given;  // by threads to lanes of their warps
  std::array<Count, kCounts> count;
};

struct Copy {
  std::uint32_t* to;
  std::vector<std::uint32_t> words;
};

struct Fiber {
  ucontext_t context{};
  std::vector<char> stack;
  std::function<bool()> ready;
  bool done = false;
  unsigned thread = 0, block = 0;
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups;
};

struct Word {
  unsigned block;
  std::size_t at;
  int count;
  uint4 value;
};

struct Machine {
  std::vector<Block> blocks;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Word> partial_state;
  Barrier cluster;
  Fiber* current = nullptr;
  ucontext_t scheduler{};
  std::mt19937 random;
  std::function<void()> kernel;
  const char* fault = nullptr;

  Block& block() { return blocks[current->block]; }
  // An exception must not leave a fiber: the scheduler throws it.
  void fail(const char* what) {
    fault = what;
    wait([] { return false; });
  }
  void wait(std::function<bool()> ready) {
    current->ready = std::move(ready);
    swapcontext(&current->context, &scheduler);
  }
  void sync(Barrier& barrier, int threads) {
    if (barrier.arrived == 0) barrier.needed = threads;
    if (barrier.needed != threads) fail("a barrier met by two numbers of threads");
    const int generation = barrier.generation;
    if (++barrier.arrived == barrier.needed) barrier.arrived = 0, ++barrier.generation;
    wait([&barrier, generation] { return barrier.generation != generation; });
  }
  int count_of(const std::uint64_t* word) {
    return static_cast<int>(word - reinterpret_cast<std::uint64_t*>(block().shared.data()));
  }
  static void end_phase(Count& count) {
    if (count.begun == 1 && count.bytes == 0) count.begun = 0, ++count.phase;
  }
  void deliver(const Word& word) {
    Block& to = blocks[word.block];
    std::memcpy(to.shared.data() + word.at, &word.value, sizeof word.value);
    to.count[word.count].bytes -= sizeof word.value;
    end_phase(to.count[word.count]);
  }
  void run();
};

Machine* machine = nullptr;

void enter() {
  machine->kernel();
  machine->current->done = true;
  swapcontext(&machine->current->context, &machine->scheduler);
}

void Machine::run() {
  std::size_t left = fibers.size();
  std::vector<Fiber*> order;
  for (const auto& fiber : fibers) order.push_back(fiber.get());
  // Pauses the block for a while, so that other blocks get far ahead.
  std::vector<char> rests(blocks.size());
  while (left > 0) {
    bool moved = false;
    if (random() % 4 == 0) std::shuffle(order.begin(), order.end(), random);
    if (random() % 8 == 0) {
      for (char& rest : rests) rest = random() % 2 == 0;
    }
    for (Fiber* fiber : order) {
      if (rests[fiber->block] || fiber->done || (fiber->ready && !fiber->ready())) continue;
      current = fiber;
      threadIdx = {fiber->thread, 0, 0};
      blockIdx = {fiber->block, 0, 0};
      fiber->ready = nullptr;
      swapcontext(&scheduler, &fiber->context);
      if (fault != nullptr) throw std::runtime_error(fault);
      left -= fiber->done ? 1 : 0;
      moved = true;
    }
    std::shuffle(partial_state.begin(), partial_state.end(), random);
    std::size_t arrive = moved ? random() % (partial_state.size() + 1) : partial_state.size();
    moved = moved || arrive > 0;
    for (; arrive > 0; --arrive, partial_state.pop_back()) deliver(partial_state.back());
    if (!moved && std::ranges::count(rests, 0) == std::ssize(rests)) {
      throw std::runtime_error("threads that wait for ever");
    }
    if (!moved) std::ranges::fill(rests, 0);
  }
  if (!partial_state.empty()) throw std::runtime_error("words for blocks that have ended");
}

}  // namespace

void run_cluster(int blocks, int threads, std::size_t shared_words, unsigned seed,
                 const std::function<void()>& kernel) {
  Machine m;
  m.random.seed(seed);
  m.kernel = kernel;
  m.blocks.resize(static_cast<std::size_t>(blocks));
  blockDim = {static_cast<unsigned>(threads), 1, 1};
  gridDim = {static_cast<unsigned>(blocks), 1, 1};
  for (unsigned b = 0; b < m.blocks.size(); ++b) {
    m.blocks[b].shared.assign(shared_words / 4 * 4 + 4, kNoWord);
    m.blocks[b].warp.resize(static_cast<std::size_t>(threads) / 32);
    m.blocks[b].given.resize(static_cast<std::size_t>(threads));
    for (unsigned t = 0; t < blockDim.x; ++t) {
      auto fiber = std::make_unique<Fiber>();
      fiber->stack.resize(kStackBytes);
      getcontext(&fiber->context);
      fiber->context.uc_stack.ss_sp = fiber->stack.data();
      fiber->context.uc_stack.ss_size = kStackBytes;
      makecontext(&fiber->context, enter, 0);
      fiber->thread = t, fiber->block = b;
      m.fibers.push_back(std::move(fiber));
    }
  }
  machine = &m;
  m.run();
  machine = nullptr;
}

void wait_until(std::function<bool()> ready) { machine->wait(std::move(ready)); }

}  // namespace latticino::emulation

using latticino::emulation::machine;

void __syncwarp() { machine->sync(machine->block().warp[threadIdx.x / 32], 32); }
double __shfl_xor_sync(unsigned mask, double x, int lanes) {
  if (mask != ~0u) machine->fail("a shuffle of part of a warp");
  const unsigned thread = machine->current->thread;
  machine->block().given[thread] = x;
  __syncwarp();
  const double given = machine->block().given[thread ^ static_cast<unsigned>(lanes)];
  __syncwarp();
  return given;
}
void __syncthreads() { machine->sync(machine->block().barrier[0], static_cast<int>(blockDim.x)); }

namespace latticino::cuda {

void sync_threads(int barrier, int threads) {
  if (threads % 32 != 0) machine->fail("a barrier of part of a warp");
  machine->sync(machine->block().barrier[barrier], threads);
}

template <class Vector>
void copy_words(Vector* shared, const Vector* from) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(from);
  auto* to = reinterpret_cast<std::uint32_t*>(shared);
  machine->current->open.push_back({to, {words, words + sizeof(Vector) / sizeof *words}});
  std::fill_n(to, sizeof(Vector) / sizeof *to, latticino::emulation::kNoWord);
}
void copy_async(uint4* shared, const uint4* from) { copy_words(shared, from); }
void copy_async(uint2* shared, const uint2* from) { copy_words(shared, from); }
void end_group() {
  machine->current->groups.push_back(std::move(machine->current->open));
  machine->current->open.clear();
}
void wait_for_copies_but(int left) {
  auto& groups = machine->current->groups;
  for (; groups.size() > static_cast<std::size_t>(left); groups.pop_front()) {
    for (const auto& copy : groups.front()) std::ranges::copy(copy.words, copy.to);
  }
}

std::uint32_t* dynamic_shared() { return machine->block().shared.data(); }
std::uint32_t cluster_rank() { return machine->current->block; }
void sync_cluster() {
  machine->sync(machine->cluster, static_cast<int>(machine->blocks.size() * blockDim.x));
}

void Arrivals::prepare() const { machine->block().count[machine->count_of(word)] = {}; }
void Arrivals::begin(std::uint32_t bytes) const {
  prepare();
  expect(bytes);
}
void Arrivals::expect(std::uint32_t bytes) const {
  auto& count = machine->block().count[machine->count_of(word)];
  if (count.begun != 0) machine->fail("a phase begun twice");
  count.begun = 1;
  count.bytes += bytes;
  machine->end_phase(count);
}
void Arrivals::wait(std::uint32_t parity) const {
  const auto* count = &machine->block().count[machine->count_of(word)];
  machine->wait([count, parity] { return (count->phase & 1) != parity; });
}

void push(std::uint32_t* to, const Arrivals& arrivals, std::uint32_t rank, uint4 v) {
  const auto at = static_cast<std::size_t>(to - machine->block().shared.data());
  if (rank >= machine->blocks.size() || at + 4 > machine->block().shared.size()) {
    machine->fail("a write outside of a block");
  }
  machine->partial_state.push_back({rank, at, machine->count_of(arrivals.word), v});
}

void publish(std::uint32_t* word) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) *word = 1;
}
void wait_until_published(const std::uint32_t* word) {
  machine->wait([word] { return *word != 0; });
}

// Bits 0 to 15 count who is there, 16 to 31 all, 32 is the phase.
void EmptyBarrier::begin(std::uint32_t all) const { *word = all << 16 | all; }
void EmptyBarrier::leave() const {
  if ((--*word & 0xFFFF) != 0) return;
  *word |= *word >> 16 & 0xFFFF;
  *word ^= std::uint64_t{1} << 32;
}
void EmptyBarrier::wait(std::uint32_t parity) const {
  machine->wait([word = word, parity] { return (*word >> 32 & 1) != parity; });
}

void copy_bulk(double2* shared, const double2* from, std::uint32_t bytes,
               const Arrivals& arrivals) {
  for (std::uint32_t i = 0; i < bytes / sizeof(double2); ++i) {
    uint4 value;
    std::memcpy(&value, from + i, sizeof value);
    push(reinterpret_cast<std::uint32_t*>(shared + i), arrivals, machine->current->block, value);
  }
}

}  // namespace latticino::cuda
