// Ceilings of a GPU: instructions, 32-bit products and FP64 multiply-adds per second of all
// multiprocessors, and bytes per second of their shared memory, of the L2 and of DRAM.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "backend/cuda/launch/memory.h"
#include "ceilings/ceilings.h"

namespace latticino::bench {
namespace {

constexpr int kThreads = 256, kChains = 8, kSteps = 4096;
constexpr int kSharedWords = 2048;  // vectors of 16 bytes: 32 KB per block
constexpr const char* kWhere = "bench.ceilings";

// Independent chains of one instruction each. Every thread leaves the sum of its chains.
struct Multiply {  // low product and sum
  using Value = std::uint32_t;
  static __host__ __device__ Value first(std::uint32_t i) { return 2 * i + 1; }
  static __device__ Value step(Value x, Value a, Value b) {
    Value y;
    asm volatile("mad.lo.u32 %0, %1, %2, %3;" : "=r"(y) : "r"(x), "r"(a), "r"(b));
    return y;
  }
  static Value plain(Value x, Value a, Value b) { return x * a + b; }
};
struct MultiplyWide {  // a product of 32 by 32 bits to 64, and a sum
  using Value = std::uint64_t;
  static __host__ __device__ Value first(std::uint32_t i) { return 2 * i + 1; }
  static __device__ Value step(Value x, Value a, Value b) {
    Value y;
    asm volatile("mad.wide.u32 %0, %1, %2, %3;"
                 : "=l"(y)
                 : "r"(static_cast<std::uint32_t>(x)), "r"(static_cast<std::uint32_t>(a)), "l"(b));
    return y;
  }
  static Value plain(Value x, Value a, Value b) {
    return (x & 0xffffffffu) * (a & 0xffffffffu) + b;
  }
};
// FP32 multiply-adds take every issue slot that there is.
struct Issue {
  using Value = float;
  static __host__ __device__ Value first(std::uint32_t i) { return static_cast<float>(i % 64); }
  static __device__ Value step(Value x, Value a, Value b) {
    Value y;
    asm volatile("fma.rn.f32 %0, %1, %2, %3;" : "=f"(y) : "f"(x), "f"(a), "f"(b));
    return y;
  }
  static Value plain(Value x, Value a, Value b) { return std::fma(x, a, b); }
};
struct Double {
  using Value = double;
  static __host__ __device__ Value first(std::uint32_t i) { return i; }
  static __device__ Value step(Value x, Value a, Value b) {
    Value y;
    asm volatile("fma.rn.f64 %0, %1, %2, %3;" : "=d"(y) : "d"(x), "d"(a), "d"(b));
    return y;
  }
  static Value plain(Value x, Value a, Value b) { return std::fma(x, a, b); }
};

template <class Kind>
__global__ void __launch_bounds__(kThreads)
    chains(typename Kind::Value* out, typename Kind::Value a, typename Kind::Value b, int steps) {
  using Value = typename Kind::Value;
  const std::uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  Value x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) x[c] = Kind::first(thread * kChains + c);
#pragma unroll 4
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) x[c] = Kind::step(x[c], a, b);
  }
  Value sum = x[0];
#pragma unroll
  for (int c = 1; c < kChains; ++c) sum += x[c];
  out[thread] = sum;
}

