// Measures the cycles of a butterfly in registers, with the library's own functions and no other
// work:
//   bench_butterflies --output rows.json
// One block of 16 warps on every multiprocessor runs whole transforms of 16 values per thread. A
// cycle is one of a scheduler, which has a quarter of the warps: cycles = 4 clocks of the block /
// (warps * butterflies of a thread). "prime": "by lane" (eight side by side in a warp, as in tiles
// with matrix units) or "uniform" (a kernel's argument: in uniform registers).
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <type_traits>

#include "backend/cuda/launch/memory.h"
#include "backend/cuda/ntt/lazy.cuh"
#include "math/modulus.h"
#include "math/primes.h"
#include "support/common.h"
#include "support/sample.h"

namespace latticino::bench {
namespace {

using cuda::Modulus;
using cuda::Shoup;

constexpr int kWarps = 16, kThreads = 32 * kWarps, kPrimes = 8;
constexpr int kValues = 16, kStages = 4, kTwiddles = kValues - 1, kRounds = 256;
constexpr int kButterflies = kRounds * kStages * kValues / 2;  // butterflies of a thread

enum class Product { Shoup, Lazy, Montgomery, Unsigned, Barrett };

// A twiddle of the unsigned Montgomery reduction, times 2^32, and -q^-1 mod 2^32. One wide and one
// low product, and a sum of 64 bits.
struct UnsignedTwiddle {
  std::uint32_t w, negative_inverse;
};

// A twiddle as it is, and floor(2^64 / q). A high and a low product of 64 bits, and a difference.
struct BarrettTwiddle {
  std::uint32_t w;
  std::uint64_t inverse;
};

__device__ __forceinline__ std::uint32_t mul_twiddle(std::uint32_t x, UnsignedTwiddle w,
                                                     const Modulus& m, std::uint32_t) {
  const std::uint64_t product = static_cast<std::uint64_t>(x) * w.w;
  const std::uint32_t k = static_cast<std::uint32_t>(product) * w.negative_inverse;
  const std::uint64_t sum = product + static_cast<std::uint64_t>(k) * m.q;
  return cuda::fold(static_cast<std::uint32_t>(sum >> 32), m.q);
}

__device__ __forceinline__ std::uint32_t mul_twiddle(std::uint32_t x, BarrettTwiddle w,
                                                     const Modulus& m, std::uint32_t) {
  const std::uint64_t product = static_cast<std::uint64_t>(x) * w.w;
  const std::uint64_t quotient = __umul64hi(product, w.inverse);
  return cuda::fold(static_cast<std::uint32_t>(product - quotient * m.q), m.q);
}

// All twiddles of a thread, with what they share in one register.
template <Product PRODUCT>
struct SharedTwiddles {
  std::uint32_t w[kTwiddles];
  std::conditional_t<PRODUCT == Product::Barrett, std::uint64_t, std::uint32_t> shared;

