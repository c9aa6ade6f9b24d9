// Transforms of the FP64 arithmetic (math/fourier.h) of polynomials that lie in the C blocks of a
// cluster, position j in block j modulo C. A warp holds a block's numbers of one polynomial, the
// positions rank + C l, and runs the stages that pair numbers of a block (slice_forward); the rest
// pairs the C numbers of one l, a tuple, which lie in neighbouring lanes then (tuple_forward).
// Lanes exchange numbers by shuffles, so a transform needs no barrier.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "backend/cuda/rotate/fft/transform.cuh"

namespace latticino::cuda {

template <int LOG_N, int LOG_BLOCKS>
struct FourierSlice {
  static constexpr int kLogN = LOG_N, kN = 1 << LOG_N, kLogM = LOG_N - 1, kM = kN / 2;
  static constexpr int kLogBlocks = LOG_BLOCKS, kBlocks = 1 << LOG_BLOCKS;
  static constexpr int kLogSlice = kLogM - LOG_BLOCKS, kSlice = 1 << kLogSlice;
  static constexpr int kLogV = kLogSlice - 5, kV = 1 << kLogV;  // numbers per lane
  static constexpr int kTuples = kSlice / kBlocks;              // tuples per block
  static_assert(kLogV >= 0 && kLogV <= 2, "one root serves all pairs of a lane in a stage");
  static_assert(LOG_BLOCKS <= 4, "a tuple is in half a warp");

  // A lane of the tuples: its element, the tuple of its warp, and its component.
  static constexpr int kElementBit = 5 - LOG_BLOCKS, kWarpTuples = 16 / kBlocks;

  // Register r of a lane holds l = 32 r + lane before the stages and after those back. Stage s
  // pairs bit kLogSlice - 1 - s of l, which then is bit bit_of(s) of r. The upper bits of l are in
  // r from the start. A lower bit is brought there: it is exchanged for the bit in r that was
  // paired longest ago.
  LATTICINO_HOST_DEVICE static constexpr int bit_of(int stage) {
    return kLogV == 0 ? 0 : kLogV - 1 - stage % kLogV;
  }
  LATTICINO_HOST_DEVICE static constexpr int lane_bit(int stage) { return kLogSlice - 1 - stage; }
  // After all stages, register r holds l = kV lane + low_bits(r).
  LATTICINO_HOST_DEVICE static constexpr int low_bits(int r) {
    int low = 0;
    for (int bit = 0; bit < kLogV; ++bit) low |= (r >> bit_of(kLogSlice - 1 - bit) & 1) << bit;
    return low;
  }
};

__device__ __forceinline__ Complex shuffled(Complex x, int mask) {
  return {__shfl_xor_sync(~0u, x.re, mask), __shfl_xor_sync(~0u, x.im, mask)};
}
__device__ __forceinline__ Complex choose(bool first, Complex a, Complex b) {
  return {first ? a.re : b.re, first ? a.im : b.im};
}

// The root of block k of a stage.
__device__ __forceinline__ Complex stage_root(const double2* roots, int stage, std::uint32_t k) {
  const Complex w = complex(roots[((1u << stage) + k) / 2]);
  return k % 2 != 0 ? fourier::times_i(w) : w;
}

// Butterflies (x, y) of lanes that hold one number each, lane ^ mask with lane. The lane where the
// mask's bit is clear holds x and keeps the first result. The other one holds y and keeps the
// second result. Both lanes compute the same expressions without branches, with these factors:
struct LaneRoot {
  Complex forward, inverse;  // factors: w and 1 in the lane of x, -w and w in the lane of y
  double back;               // 0 in the lane of x, -2 in the lane of y
  int sign;                  // 0 in the lane of x, the sign bit in the lane of y

  __device__ __forceinline__ void set(Complex w, bool is_y) {
    forward = is_y ? Complex{-w.re, -w.im} : w;
    inverse = is_y ? w : Complex{1, 0};
    back = is_y ? -2 : 0;
    sign = is_y ? INT32_MIN : 0;
  }
  __device__ __forceinline__ double minus_for_y(double x) const {
    return __hiloint2double(__double2hiint(x) ^ sign, __double2loint(x));
  }
  __device__ __forceinline__ Complex minus_for_y(Complex x) const {
    return {minus_for_y(x.re), minus_for_y(x.im)};
  }
};

// The lane of x gets x + w y. That of y gets x - w y: it computes -x - w y and adds 2 x. The order
// of operations is that of fourier::butterfly(), so that all words are equal.
__device__ __forceinline__ Complex lanes_forward(Complex own, Complex other, const LaneRoot& root,
                                                 bool is_y) {
  const Complex x = root.minus_for_y(choose(is_y, other, own)), y = choose(is_y, own, other);
  const Complex w = root.forward;
  const double re = fourier::fused_add(-w.im, y.im, fourier::fused_add(w.re, y.re, x.re));
  const double im = fourier::fused_add(w.im, y.re, fourier::fused_add(w.re, y.im, x.im));
  return {fourier::fused_add(root.back, x.re, re), fourier::fused_add(root.back, x.im, im)};
}

// The lane of x gets x + y, and that of y (x - y) / w.
__device__ __forceinline__ Complex lanes_inverse(Complex own, Complex other, const LaneRoot& root) {
  const Complex w = root.inverse, mine = root.minus_for_y(own);
  const Complex d = {fourier::plus(other.re, mine.re), fourier::plus(other.im, mine.im)};
  return {fourier::fused_add(d.im, w.im, fourier::times(d.re, w.re)),
          fourier::fused_add(-d.re, w.im, fourier::times(d.im, w.re))};
}

// A lane's roots for all stages of a slice; pairs whose other bit of r is set take i times these.
template <class S>
struct SliceRoots {
  std::conditional_t<S::kLogV == 0, LaneRoot, Complex> w[S::kLogSlice];