// A warp reads 512 bytes in a row at a time, with four reads in flight. Each step reads 512 bytes
// further on.
__global__ void __launch_bounds__(kThreads) shared_reads(uint4* out, int steps) {
  __shared__ uint4 words[kSharedWords];
  for (int i = static_cast<int>(threadIdx.x); i < kSharedWords; i += kThreads) {
    const auto w = static_cast<std::uint32_t>(i);
    words[i] = {w, w * 3, w * 5, w * 7};
  }
  __syncthreads();
  uint4 sum{};
  std::uint32_t at = threadIdx.x;
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint4 w = words[(at + i * kThreads) % kSharedWords];
      sum = {sum.x ^ w.x, sum.y ^ w.y, sum.z ^ w.z, sum.w ^ w.w};
    }
    at += 32;
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// `rounds` passes over `count` vectors. Each block has its own stripes, and the L1 keeps none of
// them.
__global__ void __launch_bounds__(kThreads)
    reads(uint4* out, const uint4* in, std::size_t count, int rounds) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  const std::size_t first = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  uint4 sum{};
  for (int r = 0; r < rounds; ++r) {
    std::size_t at = first;
    for (; at + 3 * stride < count; at += 4 * stride) {
      uint4 w[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) w[i] = __ldcg(in + at + i * stride);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sum = {sum.x ^ w[i].x, sum.y ^ w[i].y, sum.z ^ w[i].z, sum.w ^ w[i].w};
      }
    }
    for (; at < count; at += stride) {
      const uint4 w = __ldcg(in + at);
      sum = {sum.x ^ w.x, sum.y ^ w.y, sum.z ^ w.z, sum.w ^ w.w};
    }
  }
  out[first] = sum;
}

__global__ void __launch_bounds__(kThreads) copies(uint4* out, const uint4* in, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t at = std::size_t{blockIdx.x} * kThreads + threadIdx.x; at < count;
       at += stride) {
    __stcs(out + at, __ldcs(in + at));
  }
}

class Device {
 public:
  Device() {
    cuda::check(cudaGetDeviceProperties(&properties, 0), kWhere);
    cuda::check(cudaEventCreate(&begin_), kWhere);
    cuda::check(cudaEventCreate(&end_), kWhere);
  }
  ~Device() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Seconds of each run, after one that is not counted.
  std::vector<double> timed_runs(int runs, const std::function<void()>& launch) {
    std::vector<double> seconds;
    for (int run = -1; run < runs; ++run) {
      cuda::check(cudaEventRecord(begin_), kWhere);
      launch();
      cuda::check(cudaGetLastError(), kWhere);
      cuda::check(cudaEventRecord(end_), kWhere);
      cuda::check(cudaEventSynchronize(end_), kWhere);
      float ms = 0;
      cuda::check(cudaEventElapsedTime(&ms, begin_, end_), kWhere);
      if (run >= 0) seconds.push_back(1e-3 * ms);
    }
    return seconds;
  }

  cudaDeviceProp properties{};

 private:
  cudaEvent_t begin_{}, end_{};
};

