// Transforms of the FP64 arithmetic (math/fourier.h) in registers, in the phases of
// rotate/fft/shape.h. Between phases, threads exchange numbers through shared memory. Before a last
// phase of one stage, two neighbouring lanes exchange half of their numbers by shuffles instead,
// which is a quarter of the work for shared memory.
#pragma once

#include <cstdint>

#include "backend/cuda/rotate/fft/shape.h"
#include "backend/cuda/rotate/ntt.cuh"
#include "math/fourier.h"

namespace latticino::cuda {

using fourier::Complex;

// The tables that transforms read. The first V/2 roots, which all threads share, are kernel
// arguments. PLACED: `all` is in the order of root_place().
template <bool PLACED>
struct FourierRoots {
  static constexpr bool kPlaced = PLACED;
  const double2* all;  // fourier::roots
  const Complex* first;
};

__device__ __forceinline__ Complex complex(double2 x) { return {x.x, x.y}; }
__device__ __forceinline__ double2 vector(Complex x) { return make_double2(x.re, x.im); }

// f(number, its partner, w) for the pairs of a stage: of register bit `rho` in phase P.
template <class S, int P, int RHO, class Roots, class F>
__device__ __forceinline__ void for_each_pair(const Roots& roots, int t, const F& f) {
  constexpr int kStage = S::stage(P, RHO), kGroups = S::kV >> (RHO + 1);
  constexpr int kLogOwn = S::log_roots(RHO), kFirst = P == 0 ? 0 : 1 << (kStage - 1);
  const int block = t >> S::low_bit(P);  // 0 in phase 0
  Complex even;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    Complex w;
    if constexpr (P == 0) {
      w = roots.first[((1 << kStage) + g) / 2];
      if (g % 2 != 0) w = fourier::times_i(w);
    } else if constexpr (kGroups == 1) {
      w = complex(roots.all[kFirst + block / 2]);
      if (block % 2 != 0) w = fourier::times_i(w);
    } else {
      if (g % 2 == 0) {
        even = complex(roots.all[kFirst + (Roots::kPlaced ? (g / 2 * (kFirst >> kLogOwn)) + block
                                                          : (block << kLogOwn) + g / 2)]);
      }
      w = g % 2 == 0 ? even : fourier::times_i(even);
    }
#pragma unroll
    for (int j = 0; j < 1 << RHO; ++j) {
      const int r = (g << (RHO + 1)) + j;
      f(r, r + (1 << RHO), w);
    }
  }
}

template <class S, int P, int RHO = S::stages(P) - 1, class Roots>
__device__ __forceinline__ void forward_phase(Complex (&x)[S::kV], const Roots& roots, int t) {
  for_each_pair<S, P, RHO>(roots, t,
                           [&](int a, int b, Complex w) { fourier::butterfly(x[a], x[b], w); });
  if constexpr (RHO > 0) forward_phase<S, P, RHO - 1>(x, roots, t);
}

template <class S, int P, int RHO = 0, class Roots>
__device__ __forceinline__ void inverse_phase(Complex (&x)[S::kV], const Roots& roots, int t) {
  for_each_pair<S, P, RHO>(
      roots, t, [&](int a, int b, Complex w) { fourier::inverse_butterfly(x[a], x[b], w); });
  if constexpr (RHO + 1 < S::stages(P)) inverse_phase<S, P, RHO + 1>(x, roots, t);
}

template <class S, int P>
__device__ __forceinline__ void put(double2* slot, const Complex (&x)[S::kV], int t) {
  slot += S::place(S::index(P, t, 0));
#pragma unroll
  for (int r = 0; r < S::kV; ++r) slot[S::place(S::index(P, 0, r))] = vector(x[r]);
}
template <class S, int P>
__device__ __forceinline__ void take(Complex (&x)[S::kV], const double2* slot, int t) {
  slot += S::place(S::index(P, t, 0));
#pragma unroll
  for (int r = 0; r < S::kV; ++r) x[r] = complex(slot[S::place(S::index(P, 0, r))]);
}

