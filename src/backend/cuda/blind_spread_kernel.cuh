// The kernel of spread blind rotations.
#pragma once

#include "backend/cuda/async_copy.cuh"
#include "backend/cuda/blind_spread.cuh"

namespace latticino::cuda {

// Every sum before the first step, and what that turns; the exponents. All threads.
template <class S>
__device__ __forceinline__ void begin_rotation(const SpreadArgs& args, std::uint32_t* shared,
                                               std::uint32_t rank, const RotateArgs::Item& item,
                                               const std::uint32_t* from) {
  const RotateArgs& a = args.rotate;
  const SpreadPlaces<S> at(a, args.stages);
  for (std::uint32_t i = threadIdx.x; i <= a.dimension; i += blockDim.x) {
    shared[at.exponents + i] = from[i];
  }
  const std::uint32_t e = from[a.dimension], turned_class = (rank + from[0]) % S::kBlocks;
  for (std::uint32_t w = threadIdx.x; w < S::parts(a) * S::kPrimes * S::kSlice; w += blockDim.x) {
    const std::uint32_t poly = w / S::kSlice, word = w % S::kSlice, p = poly % S::kPrimes;
    const auto entry = [&](std::uint32_t of_class) {
      if (poly >= S::kPrimes) return 0u;
      return turned(item.table + p * S::kN, S::coefficient(word, of_class), e, S::kLogN,
                    a.ring.modulus[a.prime[p]].q);
    };
    shared[at.own + w] = entry(rank);
    if (!S::kAlone && S::keys(a) == 1) shared[at.turned + w] = entry(turned_class);
  }
}

template <class S>
__device__ __forceinline__ void end_rotation(const SpreadUnit<S>& u, std::uint32_t* out) {
  for (int w = u.thread; w < S::parts(u.a) * S::kPrimes * S::kSlice; w += u.threads()) {
    const int poly = w / S::kSlice, word = w % S::kSlice;
    out[poly * S::kN + S::coefficient(word, u.rank)] = u.shared[u.at.own + w];
  }
}

// The block's rows of the keys of a step, by one warp.
template <class S>
__device__ __forceinline__ void copy_keys(const SpreadArgs& args, std::uint32_t* shared,
                                          std::uint32_t rank, std::uint32_t step, int stage) {
  constexpr int kVectors = S::kSlice / 4;
  static_assert(kVectors % S::kCopyThreads == 0);
  const RotateArgs& a = args.rotate;
  if (step < a.steps) {
    const SpreadPlaces<S> at(a, args.stages);
    const int polys = S::keys(a) * S::rows(a) * S::parts(a) * S::kPrimes;
    auto* to = reinterpret_cast<uint4*>(shared + at.keys + stage * at.key_words) + threadIdx.x;
    const auto* from = reinterpret_cast<const uint4*>(a.key) +
                       std::size_t(step) * polys * (S::kN / 4) + rank * kVectors + threadIdx.x;
#pragma unroll 4
    for (int poly = 0; poly < polys; ++poly) {
#pragma unroll
      for (int v = 0; v < kVectors; v += S::kCopyThreads) copy_async(to + v, from + v);
      to += kVectors, from += S::kN / 4;
    }
  }
  end_group();
}

__device__ __forceinline__ int next_stage(int stage, int stages) {
  return stage + 1 == stages ? 0 : stage + 1;
}

// The warp that copies.
template <class S>
__device__ __forceinline__ void copy_all_keys(const SpreadArgs& args, std::uint32_t* shared,
                                              std::uint32_t rank) {
  const RotateArgs& a = args.rotate;
  const int threads = S::threads(S::rows(a)) + S::kCopyThreads;
  for (int s = 0; s < args.stages; ++s) copy_keys<S>(args, shared, rank, s, s);
  int stage = 0;
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.steps; ++step) {
    if (args.stages == 1) wait_for_groups<0>();
    if (args.stages == 2) wait_for_groups<1>();
    if (args.stages == 3) wait_for_groups<2>();
    meet_threads(kKeysCome, threads);
    meet_threads(kKeysRead, threads);
    copy_keys<S>(args, shared, rank, step + args.stages, stage);
    stage = next_stage(stage, args.stages);
  }
}

template <class S>
__device__ __forceinline__ void spread_step(const SpreadUnit<S>& u, std::uint32_t step,
                                            const std::uint32_t* keys) {
  const std::uint32_t* exponents = u.shared + u.at.exponents + step * u.a.group;
  const bool turns = S::keys(u.a) == 1 && !S::kAlone, last = step + 1 == u.a.steps;
  if (turns && step > 0) u.wait(u.turned_come(), step - 1, S::parts(u.a));
  send_digits(u, exponents[0]);
  if (S::keys(u.a) != 1) make_selectors(u, exponents);
  u.wait(u.digits_come(), step, S::rows(u.a));
  transform_digits(u);
  u.meet_at(kKeysCome);
  // Only over two primes, of 27 bits in the named sets: over one, of 30 bits there, sums of two
  // products do not fit.
  if (S::kPrimes == 2 && sums_fit(u)) {
    multiply<false>(u, keys);
  } else {
    multiply<true>(u, keys);
  }
  u.meet_at(kKeysRead);
  send_products(u);
  u.wait(u.products_come(), step, S::parts(u.a));
  add_products(u, turns && !last, u.rank - exponents[u.a.group]);
  u.meet();
}

template <class S>
__global__ void __launch_bounds__(kSpreadThreads<S>, 1)
    spread_rotate(const __grid_constant__ SpreadArgs args) {
  const RotateArgs& a = args.rotate;
  std::uint32_t* shared = dynamic_shared();
  const std::uint32_t rank = S::kAlone ? 0 : cluster_rank(), index = blockIdx.x / S::kBlocks;
  const RotateArgs::Item& item = a.item_of(index);
  begin_rotation<S>(args, shared, rank, item, item.exponents + (index - item.first) * item.stride);
  if (!S::kAlone) {
    if (threadIdx.x == 0) {
      const std::uint32_t bytes = S::kPrimes * S::kSlice * sizeof(std::uint32_t);
      auto* counts = reinterpret_cast<std::uint64_t*>(shared);
      Arrivals{counts}.begin(S::rows(a) * bytes);
      Arrivals{counts + 1}.begin(S::parts(a) * bytes);
      Arrivals{counts + 2}.begin(S::parts(a) * bytes);
    }
    meet_cluster();
  }
  __syncthreads();
  if (threadIdx.x < S::kCopyThreads) return copy_all_keys<S>(args, shared, rank);
  const auto u = make_unit<S>(args, shared, rank, threadIdx.x - S::kCopyThreads);
  const std::uint32_t* keys = shared + u.at.keys;
  int stage = 0;
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.steps; ++step) {
    spread_step(u, step, keys + stage * u.at.key_words);
    stage = next_stage(stage, args.stages);
  }
  end_rotation(u, item.out + std::size_t(index - item.first) * S::parts(a) * S::kPrimes * S::kN);
}

}  // namespace latticino::cuda
