// Transforms of the FP64 arithmetic (math/fourier.h) in registers: the N/2 numbers of a polynomial
// are held by T threads, V each, and change hands through shared memory. Phase p holds log2 V bits
// of a number's index in registers, from bit low_bit(p) on, and runs the stages that pair numbers
// in these bits.
#pragma once

#include <cstdint>

#include "backend/cuda/blind_ntt.cuh"
#include "math/fourier.h"

namespace latticino::cuda {

using fourier::Complex;

template <int LOG_N, int LOG_V>
struct FourierShape {
  static constexpr int kLogN = LOG_N, kN = 1 << LOG_N, kLogM = LOG_N - 1, kM = kN / 2;
  static constexpr int kLogV = LOG_V, kV = 1 << LOG_V, kThreads = kM / kV;
  static constexpr int kPhases = (kLogM + kLogV - 1) / kLogV;
  static_assert(kThreads % 32 == 0);

  static constexpr __host__ __device__ int low_bit(int phase) {
    const int bit = kLogM - (phase + 1) * kLogV;
    return bit < 0 ? 0 : bit;
  }
  static constexpr __host__ __device__ int stages(int phase) {
    return phase < kPhases - 1 ? kLogV : kLogM - phase * kLogV;
  }
  // Number r of thread t.
  static constexpr __host__ __device__ int index(int phase, int t, int r) {
    const int b = low_bit(phase);
    return (t >> b << (b + kLogV)) | r << b | (t & ((1 << b) - 1));
  }
  // Where it lies in shared memory: eight neighbouring threads touch all banks in every phase.
  static constexpr __host__ __device__ int place(int index) { return index ^ (index >> kLogV & 7); }
};

// Numbers a thread: 16 where two accumulators beside them fit the registers, else 8.
constexpr int fourier_log_values(int parts) { return parts == 2 ? 4 : 3; }

// What transforms look up: the first V/2 roots, which all threads share, are kernel arguments.
struct FourierRoots {
  const double2* all;  // fourier::roots
  const Complex* first;
};

__device__ __forceinline__ Complex complex(double2 x) { return {x.x, x.y}; }
__device__ __forceinline__ double2 vector(Complex x) { return make_double2(x.re, x.im); }

// f(number, its partner, w) for the pairs of a stage: of register bit `rho` in phase P.
template <class S, int P, int RHO, class F>
__device__ __forceinline__ void for_each_pair(const FourierRoots& roots, int t, const F& f) {
  constexpr int kStage = S::kLogM - 1 - S::low_bit(P) - RHO, kGroups = S::kV >> (RHO + 1);
  const int block = t >> S::low_bit(P);  // 0 in phase 0
  Complex even;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    Complex w;
    if constexpr (P == 0) {
      w = roots.first[((1 << kStage) + g) / 2];
      if (g % 2 != 0) w = fourier::times_i(w);
    } else if constexpr (kGroups == 1) {
      w = complex(roots.all[((1 << kStage) + block) / 2]);
      if (block % 2 != 0) w = fourier::times_i(w);
    } else {
      if (g % 2 == 0) even = complex(roots.all[(1 << (kStage - 1)) + (block * kGroups + g) / 2]);
      w = g % 2 == 0 ? even : fourier::times_i(even);
    }
#pragma unroll
    for (int j = 0; j < 1 << RHO; ++j) {
      const int r = (g << (RHO + 1)) + j;
      f(r, r + (1 << RHO), w);
    }
  }
}

template <class S, int P, int RHO = S::stages(P) - 1>
__device__ __forceinline__ void forward_phase(Complex (&x)[S::kV], const FourierRoots& roots,
                                              int t) {
  for_each_pair<S, P, RHO>(roots, t,
                           [&](int a, int b, Complex w) { fourier::butterfly(x[a], x[b], w); });
  if constexpr (RHO > 0) forward_phase<S, P, RHO - 1>(x, roots, t);
}

template <class S, int P, int RHO = 0>
__device__ __forceinline__ void inverse_phase(Complex (&x)[S::kV], const FourierRoots& roots,
                                              int t) {
  for_each_pair<S, P, RHO>(
      roots, t, [&](int a, int b, Complex w) { fourier::inverse_butterfly(x[a], x[b], w); });
  if constexpr (RHO + 1 < S::stages(P)) inverse_phase<S, P, RHO + 1>(x, roots, t);
}

template <class S, int P>
__device__ __forceinline__ void put(double2* slot, const Complex (&x)[S::kV], int t) {
#pragma unroll
  for (int r = 0; r < S::kV; ++r) slot[S::place(S::index(P, t, r))] = vector(x[r]);
}
template <class S, int P>
__device__ __forceinline__ void take(Complex (&x)[S::kV], const double2* slot, int t) {
#pragma unroll
  for (int r = 0; r < S::kV; ++r) x[r] = complex(slot[S::place(S::index(P, t, r))]);
}

// The threads that hand numbers from phase P on to the next one, or back, meet.
template <class S, int P>
__device__ __forceinline__ void meet_between(int barrier) {
  if constexpr (P == 0) {
    meet<S>(barrier);
  } else {
    static_assert(S::low_bit(P) <= 5);
    __syncwarp();
  }
}

// Numbers in phase 0 to the order of the last phase.
template <class S, int P = 0>
__device__ __forceinline__ void fourier_forward(Complex (&x)[S::kV], double2* slot,
                                                const FourierRoots& roots, int t, int barrier) {
  forward_phase<S, P>(x, roots, t);
  if constexpr (P + 1 < S::kPhases) {
    if constexpr (P == 0) meet<S>(barrier);  // everybody has read what the slot held
    put<S, P>(slot, x, t);                   // else where take() of this phase read
    meet_between<S, P>(barrier);
    take<S, P + 1>(x, slot, t);
    fourier_forward<S, P + 1>(x, slot, roots, t, barrier);
  }
}

// Back, times N/2.
template <class S, int P = S::kPhases - 1>
__device__ __forceinline__ void fourier_inverse(Complex (&x)[S::kV], double2* slot,
                                                const FourierRoots& roots, int t, int barrier) {
  inverse_phase<S, P>(x, roots, t);
  if constexpr (P > 0) {
    if constexpr (P == S::kPhases - 1) meet<S>(barrier);  // as above
    put<S, P>(slot, x, t);
    meet_between<S, P - 1>(barrier);
    take<S, P - 1>(x, slot, t);
    fourier_inverse<S, P - 1>(x, slot, roots, t, barrier);
  }
}

}  // namespace latticino::cuda
