// The kernel of blind rotations that are spread over a cluster.
#pragma once

#include "backend/cuda/device/async_copy.cuh"
#include "backend/cuda/rotate/cluster/cluster.cuh"

namespace latticino::cuda {

// Initialises all sums before the first step, also those of the next rotation's class, and loads
// the exponents. All threads must call it.
template <class S>
__device__ __forceinline__ void begin_rotation(const ClusterArgs& args, std::uint32_t* shared,
                                               std::uint32_t rank, const RotateArgs::Item& item,
                                               const std::uint32_t* from) {
  const RotateArgs& a = args.rotate;
  const ClusterPlaces<S> at(a, args.stages);
  for (std::uint32_t i = threadIdx.x; i <= a.dimension; i += blockDim.x) {
    shared[at.exponents + i] = from[i];
  }
  const std::uint32_t e = from[a.dimension], rotated_residue_class = (rank + from[0]) % S::kBlocks;
  for (std::uint32_t w = threadIdx.x; w < S::parts(a) * S::kPrimes * S::kSlice; w += blockDim.x) {
    const std::uint32_t poly = w / S::kSlice, word = w % S::kSlice, p = poly % S::kPrimes;
    const auto entry = [&](std::uint32_t of_class) {
      if (poly >= S::kPrimes) return 0u;
      return turned(item.table + p * S::kN, S::coefficient(word, of_class), e, S::kLogN,
                    a.ring.modulus[a.prime[p]].q);
    };
    shared[at.own + w] = entry(rank);
    if (!S::kOneBlock && S::keys(a) == 1) shared[at.turned + w] = entry(rotated_residue_class);
  }
}

template <class S>
__device__ __forceinline__ void end_rotation(const ClusterUnit<S>& u, std::uint32_t* out) {
  for (int w = u.thread; w < S::parts(u.a) * S::kPrimes * S::kSlice; w += u.threads()) {
    const int poly = w / S::kSlice, word = w % S::kSlice;
    out[poly * S::kN + S::coefficient(word, u.rank)] = u.shared[u.at.own + w];
  }
}

// A thread's words of the keys, [key of the step][row]. They come through a ring buffer in shared
// memory. Each word is copied by the thread that reads it, so no threads need to wait for each
// other.
template <class S>
class ClusterKeys {
 public:
  __device__ __forceinline__ ClusterKeys(const ClusterUnit<S>& u, int stages)
      : u_(u), next_(u.a.key + u.rank * S::kSlice), left_(u.a.steps), stages_(stages) {
#pragma unroll 1
    for (int i = 0; i < stages; ++i) copy_next();
  }

  // The key words of the step.
  __device__ __forceinline__ const std::uint32_t* take() const {
    if (stages_ > 2) {
      wait_for_groups<2>();
    } else if (stages_ > 1) {
      wait_for_groups<1>();
    } else {
      wait_for_groups<0>();
    }
    return u_.shared + place();
  }
  // Replaces the key words of the step, once these have been multiplied.
  __device__ __forceinline__ void copy_next() {
    constexpr int kWords = kProductWords<S>;
    using Vector = WordVector<kWords>;
    if (left_ != 0) {
      const int polys = S::parts(u_.a) * S::kPrimes, rows = S::keys(u_.a) * S::rows(u_.a);
      u_.each_product([&](int component, int vector) {
        const int poly = component * S::kPrimes + u_.p;
        std::uint32_t* to = u_.shared + place() + poly * S::kSlice + kWords * vector;
        const std::uint32_t* from = next_ + poly * S::kN + kWords * vector;
#pragma unroll(S::kFixed ? 8 : 2)
        for (int row = 0; row < rows; ++row) {
          copy_async(reinterpret_cast<Vector*>(to), reinterpret_cast<const Vector*>(from));
          to += polys * S::kSlice, from += polys * S::kN;
        }
      });
      next_ += static_cast<std::size_t>(rows) * polys * S::kN;
      --left_;
    }
    end_group();
    stage_ = stage_ + 1 == stages_ ? 0 : stage_ + 1;
  }

 private:
  __device__ __forceinline__ std::uint32_t place() const {
    return u_.at.keys + stage_ * u_.at.key_words;
  }

  const ClusterUnit<S>& u_;
  const std::uint32_t* next_;  // the block's words of the next step to copy
  std::uint32_t left_;         // number of steps still to copy
  int stages_, stage_ = 0;
};

template <class S>
__device__ __forceinline__ void cluster_step(const ClusterUnit<S>& u, std::uint32_t step,
                                             ClusterKeys<S>& keys) {
  const std::uint32_t* exponents = u.shared + u.at.exponents + step * u.a.group;
  const bool turns = S::keys(u.a) == 1 && !S::kOneBlock, last = step + 1 == u.a.steps;
  if (turns && step > 0) u.wait(u.turned_arrivals(), step - 1, S::parts(u.a));
  send_digits(u, exponents[0]);
  if (S::keys(u.a) != 1) make_selectors(u, exponents);
  u.wait(u.digit_arrivals(), step, S::rows(u.a));
  transform_digits(u);
  u.sync_block();
  // Only over two primes, which have 27 bits in the named sets. Over one prime, of 30 bits there, a
  // sum of two products does not fit.
  if (S::kPrimes == 2 && sums_fit(u)) {
    multiply<false>(u, keys.take());
  } else {
    multiply<true>(u, keys.take());
  }
  u.sync_block();
  send_products(u);
  keys.copy_next();  // this runs while the thread waits for words of other blocks
  u.wait(u.product_arrivals(), step, S::parts(u.a));
  add_products(u, turns && !last, u.rank - exponents[u.a.group]);
  u.sync_block();
}

template <class S>
__global__ void __launch_bounds__(kClusterThreads<S>, 1)
    blind_rotate_cluster(const __grid_constant__ ClusterArgs args) {
  const RotateArgs& a = args.rotate;
  std::uint32_t* shared = dynamic_shared();
  const std::uint32_t rank = S::kOneBlock ? 0 : cluster_rank(), index = blockIdx.x / S::kBlocks;
  const RotateArgs::Item& item = a.item_of(index);
  begin_rotation<S>(args, shared, rank, item, item.exponents + (index - item.first) * item.stride);
  if (!S::kOneBlock) {
    if (threadIdx.x == 0) {
      const std::uint32_t bytes = S::kPrimes * S::kSlice * sizeof(std::uint32_t);
      auto* counts = reinterpret_cast<std::uint64_t*>(shared);
      Arrivals{counts}.begin(S::rows(a) * bytes);
      Arrivals{counts + 1}.begin(S::parts(a) * bytes);
      Arrivals{counts + 2}.begin(S::parts(a) * bytes);
    }
    sync_cluster();
  }
  __syncthreads();
  const auto u = make_unit<S>(args, shared, rank);
  ClusterKeys<S> keys(u, args.stages);
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.steps; ++step) cluster_step(u, step, keys);
  end_rotation(u, item.out + std::size_t(index - item.first) * S::parts(a) * S::kPrimes * S::kN);
  if (!S::kOneBlock)
    sync_cluster();  // a block stays until all blocks have received what was sent to them
}

}  // namespace latticino::cuda
