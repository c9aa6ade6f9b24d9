// The parts of CUDA that device code needs, on the host (machine.h): types, vectors and integer
// intrinsics. Threads are fibers, so that barriers can be waited at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#define __device__
#define __host__
#define __global__
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __builtin_assume(condition)
#define __isGlobal(pointer) true

struct uint2 {
  std::uint32_t x, y;
};
struct uint4 {
  std::uint32_t x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline uint2 make_uint2(std::uint32_t x, std::uint32_t y) { return {x, y}; }
inline uint4 make_uint4(std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t w) {
  return {x, y, z, w};
}

inline double2 make_double2(double x, double y) { return {x, y}; }

inline std::uint32_t __umulhi(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline std::int32_t __mulhi(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::int64_t>(a) * b >> 32);
}
inline std::uint32_t __funnelshift_l(std::uint32_t low, std::uint32_t high, std::uint32_t by) {
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<std::uint32_t>(both << (by % 32) >> 32);
}
inline std::uint32_t __brev(std::uint32_t x) {
  std::uint32_t y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1) << (31 - i);
  return y;
}
inline int __clz(std::uint32_t x) { return x == 0 ? 32 : __builtin_clz(x); }
inline double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(static_cast<std::uint32_t>(high))
                                            << 32 |
                                        static_cast<std::uint32_t>(low));
}
inline int __double2hiint(double x) {
  return static_cast<int>(__builtin_bit_cast(std::uint64_t, x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(__builtin_bit_cast(std::uint64_t, x));
}
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline long long __double2ll_rn(double x) { return __builtin_llrint(x); }
inline std::uint32_t atomicAdd(std::uint32_t* at, std::uint32_t x) {
  *at += x;
  return *at - x;
}
template <class T>
T __ldg(const T* p) {
  return *p;
}
using std::max;
using std::min;

extern dim3 threadIdx, blockIdx, blockDim, gridDim;
void __syncwarp();
void __syncthreads();
double __shfl_xor_sync(unsigned mask, double x, int lanes);

using cudaStream_t = void*;
