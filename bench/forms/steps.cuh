// What a thread computes in a step, in both forms of fused stages, and a whole transform of them.
// Everything is canonical, and butterflies are those of the library's words (device/modular.cuh).
#pragma once

#include <cstdint>

#include "backend/cuda/device/modular.cuh"
#include "forms/barriers.cuh"
#include "forms/plan.h"

namespace latticino::bench::forms {

using cuda::Modulus;

struct Args {
  Plan plan;
  int first, last;  // steps of this launch
  const std::uint32_t *psi, *in;
  std::uint32_t *out, *replica;
  Modulus m;
  BarrierArgs barrier;
};

// Some stages of a transform, from `first` on, and its tables.
struct Stages {
  Network net;
  int first;
  const std::uint32_t* psi;
  Modulus m;
};

template <int STAGES, class Read>
__device__ __forceinline__ void read_group(std::uint32_t (&x)[1 << STAGES], const Group& group,
                                           const Read& read) {
#pragma unroll
  for (int k = 0; k < 1 << STAGES; ++k) x[k] = read(group.entry(k));
}

// Thread aggregation. With one stage it is the usual radix-2 transform. Works in place.
template <int FUSED>
struct Aggregated {
  static constexpr int kFused = FUSED;
  static constexpr bool kDecomposed = false;

  template <int STAGES, class Read, class Write>
  static __device__ __forceinline__ void run(const Stages& stages, std::uint32_t t,
                                             const Read& read, const Write& write) {
    constexpr int kEntries = 1 << STAGES;
    const Group group = group_of(stages.net, stages.first, STAGES, t);
    const Modulus& m = stages.m;
    std::uint32_t x[kEntries];
    read_group<STAGES>(x, group, read);
#pragma unroll
    for (int d = 0; d < STAGES; ++d) {
      const int h = kEntries >> (d + 1);
#pragma unroll
      for (int b = 0; b < kEntries / 2; ++b) {
        const int low = b / h * 2 * h + b % h;
        const std::uint32_t w = __ldg(stages.psi + (group.node << d) + b / h);
        const std::uint32_t u = x[low], v = cuda::mul_mod(x[low + h], w, m);
        x[low] = cuda::add_mod(u, v, m.q);
        x[low + h] = cuda::sub_mod(u, v, m.q);
      }
    }
#pragma unroll
    for (int k = 0; k < kEntries; ++k) write(group.entry(k), x[k]);
  }
};

// Butterfly decomposition. Threads read what others of their group write, so it needs a replica. A
// half is chosen by a select where the paper's threads diverge.
template <int FUSED>
struct Decomposed {
  static constexpr int kFused = FUSED;
  static constexpr bool kDecomposed = true;

