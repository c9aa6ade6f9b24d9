// How the CPU backend runs records: a kernel table, threads and scratch memory of one instance.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "backend/cpu/host_pool.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/lwe_kernels.h"
#include "backend/cpu/tables.h"
#include "backend/cpu/thread_pool.h"
#include "crypto/secure_memory.h"
#include "ops/operations.h"

namespace latticino::cpu {

// Entries of a limb per step, so that the operands of a step stay in the cache.
constexpr std::size_t kBlockEntries = 2048;

class Executor {
 public:
  Executor(const CpuKernels& kernels, int threads) : kernels_(kernels), pool_(threads) {}

  const CpuKernels& kernels() const { return kernels_; }
  int threads() const { return pool_.threads(); }
  const RingTable& table(const Ring& ring) const { return ring_table(ring, kernels_); }

  // Gives every thread at least `words` words of scratch, valid until the next call.
  void reserve_scratch(std::size_t words) {
    scratch_.resize(static_cast<std::size_t>(pool_.threads()));
    for (HostBuffer& buffer : scratch_) {
      if (buffer.bytes() < words * sizeof(std::uint32_t)) {
        clear(buffer);
        buffer = HostBuffer(words * sizeof(std::uint32_t));
      }
    }
  }

  std::size_t scratch_bytes() const { return scratch_.empty() ? 0 : scratch_[0].bytes(); }

  // Clears the scratch of every thread. Called when a secret ends, because scratch may hold parts
  // of it.
  void clear_scratch() {
    for (const HostBuffer& buffer : scratch_) clear(buffer);
  }

  // Memory that all threads share, valid until the next call. Code that puts secret values there
  // must clear them.
  void* workspace(std::size_t bytes) {
    if (workspace_.bytes() < bytes) workspace_ = HostBuffer(bytes);
    return workspace_.data();
  }

  void clear_workspace() { clear(workspace_); }

  // Calls work(unit, scratch) for every unit below `units`; `entries` is what one unit touches.
  template <class Work>
  void parallel(std::size_t units, std::size_t entries, const Work& work) {
    if (scratch_.empty()) reserve_scratch(kBlockEntries);
    // Waking the threads costs as much as about 2^15 entries.
    constexpr std::size_t kMinForThreads = std::size_t{1} << 15;
    const auto on_thread = [&](std::size_t unit, int thread) {
      work(unit, static_cast<std::uint32_t*>(scratch_[thread].data()));
    };
    if (units * entries < kMinForThreads) {
      for (std::size_t unit = 0; unit < units; ++unit) on_thread(unit, 0);
    } else {
      pool_.run(units, on_thread);
    }
  }

 private:
  static void clear(const HostBuffer& buffer) {
    if (buffer.bytes() > 0) crypto::secure_clear(buffer.data(), buffer.bytes());
  }

  const CpuKernels& kernels_;
  ThreadPool pool_;
  std::vector<HostBuffer> scratch_;
  HostBuffer workspace_;
};

// Limb of `prime` in a view, or null where the view does not have it.
inline std::uint32_t* find_limb(const PolyView& v, int prime) {
  for (int s = 0; s < v.segments; ++s) {
    const int k = prime - v.segment[s].prime;
    if (k >= 0 && k < v.segment[s].count) {
      return v.data + (v.segment[s].limb + static_cast<std::size_t>(k)) * v.ring->n();
    }
  }
  return nullptr;
}

// For an automorphism X -> X^galois in Eval: where an output row takes its entries from. All come
// from one input row: entry c from bitrev((offset + galois bitrev(c)) mod cols). Index i = cols r +
// c holds the value at psi^(2k+1), k = bitrev(r) + rows bitrev(c); the output holds the input's
// value at psi^(galois (2k+1)).
struct RowSource {
  int row;
  std::uint32_t offset;
};
inline RowSource row_source(const RingTable& table, int row, std::uint32_t galois) {
  const PrimeTable& p = table.primes[0];
  const std::uint32_t n = 1u << p.log_n, rows = static_cast<std::uint32_t>(p.rows());
  const std::uint32_t k = ((galois * (2u * table.row_reversal[row] + 1)) & (2 * n - 1)) >> 1;
  return {table.row_reversal[k & (rows - 1)], k >> p.log_rows};
}

// g^-1 modulo 2^32, hence modulo 2N.
constexpr std::uint32_t inverse_galois(std::uint32_t g) {
  std::uint32_t x = g;
  for (int i = 0; i < 4; ++i) x *= 2 - g * x;
  return x;
}

// Applies the automorphism to rows [first_row, first_row + count) of a limb.
void scatter_rows(const CpuKernels& kernels, const RingTable& table, const PrimeTable& prime,
                  std::uint32_t* limb, const std::uint32_t* rows, int first_row, int count,
                  std::uint32_t galois);
// The number of rows in a block of kBlockEntries entries. It divides the number of all rows.
int rows_per_block(const PrimeTable& prime);

// The kernels of each record, each in a file of its own.
#define LATTICINO_RUN(Record) void run(Executor& executor, const Record& op);
LATTICINO_RECORDS(LATTICINO_RUN)
#undef LATTICINO_RUN

}  // namespace latticino::cpu
