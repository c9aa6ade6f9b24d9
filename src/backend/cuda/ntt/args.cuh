// Arguments of the kernels of Transform, and where a block of them finds its limb.
#pragma once

#include <cstdint>

#include "backend/cuda/device/limb_base.h"
#include "backend/cuda/device/tables.h"
#include "backend/cuda/ntt/forms.h"

namespace latticino::cuda {

// Polynomials of a launch: `count` items, or one item that stands for an array of `count` whose
// members follow `stride` words apart. A block reads the addresses of its limb from here.
struct TransformArgs {
  static constexpr int kItems = kTransformItems, kRuns = 128;

  RingView ring;
  RowView rows;
  int log_rows, log_cols;
  std::uint32_t count;
  std::size_t stride;  // 0: the item is no array
  struct Item {
    std::int16_t first_run, runs, limbs;
  } item[kItems];
  struct Run {
    std::int16_t begin, prime;  // begin: position of its first prime among the limbs of the item
    LimbBase in, out, times;    // `times` is only used by products
  } run[kRuns];
};

// The limb at `place` of an item. In an array, of the member that begins so many words after the
// first.
struct BlockLimb {
  int prime;
  const std::uint32_t *in, *times;
  std::uint32_t* out;
  __device__ __forceinline__ BlockLimb(const TransformArgs& a, const TransformArgs::Item& item,
                                       int place, std::size_t skip = 0) {
    const TransformArgs::Run* run = a.run + item.first_run;
    for (int r = 1; r < item.runs && run[1].begin <= place; ++r) ++run;
    prime = run->prime + place - run->begin;
    const std::size_t offset = (static_cast<std::size_t>(prime) << a.ring.log_n) + skip;
    in = run->in.limb(offset);
    times = run->times.limb(offset);
    out = run->out.limb(offset);
  }
};

// The item that a polynomial of the launch belongs to.
__device__ __forceinline__ const TransformArgs::Item& item_of(const TransformArgs& a,
                                                              std::uint32_t poly) {
  return a.item[a.stride == 0 ? poly : 0];
}
__device__ __forceinline__ BlockLimb limb_of(const TransformArgs& a, std::uint32_t poly,
                                             int place) {
  return {a, item_of(a, poly), place, poly * a.stride};
}

}  // namespace latticino::cuda
