// LWE ciphertexts word by word: linear combinations, modulus switch, extraction.
#include <algorithm>
#include <bit>

#include "backend/cuda/device/tables.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/lwe/lwe.cuh"

namespace latticino::cuda {
namespace {

constexpr int kLweThreads = 256;

unsigned blocks_of(std::uint64_t words) {
  return static_cast<unsigned>((words + kLweThreads - 1) / kLweThreads);
}

constexpr int kLinearTerms = 64;

struct LweLinearArgs {
  Words out;
  LweModulus q;
  std::uint32_t constant;
  int terms;
  // Adds to the result of an earlier launch, for an item with more terms than fit into one launch.
  bool accumulate;
  struct Term {
    Words x;
    std::int32_t factor;
    bool shared;  // all ciphertexts of `out` use one input ciphertext
  } term[kLinearTerms];
};
static_assert(sizeof(LweLinearArgs) <= 4096);

__global__ void __launch_bounds__(kLweThreads) lwe_linear(const __grid_constant__ LweLinearArgs a) {
  const std::uint32_t i = blockIdx.y * kLweThreads + threadIdx.x;
  if (i > a.out.dimension) return;
  std::uint32_t* out = a.out.ciphertext(blockIdx.x) + i;
  std::uint32_t sum = a.accumulate ? *out : i == a.out.dimension ? a.constant : 0;
  for (int t = 0; t < a.terms; ++t) {
    const LweLinearArgs::Term& term = a.term[t];
    const std::uint32_t x = term.x.ciphertext(term.shared ? 0 : blockIdx.x)[i];
    sum = add_mod(sum, reduce_s64(static_cast<std::int64_t>(term.factor) * x, a.q), a.q.q);
  }
  *out = sum;
}

struct ModSwitchArgs {
  Words in, out;
  std::uint32_t q, m;  // M = 2N / 2^log_many
  int log_many;
  bool centred;
};

// The sum over a warp, in lane 0.
__device__ __forceinline__ std::int64_t sum_of_warp(std::int64_t x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) x += __shfl_down_sync(~0u, x, lanes);
  return x;
}

// One block per ciphertext. Numerators become positive by adding 2^24 turns, which vanish modulo M.
// Remainders are summed by shuffles: atomics on 64-bit words of shared memory are loops, and would
// take 8 us for 256 threads.
__global__ void __launch_bounds__(kLweThreads) mod_switch(const __grid_constant__ ModSwitchArgs a) {
  constexpr std::uint64_t kTurns = std::uint64_t{1} << 24;
  __shared__ std::int64_t rests[kLweThreads / 32];
  const std::uint32_t* in = a.in.ciphertext(blockIdx.x);
  std::uint32_t* out = a.out.ciphertext(blockIdx.x);
  const std::uint64_t twice = 2 * std::uint64_t{a.q};
  const auto numerator = [&](std::uint32_t x) {
    return twice * kTurns + 2 * std::uint64_t{a.m} * x + a.q;
  };
  std::int64_t rest = 0;
  for (std::uint32_t i = threadIdx.x; i < a.in.dimension; i += kLweThreads) {
    const std::uint32_t x = in[i];
    const std::uint64_t rounded = numerator(x) / twice - kTurns;
    out[i] = (static_cast<std::uint32_t>(rounded) & (a.m - 1)) << a.log_many;
    rest += static_cast<std::int64_t>(std::uint64_t{a.m} * x - rounded * a.q);
  }
  rest = sum_of_warp(rest);
  if (threadIdx.x % 32 == 0) rests[threadIdx.x / 32] = rest;
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint64_t shifted = numerator(in[a.in.dimension]);
  if (a.centred) {
    for (const std::int64_t of_warp : rests) shifted += static_cast<std::uint64_t>(of_warp);
  }
  out[a.in.dimension] = static_cast<std::uint32_t>((shifted / twice) & (a.m - 1)) << a.log_many;
}

constexpr int kCoefficients = 480;

struct ExtractArgs {
  const std::uint32_t* in;  // `primes` limbs per polynomial, one polynomial after another
  Words out;
  int log_n, log_step, parts, primes, count;
  std::uint32_t stride;  // number of ciphertexts of `out` from one GLWE ciphertext to the next
  Modulus q0;
  LweModulus words_q0;
  std::uint32_t q1, inverse;  // inverse: of q1 modulo q0, times R
  std::uint32_t coefficient[kCoefficients];
};
static_assert(sizeof(ExtractArgs) <= 4096);

__global__ void __launch_bounds__(kLweThreads)
    sample_extract(const __grid_constant__ ExtractArgs a) {
  const std::uint32_t w = blockIdx.z * kLweThreads + threadIdx.x, n = 1u << a.log_n;
  if (w > a.out.dimension) return;
  const std::uint32_t j = a.coefficient[blockIdx.y];
  // Word (i n + c) / step of the mask is coefficient j - c of a_i, negated where that wraps; the
  // last word is coefficient j of b.
  const bool body = w == a.out.dimension;
  const std::uint32_t mask = w << a.log_step;
  const std::uint32_t part = body ? 0 : (mask >> a.log_n) + 1, c = body ? 0 : mask & (n - 1);
  const std::uint32_t at = (j - c) & (n - 1);
  const std::uint32_t* x =
      a.in + ((static_cast<std::size_t>(blockIdx.x) * a.parts + part) * a.primes << a.log_n) + at;
  std::uint32_t value = *x;
  if (a.primes == 2) {
    const std::uint32_t rest = reduce_s64(centred(x[n], a.q1), a.words_q0);
    value = mul_mod(sub_mod(value, rest, a.q0.q), a.inverse, a.q0);
  }
  a.out.ciphertext(static_cast<std::size_t>(blockIdx.x) * a.stride + blockIdx.y)[w] =
      c > j ? neg_mod(value, a.q0.q) : value;
}

}  // namespace

