// The forms of a transform between Coeff and Eval, their numbers in tuning.h, and the forms that a
// shape can take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/layout.h"
#include "backend/tuning.h"

namespace latticino::cuda {

// Columns and rows in one launch each; scratch memory holds the result between them.
constexpr int kTwoLaunches = 0;
// A block transforms a whole limb in shared memory.
constexpr int kOneBlock = 1;
// The same, but a block keeps the twiddles of its prime, as Shoup pairs in registers, while it
// transforms that limb of one polynomial after the other.
constexpr int kKeptBlock = 2;
// Two launches whose blocks of rows keep twiddles in this way.
constexpr int kKeptRows = 3;

// Degrees of the forms with one block. Up to the second, all twiddles of a thread fit into its
// registers.
constexpr int kFirstBlockDegree = 10, kLastKeptDegree = 13, kLastBlockDegree = 15;

// The shape of a limb in shared memory (ntt/block.cuh).
LATTICINO_HOST_DEVICE constexpr int row_threads(int log_n) {
  const int log_cols = log_n - log_rows_of(log_n);
  return 1 << (log_cols - log_radix(log_cols));
}
// On the side of Coeff, neighbouring lanes hold the words of so many columns. So whole sectors of
// global memory are read, and rows of so many threads find their columns in different banks.
LATTICINO_HOST_DEVICE constexpr int lane_columns(int log_n) {
  return row_threads(log_n) < 8 ? 8 : row_threads(log_n);
}
LATTICINO_HOST_DEVICE constexpr int strip_stride(int log_n) {
  return (kLineColumns << log_rows_of(log_n)) + 128 / lane_columns(log_n);
}
LATTICINO_HOST_DEVICE constexpr std::size_t block_bytes(int log_n) {
  const int strips = (1 << (log_n - log_rows_of(log_n))) / kLineColumns;
  return sizeof(std::uint32_t) * strips * strip_stride(log_n);
}

constexpr int kTransformItems = 60;  // items per launch

struct TransformCase {
  int log_n = 0;
  bool forward = true;
  int limbs = 0;            // the most limbs of a polynomial
  std::uint32_t items = 0;  // polynomials
  bool alike = true;        // whether all polynomials have the same primes
  bool array = false;       // whether they follow one another in memory
};

class TransformForms {
 public:
  TransformForms(const TransformCase& x, int sms, std::size_t shared_per_block)
      : can_run_(1u << kTwoLaunches) {
    const bool block = x.log_n >= kFirstBlockDegree && x.log_n <= kLastBlockDegree &&
                       block_bytes(x.log_n) <= shared_per_block;
    if (block) can_run_ |= 1u << kOneBlock;
    if (x.items > 1 && x.alike) {
      can_run_ |= 1u << kKeptRows;
      if (block && x.log_n <= kLastKeptDegree) can_run_ |= 1u << kKeptBlock;
    }
    // As measured on an H200 (docs/lab/variants.md). A single block saves a launch. Up to 2^12 that
    // gains more than the other multiprocessors would, and for the inverse transform also at 2^13
    // if half of the multiprocessors have a limb. Kept twiddles gain if no multiprocessor has two
    // limbs, and at 2^10.
    const std::uint64_t limbs = static_cast<std::uint64_t>(x.limbs) * x.items;
    const auto blocks = static_cast<std::uint64_t>(sms);
    const bool alone = limbs <= blocks, back = !x.forward && 2 * limbs >= blocks;
    if (block && (x.log_n <= 12 || (x.log_n == 13 && (x.array || back)))) own_ = kOneBlock;
    const bool kept = (can_run_ >> kKeptBlock & 1) != 0 && !x.array;
    if (kept && (x.log_n == 10 || (x.log_n <= 12 && alone))) own_ = kKeptBlock;
    // A single-block form takes an array in one launch. Columns and rows take one launch each for
    // every kItems members.
    if (block && x.array && x.items > kMaxArrayLaunches * kItems) {
      can_run_ &= ~(1u << kTwoLaunches | 1u << kKeptRows);
      own_ = kOneBlock;
    }
  }

  int own() const { return own_; }
  Tuning::Variants can_run() const { return can_run_; }

 private:
  static constexpr std::uint32_t kItems = kTransformItems, kMaxArrayLaunches = 8;

  Tuning::Variants can_run_;
  int own_ = kTwoLaunches;
};

inline TuningKey tuning_key(const TransformCase& x) {
  constexpr std::uint32_t kMax = 1u << 30;
  return {TunedKernel::Transform,
          x.log_n,
          {x.forward ? 0 : 1, x.limbs, static_cast<int>(std::min(x.items, kMax)), 0}};
}

}  // namespace latticino::cuda