template <class T>
struct Memory {
  explicit Memory(std::size_t n) : count(n) {
    cuda::check(cudaMalloc(&data, sizeof(T) * n), kWhere);
  }
  ~Memory() { cudaFree(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  T at(std::size_t i) const {
    T value{};
    cuda::check(cudaMemcpy(&value, data + i, sizeof(T), cudaMemcpyDefault), kWhere);
    return value;
  }

  T* data = nullptr;
  std::size_t count;
};

template <class Kind>
Ceiling chained(Device& device, const char* name, int runs, typename Kind::Value a,
                typename Kind::Value b) {
  using Value = typename Kind::Value;
  const int blocks = device.properties.multiProcessorCount * 8;
  const Memory<Value> out(static_cast<std::size_t>(blocks) * kThreads);
  const auto launch = [&] { chains<Kind><<<blocks, kThreads>>>(out.data, a, b, kSteps); };
  const auto seconds = device.timed_runs(runs, launch);
  for (const std::size_t thread : {std::size_t{0}, out.count / 2 + 17, out.count - 1}) {
    Value sum{};
    for (int c = 0; c < kChains; ++c) {
      Value x = Kind::first(static_cast<std::uint32_t>(thread * kChains + c));
      for (int s = 0; s < kSteps; ++s) x = Kind::plain(x, a, b);
      sum = c == 0 ? x : sum + x;
    }
    require_right(out.at(thread) == sum, name);
  }
  Row params;
  params.add("blocks", blocks).add("threads", kThreads);
  const double work = double(blocks) * kThreads * kChains * kSteps;
  return {name, "1/s", rate_of(work, seconds), params};
}

Ceiling shared(Device& device, int runs) {
  const int blocks = device.properties.multiProcessorCount * 4;
  const Memory<uint4> out(static_cast<std::size_t>(blocks) * kThreads);
  const auto seconds =
      device.timed_runs(runs, [&] { shared_reads<<<blocks, kThreads>>>(out.data, kSteps); });
  std::uint32_t sum = 0, at = 5;
  for (int s = 0; s < kSteps; ++s, at += 32) {
    for (int i = 0; i < 4; ++i) sum ^= (at + i * kThreads) % kSharedWords * 3;
  }
  require_right(out.at(5).y == sum, "shared memory");
  Row params;
  params.add("blocks", blocks).add("threads", kThreads);
  return {"shared", "B/s", rate_of(16.0 * 4 * kSteps * blocks * kThreads, seconds), params};
}

__global__ void fill(uint4* out, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count;
       at += stride) {
    const auto w = static_cast<std::uint32_t>(at);
    out[at] = {w, w * 3, w * 5, w * 7};
  }
}

Ceiling read_from(Device& device, const char* name, int runs, std::size_t bytes, int rounds) {
  const int blocks = device.properties.multiProcessorCount * 8;
  const Memory<uint4> in(bytes / sizeof(uint4)), out(static_cast<std::size_t>(blocks) * kThreads);
  fill<<<blocks, kThreads>>>(in.data, in.count);
  const auto seconds = device.timed_runs(
      runs, [&] { reads<<<blocks, kThreads>>>(out.data, in.data, in.count, rounds); });
  std::uint32_t sum = 0;
  for (std::size_t at = 9; at < in.count; at += out.count) sum ^= static_cast<std::uint32_t>(at);
  require_right(out.at(9).x == (rounds % 2 == 1 ? sum : 0), name);
  Row params;
  params.add("bytes", std::uint64_t{bytes}).add("blocks", blocks).add("threads", kThreads);
  return {name, "B/s", rate_of(double(in.count) * sizeof(uint4) * rounds, seconds), params};
}

Ceiling copy(Device& device, int runs, std::size_t bytes) {
  const int blocks = device.properties.multiProcessorCount * 8;
  const Memory<uint4> in(bytes / sizeof(uint4)), out(bytes / sizeof(uint4));
  fill<<<blocks, kThreads>>>(in.data, in.count);
  const auto seconds =
      device.timed_runs(runs, [&] { copies<<<blocks, kThreads>>>(out.data, in.data, in.count); });
  const std::size_t last = in.count - 1;
  require_right(out.at(last).x == static_cast<std::uint32_t>(last), "a copy");
  Row params;
  params.add("bytes", std::uint64_t{bytes}).add("blocks", blocks).add("threads", kThreads);
  return {"copy", "B/s", rate_of(2.0 * double(bytes), seconds), params};
}

}  // namespace

std::string gpu_name() { return Device().properties.name; }

std::vector<Ceiling> gpu_ceilings(int runs) {
  Device device;
  const auto l2 = static_cast<std::size_t>(device.properties.l2CacheSize);
  constexpr std::size_t kLarge = std::size_t{4} << 30;
  std::vector<Ceiling> out;
  out.push_back(chained<Issue>(device, "issue", runs, 0.5f, 1.0f));
  out.push_back(chained<Multiply>(device, "multiply", runs, 0x9e3779b1u, 3));
  out.push_back(chained<MultiplyWide>(device, "multiply_wide", runs, 0x9e3779b1u, 3));
  out.push_back(chained<Double>(device, "double", runs, 0.5, 1.0));
  out.push_back(shared(device, runs));
  // A quarter of the L2: half of it is far from each multiprocessor, and may hold copies.
  out.push_back(read_from(device, "l2", runs, l2 / 4, 101));
  out.push_back(read_from(device, "memory", runs, kLarge, 1));
  out.push_back(copy(device, runs, kLarge / 2));
  return out;
}

}  // namespace latticino::bench
