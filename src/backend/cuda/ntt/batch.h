// Packs polynomials of one ring into launches of the kernels of Transform.
#pragma once

#include <algorithm>
#include <vector>

#include "backend/cuda/launch/launch.h"
#include "backend/cuda/ntt/args.cuh"

namespace latticino::cuda {

// A polynomial to be transformed, or the first one of an array: `count` polynomials whose limbs
// follow each other, in the same order of primes.
struct TransformPair {
  PolyView in, out;
  PolyView times = {};
  std::uint32_t count = 1;
};

// Words from one member of an array to the next.
inline std::size_t array_stride(const TransformPair& array) {
  return static_cast<std::size_t>(array.in.limbs()) * array.in.ring->n();
}
inline TransformPair member(TransformPair array, std::uint32_t index) {
  for (PolyView* v : {&array.in, &array.out}) v->data += index * array_stride(array);
  array.count = 1;
  return array;
}

// The number of blocks for one limb of `count` polynomials, which the blocks share evenly. Together
// with the blocks of all `limbs`, they are at most as many as run at once.
inline unsigned even_blocks(std::uint32_t count, unsigned limbs, unsigned at_once) {
  const std::uint32_t most = std::clamp<std::uint32_t>(at_once / limbs, 1, count);
  const std::uint32_t each = (count + most - 1) / most;
  return (count + each - 1) / each;
}

class TransformBatch {
 public:
  TransformBatch(Launcher& launcher, const Ring& ring) : launcher_(launcher) {
    args_.ring = ring_view(launcher, ring);
    args_.rows = row_view(launcher, ring);
    args_.log_rows = half_log_rows(ring.log_n());
    args_.log_cols = ring.log_n() - args_.log_rows;
  }

  Launcher& launcher() const { return launcher_; }

  // Arrays are for kernels of the form of ntt/block.cuh. launch(args, limbs) for each launch that
  // the pairs need: args.count polynomials of at most `limbs` limbs.
  template <class Launch>
  void each_launch(const std::vector<TransformPair>& pairs, const Launch& launch) {
    const auto flush = [&] {
      if (args_.count > 0) launch(args_, static_cast<unsigned>(limbs_));
      args_.count = 0, args_.stride = 0;
      runs_ = limbs_ = 0;
    };
    flush();
    for (const TransformPair& pair : pairs) {
      const std::vector<int> starts = bounds_of(pair);
      const int runs = static_cast<int>(starts.size());
      const bool array = pair.count > 1;
      if (array || args_.count == kItems || runs_ + runs > TransformArgs::kRuns) flush();
      add(pair, starts);
      if (array) {
        args_.stride = array_stride(pair);
        args_.count = pair.count;
        flush();
      }
    }
    flush();
  }

 private:
  static constexpr std::uint32_t kItems = TransformArgs::kItems;

  // The bounds of the runs of primes in which all views stay in one segment.
  static std::vector<int> bounds_of(const TransformPair& pair) {
    RunBounds bounds;
    bounds.add(pair.in);
    bounds.add(pair.out);
    bounds.add(pair.times);
    std::vector<int> at;
    for (const int prime : bounds.sorted()) {
      if (pair.in.basis().contains(prime)) at.push_back(prime);
    }
    return at;
  }

  void add(const TransformPair& pair, const std::vector<int>& starts) {
    const int count = static_cast<int>(starts.size());
    TransformArgs::Item& item = args_.item[args_.count++];
    item = {static_cast<std::int16_t>(runs_), static_cast<std::int16_t>(count),
            static_cast<std::int16_t>(pair.in.limbs())};
    limbs_ = std::max<int>(limbs_, item.limbs);
    const Basis basis = pair.in.basis();
    for (int place = 0, next = 0; place < basis.size(); ++place) {
      if (next == count || basis.prime(place) != starts[next]) continue;
      const int prime = starts[next++];
      args_.run[runs_++] = {static_cast<std::int16_t>(place), static_cast<std::int16_t>(prime),
                            LimbBase(pair.in, prime), LimbBase(pair.out, prime),
                            LimbBase(pair.times, prime)};
    }
  }

  Launcher& launcher_;
  TransformArgs args_{};
  int runs_ = 0, limbs_ = 0;
};

}  // namespace latticino::cuda