void run(Launcher& launcher, const LweLinear& op) {
  for (const LweLinear::Item& item : op.items) {
    std::size_t first = 0;
    do {
      LweLinearArgs args{};
      args.out = Words(item.out);
      args.q = make_modulus(item.out.modulus);
      args.constant = item.constant;
      args.accumulate = first > 0;
      for (; first < item.terms.size() && args.terms < kLinearTerms; ++first) {
        const LweLinear::Term& term = item.terms[first];
        args.term[args.terms++] = {Words(term.x), term.factor,
                                   term.x.count == 1 && item.out.count > 1};
      }
      launcher.launch(lwe_linear,
                      {dim3(item.out.count, blocks_of(item.out.dimension + 1)), dim3(kLweThreads)},
                      args);
    } while (first < item.terms.size());
  }
}

void run(Launcher& launcher, const ModSwitch& op) {
  for (const ModSwitch::Item& item : op.items) {
    const ModSwitchArgs args{Words(item.in),  Words(item.out),
                             item.in.modulus, item.out.modulus >> op.log_many,
                             op.log_many,     op.centred};
    launcher.launch(mod_switch, {dim3(item.in.count), dim3(kLweThreads)}, args);
  }
}

void run(Launcher& launcher, const SampleExtract& op) {
  for (const SampleExtract::Item& item : op.items) {
    const Ring& ring = *item.in.first.ring;
    const Basis basis = item.in.first.basis();
    const auto wanted = static_cast<std::uint32_t>(item.coefficients.size());
    ExtractArgs args{};
    args.in = item.in.first.limb(basis.prime(0));
    args.log_n = ring.log_n();
    args.log_step = std::countr_zero(op.step);
    args.parts = op.glwe_dimension + 1;
    args.primes = basis.size();
    args.stride = wanted;
    args.q0 = table_of<RingTables>(launcher, ring).modulus(basis.prime(0));
    if (args.primes == 2) {
      args.words_q0 = make_modulus(args.q0.q);
      args.q1 = ring.prime(basis.prime(1));
      args.inverse = montgomery_inverse(args.q1, args.q0.q);
    }
    const std::uint32_t glwes = item.in.count / static_cast<std::uint32_t>(args.parts);
    for (std::uint32_t first = 0; first < wanted; first += kCoefficients) {
      const std::uint32_t count = std::min<std::uint32_t>(kCoefficients, wanted - first);
      std::copy_n(item.coefficients.begin() + first, count, args.coefficient);
      args.out = Words(item.out.part(first, item.out.count - first));
      launcher.launch(sample_extract,
                      {dim3(glwes, count, blocks_of(item.out.dimension + 1)), dim3(kLweThreads)},
                      args);
    }
  }
}

}  // namespace latticino::cuda
