// Assigns the numbers of a transform in FP64 to threads. T threads hold the N/2 numbers of a
// polynomial, V each. Phase p holds log2 V bits of a number's index in registers, from bit
// low_bit(p) on, and runs the stages that pair numbers in these bits.
#pragma once

#include "backend/cuda/device/layout.h"

namespace latticino::cuda {

template <int LOG_N, int LOG_V>
struct FourierShape {
  static constexpr int kLogN = LOG_N, kN = 1 << LOG_N, kLogM = LOG_N - 1, kM = kN / 2;
  static constexpr int kLogV = LOG_V, kV = 1 << LOG_V, kThreads = kM / kV;
  static constexpr int kPhases = (kLogM + kLogV - 1) / kLogV;
  static constexpr bool kShuffles = kLogM - (kPhases - 1) * kLogV == 1;
  static_assert(kThreads % 32 == 0 && kPhases > 1);

  LATTICINO_HOST_DEVICE static constexpr int low_bit(int phase) {
    const int bit = kLogM - (phase + 1) * kLogV;
    return bit < 0 ? 0 : bit;
  }
  LATTICINO_HOST_DEVICE static constexpr int stages(int phase) {
    return phase < kPhases - 1 ? kLogV : kLogM - phase * kLogV;
  }
  // The stage that pairs register bit rho.
  LATTICINO_HOST_DEVICE static constexpr int stage(int phase, int rho) {
    return kLogM - 1 - low_bit(phase) - rho;
  }
  // Number r of thread t.
  LATTICINO_HOST_DEVICE static constexpr int index(int phase, int t, int r) {
    const int b = low_bit(phase);
    return (t >> b << (b + kLogV)) | r << b | (t & ((1 << b) - 1));
  }
  // The place of register number r of thread t in shared memory. Eight neighbouring threads touch
  // all banks in every phase. The place is a sum of a term for t and a term for r, so one address
  // serves all numbers of a thread.
  LATTICINO_HOST_DEVICE static constexpr int place(int index) { return index + (index >> kLogV); }
  static constexpr int kSlot = kM + kM / kV;

  // log2 of the number of roots that a thread loads for a stage: one root for two blocks.
  LATTICINO_HOST_DEVICE static constexpr int log_roots(int rho) {
    return kLogV - rho - 2 > 0 ? kLogV - rho - 2 : 0;
  }
  // The place of entry i of fourier::roots in shared memory. Roots of stages after phase 0 that
  // threads load together lie side by side.
  LATTICINO_HOST_DEVICE static constexpr int root_place(int i) {
    int stage = 0;
    while (i >> stage != 0) ++stage;
    const int phase = stage / kLogV;
    if (phase == 0) return i;
    const int log_own = log_roots(kLogM - 1 - low_bit(phase) - stage);
    const int first = 1 << (stage - 1), m = i - first;
    return first + (m & ((1 << log_own) - 1)) * (first >> log_own) + (m >> log_own);
  }
};

// Numbers per thread: 16 if two accumulators fit the registers as well, else 8. With 8 numbers,
// more shared memory is needed, but more threads hide each other's latency. For N = 2^10 this is as
// fast in large batches and faster in small ones.
constexpr int fourier_log_values(int log_n, int parts) { return parts == 2 && log_n > 10 ? 4 : 3; }

// The shape in whose last phase key polynomials are stored, [V][T]: that of the kernel, or of the
// faster one where there are two (rotate/fft/block.cu).
template <int LOG_N, int PARTS, int PRIMES>
using FourierKeyShape =
    FourierShape<LOG_N,
                 PARTS == 2 && PRIMES == 2 && LOG_N == 11 ? 5 : fourier_log_values(LOG_N, PARTS)>;
// A key polynomial that is stored in shape K has number r of thread t at stored_row(r) + t: what
// FourierKey (key.cu) writes and all rotations read.
template <class K>
LATTICINO_HOST_DEVICE constexpr int stored_row(int r) {
  return r * K::kThreads;
}
// The place of its number i.
template <class K>
LATTICINO_HOST_DEVICE constexpr int stored_place(int i) {
  return stored_row<K>(i % K::kV) + i / K::kV;
}
// The place of number r of thread t in the last phase of S. It is a sum of two places as well.
template <class S, class K>
LATTICINO_HOST_DEVICE constexpr int key_place(int t, int r) {
  return stored_place<K>(S::index(S::kPhases - 1, t, r));
}

}  // namespace latticino::cuda