// The threads that exchange numbers between phase P and the next one wait for each other.
template <class S, int P>
__device__ __forceinline__ void sync_between(int barrier) {
  if constexpr (P == 0) {
    sync_unit<S>(barrier);
  } else {
    static_assert(S::low_bit(P) <= 5);
    __syncwarp();
  }
}

// Exchanges a number with lane ^ mask. Then the lane with the mask's bit clear holds `low` of both
// lanes, and the lane with that bit set (`odd`) holds `high` of both.
__device__ __forceinline__ void lane_exchange(double& low, double& high, bool odd, int mask) {
  const double other = __shfl_xor_sync(~0u, odd ? low : high, mask);
  low = odd ? other : low;
  high = odd ? high : other;
}
__device__ __forceinline__ void lane_exchange(Complex& low, Complex& high, bool odd, int mask) {
  lane_exchange(low.re, high.re, odd, mask);
  lane_exchange(low.im, high.im, odd, mask);
}
// Exchanges between the last phase, if it has one stage, and the phase before it.
template <class S>
__device__ __forceinline__ void shuffle_forward(Complex (&x)[S::kV], int t) {
  Complex y[S::kV];
#pragma unroll
  for (int r = 0; r < S::kV / 2; ++r) {
    Complex low = x[r], high = x[r + S::kV / 2];
    lane_exchange(low, high, t % 2 != 0, 1);
    y[2 * r] = low, y[2 * r + 1] = high;
  }
#pragma unroll
  for (int r = 0; r < S::kV; ++r) x[r] = y[r];
}
template <class S>
__device__ __forceinline__ void shuffle_inverse(Complex (&x)[S::kV], int t) {
  Complex y[S::kV];
#pragma unroll
  for (int r = 0; r < S::kV / 2; ++r) {
    Complex low = x[2 * r], high = x[2 * r + 1];
    lane_exchange(low, high, t % 2 != 0, 1);
    y[r] = low, y[r + S::kV / 2] = high;
  }
#pragma unroll
  for (int r = 0; r < S::kV; ++r) x[r] = y[r];
}

// Moves the numbers from phase 0 to the order of the last phase.
template <class S, int P = 0, class Roots>
__device__ __forceinline__ void fourier_forward(Complex (&x)[S::kV], double2* slot,
                                                const Roots& roots, int t, int barrier) {
  forward_phase<S, P>(x, roots, t);
  if constexpr (P + 1 < S::kPhases) {
    if constexpr (S::kShuffles && P + 2 == S::kPhases) {
      shuffle_forward<S>(x, t);
    } else {
      if constexpr (P == 0)
        sync_unit<S>(barrier);  // all threads have read the old content of the slot
      put<S, P>(slot, x, t);    // otherwise these are the places that take() of this phase has read
      sync_between<S, P>(barrier);
      take<S, P + 1>(x, slot, t);
    }
    fourier_forward<S, P + 1>(x, slot, roots, t, barrier);
  }
}

// The inverse, multiplied by N/2.
template <class S, int P = S::kPhases - 1, class Roots>
__device__ __forceinline__ void fourier_inverse(Complex (&x)[S::kV], double2* slot,
                                                const Roots& roots, int t, int barrier) {
  inverse_phase<S, P>(x, roots, t);
  if constexpr (P > 0) {
    constexpr int kLast = S::kPhases - 1;
    if constexpr (S::kShuffles && P == kLast) {
      shuffle_inverse<S>(x, t);
    } else {
      if constexpr (P == kLast - int{S::kShuffles}) sync_unit<S>(barrier);  // as above
      put<S, P>(slot, x, t);
      sync_between<S, P - 1>(barrier);
      take<S, P - 1>(x, slot, t);
    }
    fourier_inverse<S, P - 1>(x, slot, roots, t, barrier);
  }
}

}  // namespace latticino::cuda
