// Rows of Transform (Half <-> Eval): the part of a block in a launch, for one polynomial, or for
// several in turn with their twiddles kept.
#pragma once

#include <cstdint>

#include "backend/cuda/device/async_copy.cuh"
#include "backend/cuda/device/overlap.cuh"
#include "backend/cuda/ntt/args.cuh"
#include "backend/cuda/ntt/rows.cuh"

namespace latticino::cuda {

// A factor of products that is being loaded while tables and the other factor are: in slots of the
// thread's own.
template <class S>
struct FactorCopies {
  uint4* slots;
  __device__ __forceinline__ void request(const std::uint32_t* limb, const RowPosition<S>& at) {
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      copy_async(slots + j * S::kBlockThreads,
                 reinterpret_cast<const uint4*>(limb) + at.vector() + j * S::kThreads);
    }
  }
  __device__ __forceinline__ void multiply(std::uint32_t (&x)[S::kValues], const Modulus& m) const {
    const auto product = [&](std::uint32_t& v, std::uint32_t w) {
      v = reduce_products(static_cast<std::uint64_t>(v) * w, m);
    };
    wait_for_copies();
#pragma unroll
    for (int j = 0; j < S::kVectors; ++j) {
      const uint4 w = slots[j * S::kBlockThreads];
      product(x[4 * j], w.x), product(x[4 * j + 1], w.y);
      product(x[4 * j + 2], w.z), product(x[4 * j + 3], w.w);
    }
  }
};

enum class Rows { Forward, Inverse, InverseOfProduct };

template <class S, Rows KIND, class Twiddles>
__device__ __forceinline__ void transform_row(const TransformArgs& a, const BlockLimb& limb,
                                              const Twiddles& twiddles, const RowPosition<S>& at,
                                              const Modulus& m, uint4* slots, bool last) {
  std::uint32_t x[S::kValues];
  if constexpr (KIND == Rows::Forward) {
    load_half<S>(x, limb.in, at);
    row_forward<S>(x, twiddles, at, m);
#pragma unroll
    for (int j = 0; j < S::kValues; ++j) x[j] = fold(x[j], m.q);
    if (last) allow_next();
    store_eval<S>(x, limb.out, at);
  } else {
    constexpr bool PRODUCT = KIND == Rows::InverseOfProduct;
    FactorCopies<S> factor{slots + threadIdx.x};
    if constexpr (PRODUCT) factor.request(limb.times, at);
    load_eval<S>(x, limb.in, at);
    const Shoup inverse_cols = a.ring.inverse[limb.prime].cols;
    if constexpr (PRODUCT) factor.multiply(x, m);
    row_inverse<S>(x, twiddles, at, inverse_cols, m);
    if (last) allow_next();
    store_half<S>(x, limb.out, at);
  }
}

template <class S>
__device__ __forceinline__ RowTwiddles<S> load_row_twiddles(const TransformArgs& a, bool forward,
                                                            int prime, const RowPosition<S>& at) {
  RowTwiddles<S> twiddles;
  twiddles.load(forward ? a.rows.psi : a.rows.psi_inv, forward ? a.rows.units : a.rows.units_inv,
                prime, at);
  return twiddles;
}

// Grid: (rows, limbs, polynomials). `shared`: kSharedWords. LOADED: no twiddles are made.
template <class S, Rows KIND, bool LOADED = false>
__device__ __forceinline__ void rows_of_block(const TransformArgs& a, std::uint32_t* shared,
                                              uint4* slots) {
  const TransformArgs::Item& item = a.item[blockIdx.z];
  const int place = blockIdx.y;
  if (place >= item.limbs) return;
  const BlockLimb limb(a, item, place);
  const auto at = RowPosition<S>::in_block(shared, a.log_rows);
  const Modulus m = load_modulus(a.ring.modulus + limb.prime);
  constexpr bool FORWARD = KIND == Rows::Forward;
  const auto twiddles = load_row_twiddles<S>(a, FORWARD, limb.prime, at);
  wait_for_previous();
  if constexpr (LOADED) {
    const std::uint32_t* table = (FORWARD ? a.ring.psi : a.ring.psi_inv) +
                                 (static_cast<std::size_t>(limb.prime) << a.ring.log_n);
    transform_row<S, KIND>(a, limb, LoadedRowTwiddles<S>(twiddles, table, at), at, m, slots, true);
  } else {
    transform_row<S, KIND>(a, limb, twiddles, at, m, slots, true);
  }
}

// The same rows of every gridDim.z-th polynomial; all have the same primes.
template <class S, Rows KIND>
__device__ __forceinline__ void kept_rows_of_block(const TransformArgs& a, std::uint32_t* shared) {
  static_assert(KIND != Rows::InverseOfProduct);
  const int place = blockIdx.y;
  const int prime = BlockLimb(a, a.item[blockIdx.z], place).prime;
  const auto at = RowPosition<S>::in_block(shared, a.log_rows);
  const Modulus m = load_modulus(a.ring.modulus + prime);
  const HeldRowTwiddles<S> twiddles(load_row_twiddles<S>(a, KIND == Rows::Forward, prime, at), m);
  wait_for_previous();
#pragma unroll 1
  for (std::uint32_t poly = blockIdx.z; poly < a.count; poly += gridDim.z) {
    transform_row<S, KIND>(a, BlockLimb(a, a.item[poly], place), twiddles, at, m, nullptr,
                           poly + gridDim.z >= a.count);
  }
}

}  // namespace latticino::cuda