  __device__ __forceinline__ auto operator[](int i) const {
    if constexpr (PRODUCT == Product::Barrett) {
      return BarrettTwiddle{w[i], shared};
    } else {
      return UnsignedTwiddle{w[i], shared};
    }
  }
};

struct Tables {
  Modulus modulus[kPrimes];
  std::uint32_t montgomery[kPrimes][kTwiddles];  // times 2^32
  std::uint32_t values[kThreads][kValues];
  std::uint32_t out[kThreads][kValues];
  long long clocks;  // clocks of the slowest block
};

template <class Word>
struct Array {
  Word w[kTwiddles];
};

template <Product PRODUCT, bool INVERSE, class Twiddles>
__device__ __forceinline__ void transform(std::uint32_t (&x)[kValues], const Twiddles& w,
                                          const Modulus& m) {
  if constexpr (PRODUCT == Product::Lazy) {
    const cuda::LazyPrime lazy(m);
    INVERSE ? cuda::inverse_lazy<kValues / 2>(x, w, lazy)
            : cuda::forward_lazy<kValues / 2>(x, w, lazy);
  } else {
    INVERSE ? cuda::inverse_stages<kValues / 2>(x, w, m)
            : cuda::forward_stages<kValues / 2>(x, w, m);
  }
}

template <Product PRODUCT, bool BY_LANE, bool INVERSE>
__global__ void __launch_bounds__(kThreads, 1)
    butterflies(Tables* tables, const __grid_constant__ Modulus one) {
  const int prime = BY_LANE ? static_cast<int>(threadIdx.x) % kPrimes : 0;
  const Modulus m = BY_LANE ? cuda::load_modulus(tables->modulus + prime) : one;
  const std::uint32_t* words = tables->montgomery[threadIdx.x % kPrimes];
  constexpr bool kShared = PRODUCT == Product::Unsigned || PRODUCT == Product::Barrett;
  using Word = std::conditional_t<PRODUCT == Product::Montgomery, std::uint32_t, Shoup>;
  std::conditional_t<kShared, SharedTwiddles<PRODUCT>, Array<Word>> w;
#pragma unroll
  for (int i = 0; i < kTwiddles; ++i) {
    if constexpr (PRODUCT == Product::Barrett) {
      w.w[i] = cuda::mul_mod(words[i], 1, m);
    } else if constexpr (PRODUCT == Product::Montgomery || PRODUCT == Product::Unsigned) {
      w.w[i] = words[i];
    } else {
      w.w[i] = cuda::shoup_of(words[i], m);
    }
  }
  if constexpr (PRODUCT == Product::Barrett) w.shared = ~std::uint64_t{0} / m.q;
  if constexpr (PRODUCT == Product::Unsigned) w.shared = 0u - m.inv;
  std::uint32_t x[kValues];
#pragma unroll
  for (int k = 0; k < kValues; ++k) x[k] = tables->values[threadIdx.x][k] % m.q;
  __syncthreads();
  const long long start = clock64();
#pragma unroll 2
  for (int round = 0; round < kRounds; ++round) {
    if constexpr (kShared) {
      transform<PRODUCT, INVERSE>(x, w, m);
    } else {
      transform<PRODUCT, INVERSE>(x, w.w, m);
    }
  }
  __syncthreads();
  const long long clocks = clock64() - start;
#pragma unroll
  for (int k = 0; k < kValues; ++k) {
    if (blockIdx.x == 0) tables->out[threadIdx.x][k] = x[k] % m.q;
  }
  if (threadIdx.x == 0) atomicMax(&tables->clocks, clocks);
}

Tables make_tables() {
  Tables t{};
  const auto primes = ntt_primes_below(16, 1u << 30, kPrimes);
  std::mt19937 random(1);
  const std::uint32_t least = *std::min_element(primes.begin(), primes.end());
  for (int p = 0; p < kPrimes; ++p) {
    const latticino::Modulus m = make_modulus(primes[p]);
    const std::uint32_t r = pow_mod(2, 32, m);
    t.modulus[p] = {m.q, static_cast<std::uint32_t>(m.q_inverse), r, mul_mod(r, r, m)};
    for (std::uint32_t& w : t.montgomery[p]) w = 1 + random() % (least - 1);
  }
  for (auto& row : t.values) {
    for (std::uint32_t& x : row) x = random();
  }
  return t;
}

// Whether the first block's results are those of plain arithmetic, for four of its threads.
bool right(const Tables& t, bool by_lane, bool inverse) {
  for (int thread : {0, 7, 33, kThreads - 1}) {
    const int p = by_lane ? thread % kPrimes : 0;
    const latticino::Modulus m = make_modulus(t.modulus[p].q);
    const std::uint32_t undo = inverse_mod(t.modulus[p].r, m);
    std::uint32_t x[kValues];
    for (int k = 0; k < kValues; ++k) x[k] = t.values[thread][k] % m.q;
    for (int round = 0; round < kRounds; ++round) {
      for (int s = 0; s < kStages; ++s) {
        const int h = inverse ? 1 << s : kValues / 2 >> s, first = kValues / (2 * h) - 1;
        for (int b = 0; b < kValues / 2; ++b) {
          const int low = b / h * 2 * h + b % h;
          const std::uint32_t w = mul_mod(t.montgomery[thread % kPrimes][first + b / h], undo, m);
          const std::uint32_t u = x[low];
          const std::uint32_t v = inverse ? x[low + h] : mul_mod(x[low + h], w, m);
          x[low] = (u + v) % m.q;
          x[low + h] = inverse ? mul_mod((u + m.q - v) % m.q, w, m) : (u + m.q - v) % m.q;
        }
      }
    }
    for (int k = 0; k < kValues; ++k) {
      if (x[k] != t.out[thread][k]) return false;
    }
  }
  return true;
}

template <Product PRODUCT, bool BY_LANE, bool INVERSE>
Row measure(const cudaDeviceProp& device, const Arguments& arguments) {
  static const char* const kNames[] = {"shoup", "shoup_lazy", "montgomery", "montgomery_unsigned",
                                       "barrett"};
  Tables tables = make_tables();
  Tables* on_device = nullptr;
  cuda::check(cudaMalloc(&on_device, sizeof tables), "bench.butterflies");
  std::vector<double> cycles;
  for (int run = -1; run < arguments.number("runs"); ++run) {
    tables.clocks = 0;
    cuda::check(cudaMemcpy(on_device, &tables, sizeof tables, cudaMemcpyDefault),
                "bench.butterflies");
    butterflies<PRODUCT, BY_LANE, INVERSE>
        <<<device.multiProcessorCount, kThreads>>>(on_device, tables.modulus[0]);
    cuda::check(cudaGetLastError(), "bench.butterflies");
    cuda::check(cudaMemcpy(&tables, on_device, sizeof tables, cudaMemcpyDefault),
                "bench.butterflies");
    if (run >= 0) {
      cycles.push_back(4.0 * static_cast<double>(tables.clocks) / (kWarps * kButterflies));
    }
  }
  cuda::check(cudaFree(on_device), "bench.butterflies");
  if (!right(tables, BY_LANE, INVERSE)) {
    throw ValueError("bench.butterflies", "wrong values", "those of plain arithmetic",
                     "run the tests");
  }
  const Sample sample = sample_of(std::move(cycles));
  Row params, row;
  params.add("product", kNames[static_cast<int>(PRODUCT)]);
  params.add("prime", BY_LANE ? "by lane" : "uniform");
  params.add("direction", INVERSE ? "inverse" : "forward").add("warps", kWarps);
  row.add("name", "cuda.butterfly");
  sample.add_to(row, "cycles");
  row.add("device", device.name).add("backend", "cuda").add("mode", "immediate");
  row.add("preset", "none").add("params", params);
  row.add("commit", arguments.text("commit")).add("date", today());
  std::printf("%-19s %-8s %-8s %6.2f cycles\n", kNames[static_cast<int>(PRODUCT)],
              BY_LANE ? "by lane" : "uniform", INVERSE ? "inverse" : "forward", sample.median);
  return row;
}

std::vector<Row> run(const Arguments& arguments) {
  cudaDeviceProp device{};
  cuda::check(cudaGetDeviceProperties(&device, 0), "bench.butterflies");
  std::vector<Row> rows;
  const auto both = [&]<Product PRODUCT>() {
    rows.push_back(measure<PRODUCT, true, false>(device, arguments));
    rows.push_back(measure<PRODUCT, false, false>(device, arguments));
    rows.push_back(measure<PRODUCT, true, true>(device, arguments));
    rows.push_back(measure<PRODUCT, false, true>(device, arguments));
  };
  both.template operator()<Product::Shoup>();
  both.template operator()<Product::Lazy>();
  both.template operator()<Product::Montgomery>();
  both.template operator()<Product::Unsigned>();
  both.template operator()<Product::Barrett>();
  return rows;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_rows(argc, argv, {{"runs", "9"}}, bench::run);
}