  template <int STAGES, class Read, class Write>
  static __device__ __forceinline__ void run(const Stages& stages, std::uint32_t t,
                                             const Read& read, const Write& write) {
    constexpr int kEntries = 1 << STAGES;
    const Share share = share_of(stages.net, stages.first, STAGES, t);
    const Modulus& m = stages.m;
    std::uint32_t x[kEntries];
    read_group<STAGES>(x, share.group, read);
#pragma unroll
    for (int d = 0; d < STAGES - 1; ++d) {
      const std::uint32_t block = share.part >> (STAGES - 1 - d);
      const std::uint32_t w = __ldg(stages.psi + (share.group.node << d) + block);
      const bool lower = (share.part >> (STAGES - 2 - d) & 1) != 0;
      const int h = kEntries >> (d + 1);
#pragma unroll
      for (int j = 0; j < h; ++j) {
        const std::uint32_t v = cuda::mul_mod(x[j + h], w, m);
        x[j] = lower ? cuda::sub_mod(x[j], v, m.q) : cuda::add_mod(x[j], v, m.q);
      }
    }
    const std::uint32_t w = __ldg(stages.psi + (share.group.node << (STAGES - 1)) + share.part);
    const std::uint32_t v = cuda::mul_mod(x[1], w, m);
    write(share.group.entry(2 * share.part), cuda::add_mod(x[0], v, m.q));
    write(share.group.entry(2 * share.part + 1), cuda::sub_mod(x[0], v, m.q));
  }
};

// The work of thread t in a step of `count` stages, which is at most Form::kFused.
template <class Form, class Read, class Write>
__device__ __forceinline__ void run_stages(int count, const Stages& stages, std::uint32_t t,
                                           const Read& read, const Write& write) {
  if (count == Form::kFused) {
    Form::template run<Form::kFused>(stages, t, read, write);
  } else if (Form::kFused > 2 && count == 2) {
    Form::template run<2>(stages, t, read, write);
  } else {
    Form::template run<1>(stages, t, read, write);
  }
}

// The first `stages` stages of a network in a block. The first step reads in(i), and the last one
// calls out(i, x). Between them, entries are in shared memory. Decomposed has two copies there and
// alternates between them.
template <class Form, class In, class Out>
__device__ __forceinline__ void run_in_block(const Plan& plan, const Network& net, int stages,
                                             const Args& a, std::uint32_t* shared, const In& in,
                                             const Out& out) {
  const std::uint32_t length = 1u << net.log_length;
  for (int stage = 0; stage < stages; stage += Form::kFused) {
    const int now = min(Form::kFused, stages - stage);
    const bool first = stage == 0, last = stage + now == stages;
    const bool odd = Form::kDecomposed && stage / Form::kFused % 2 != 0;
    const std::uint32_t* from = shared + (Form::kDecomposed && !odd ? length : 0);
    std::uint32_t* to = shared + (odd ? length : 0);
    if (!first) __syncthreads();
    for (std::uint32_t t = threadIdx.x; t < plan.threads(net.log_length, now); t += blockDim.x) {
      run_stages<Form>(
          now, {net, stage, a.psi, a.m}, t,
          [&](std::uint32_t i) { return first ? in(i) : from[i]; },
          [&](std::uint32_t i, std::uint32_t x) {
            if (last) {
              out(i, x);
            } else {
              to[i] = x;
            }
          });
    }
  }
}

template <class Form>
__device__ __forceinline__ void run_step(const Args& a, int i, std::uint32_t* shared) {
  const Plan& plan = a.plan;
  const Step& step = plan.step[i];
  // In place except for the first step. Decomposed alternates, so that the last step ends in `out`.
  const auto target = [&](int k) {
    return Form::kDecomposed && (plan.count - 1 - k) % 2 != 0 ? a.replica : a.out;
  };
  const std::uint32_t* from = i == 0 ? a.in : target(i - 1);
  std::uint32_t* to = target(i);
  if (step.kind == Kind::Global) {
    const std::uint32_t all = plan.threads(plan.log_n, step.stages);
    for (std::uint32_t t = blockIdx.x * blockDim.x + threadIdx.x; t < all;
         t += gridDim.x * blockDim.x) {
      run_stages<Form>(
          step.stages, {{plan.log_n, 1}, step.stage, a.psi, a.m}, t,
          [&](std::uint32_t e) { return from[e]; },
          [&](std::uint32_t e, std::uint32_t x) { to[e] = x; });
    }
    return;
  }
  if (blockIdx.x >= plan.active(step)) return;
  const int log_chunk = plan.log_chunk(step);
  const bool shuffles = step.kind == Kind::Shuffled;
  const std::uint32_t root = shuffles ? 1 : (1u << plan.log_chunks) + blockIdx.x;
  const auto place = [&](std::uint32_t e) {
    return shuffles ? shuffled(plan.log_n, plan.log_chunks, log_chunk, blockIdx.x, e)
                    : (blockIdx.x << log_chunk) + e;
  };
  run_in_block<Form>(
      plan, {log_chunk, root}, step.stages, a, shared,
      [&](std::uint32_t e) { return from[place(e)]; },
      [&](std::uint32_t e, std::uint32_t x) { to[place(e)] = x; });
}

// Runs all steps of a launch.
template <class Form>
__device__ __forceinline__ void run_steps(const Args& a, std::uint32_t* shared) {
  const Barrier barrier(a.barrier);
  for (int i = a.first; i < a.last; ++i) {
    if (i > a.first) barrier.meet(static_cast<std::uint32_t>(i));
    run_step<Form>(a, i, shared);
  }
}

// Words of shared memory per block.
template <class Form>
std::size_t shared_words(const Plan& plan) {
  int most = -1;
  for (int i = 0; i < plan.count; ++i) {
    const Step& step = plan.step[i];
    const bool stays = step.kind != Kind::Global && step.stages > Form::kFused;
    if (stays) most = std::max(most, plan.log_chunk(step));
  }
  return most < 0 ? 0 : std::size_t{Form::kDecomposed ? 2u : 1u} << most;
}

}  // namespace latticino::bench::forms