  __device__ __forceinline__ SliceRoots(const double2* roots, std::uint32_t lane) {
#pragma unroll
    for (int s = 0; s < S::kLogSlice; ++s) {
      if constexpr (S::kLogV == 0) {  // l is the lane
        w[s].set(stage_root(roots, s, lane >> (S::lane_bit(s) + 1)),
                 (lane >> S::lane_bit(s) & 1) != 0);
      } else {
        w[s] = stage_root(roots, s, s < S::kLogV ? 0 : lane >> S::lane_bit(s) << (S::kLogV - 1));
      }
    }
  }
  template <int STAGE>
  __device__ __forceinline__ Complex of(int r) const {
    const bool odd = S::kLogV == 2 && STAGE > 0 && (r >> (1 - S::bit_of(STAGE)) & 1) != 0;
    return odd ? fourier::times_i(w[STAGE]) : w[STAGE];
  }
};

// f(r, partner) for the pairs of a stage.
template <class S, int STAGE, class F>
__device__ __forceinline__ void each_pair(const F& f) {
#pragma unroll
  for (int r = 0; r < S::kV; ++r) {
    if ((r >> S::bit_of(STAGE) & 1) == 0) f(r, r | 1 << S::bit_of(STAGE));
  }
}

// Swaps the stage's bits of r and of the lane.
template <class S, int STAGE>
__device__ __forceinline__ void slice_exchange(Complex (&x)[S::kV], std::uint32_t lane) {
  constexpr int kBit = S::lane_bit(STAGE);
  each_pair<S, STAGE>(
      [&](int a, int b) { lane_exchange(x[a], x[b], (lane >> kBit & 1) != 0, 1 << kBit); });
}

// The stages below END.
template <class S, int STAGE = 0, int END = S::kLogSlice>
__device__ __forceinline__ void slice_forward(Complex (&x)[S::kV], const SliceRoots<S>& roots,
                                              std::uint32_t lane) {
  if constexpr (S::kLogV == 0) {
    constexpr int kMask = 1 << S::lane_bit(STAGE);
    x[0] = lanes_forward(x[0], shuffled(x[0], kMask), roots.w[STAGE], (lane & kMask) != 0);
  } else {
    if constexpr (STAGE >= S::kLogV) slice_exchange<S, STAGE>(x, lane);
    each_pair<S, STAGE>(
        [&](int a, int b) { fourier::butterfly(x[a], x[b], roots.template of<STAGE>(a)); });
  }
  if constexpr (STAGE + 1 < END) slice_forward<S, STAGE + 1, END>(x, roots, lane);
}

template <class S, int STAGE = S::kLogSlice - 1>
__device__ __forceinline__ void slice_inverse(Complex (&x)[S::kV], const SliceRoots<S>& roots,
                                              std::uint32_t lane) {
  if constexpr (S::kLogV == 0) {
    constexpr int kMask = 1 << S::lane_bit(STAGE);
    x[0] = lanes_inverse(x[0], shuffled(x[0], kMask), roots.w[STAGE]);
  } else {
    each_pair<S, STAGE>(
        [&](int a, int b) { fourier::inverse_butterfly(x[a], x[b], roots.template of<STAGE>(a)); });
    if constexpr (STAGE >= S::kLogV) slice_exchange<S, STAGE>(x, lane);
  }
  if constexpr (STAGE > 0) slice_inverse<S, STAGE - 1>(x, roots, lane);
}

// The last stages, of one number per lane: position `position` of the polynomial, whose lowest bits
// are the lane's highest.
template <class S>
struct TupleRoots {
  LaneRoot w[S::kLogBlocks];

  __device__ __forceinline__ TupleRoots(const double2* roots, std::uint32_t position) {
#pragma unroll
    for (int s = 0; s < S::kLogBlocks; ++s) {
      w[s].set(stage_root(roots, S::kLogSlice + s, position >> (S::kLogBlocks - s)),
               (position & mask(s)) != 0);
    }
  }
  static __device__ __forceinline__ std::uint32_t mask(int s) { return S::kBlocks >> (s + 1); }
  static __device__ __forceinline__ std::uint32_t lanes(int s) { return mask(s) << S::kElementBit; }
};

template <class S, int COUNT>
__device__ __forceinline__ void tuple_forward(Complex (&x)[COUNT], const TupleRoots<S>& roots,
                                              std::uint32_t lane) {
#pragma unroll
  for (int s = 0; s < S::kLogBlocks; ++s) {
    const std::uint32_t mask = roots.lanes(s);
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const Complex other = shuffled(x[i], static_cast<int>(mask));
      x[i] = lanes_forward(x[i], other, roots.w[s], (lane & mask) != 0);
    }
  }
}

// The inverse, except for its last stage.
template <class S>
__device__ __forceinline__ Complex tuple_inverse(Complex x, const TupleRoots<S>& roots) {
#pragma unroll
  for (int s = S::kLogBlocks - 1; s > 0; --s) {
    x = lanes_inverse(x, shuffled(x, static_cast<int>(roots.lanes(s))), roots.w[s]);
  }
  return x;
}

}  // namespace latticino::cuda
