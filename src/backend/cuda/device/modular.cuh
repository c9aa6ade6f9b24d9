// Modular arithmetic on the device for odd primes q < 2^31, R = 2^32.
//
// Signed Montgomery reduction (paper: Cheddar, Sec. 4): redc(x) = x R^-1 mod q in (-q, q), one low
// multiply, one high multiply and one subtraction. Data in memory are canonical residues; constants
// carry the factor R, so that redc(data * constant) has none. Products of two data carry R^-1 and
// are multiplied by R^2 once after the sum.
#pragma once

#include <cstdint>

namespace latticino::cuda {

// One 16-byte load.
struct alignas(16) Modulus {
  std::uint32_t q;
  std::uint32_t inv;  // q^-1 mod 2^32
  std::uint32_t r;    // 2^32 mod q
  std::uint32_t r2;   // 2^64 mod q
};

// A constant factor w with floor(w * 2^32 / q).
struct alignas(8) Shoup {
  std::uint32_t w, quotient;
};

#ifdef __CUDACC__

__device__ __forceinline__ Modulus load_modulus(const Modulus* p) {
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(p));
  return {v.x, v.y, v.z, v.w};
}

// x R^-1 mod q in (-q, q); -q 2^31 <= x < q 2^31.
__device__ __forceinline__ std::int32_t redc(std::int64_t x, const Modulus& m) {
  const std::int32_t k = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) * m.inv);
  return static_cast<std::int32_t>(x >> 32) - __mulhi(k, static_cast<std::int32_t>(m.q));
}

// x R^-1 mod q in (-q, q); 0 <= x < q 2^32.
__device__ __forceinline__ std::int32_t redc(std::uint64_t x, const Modulus& m) {
  const std::uint32_t k = static_cast<std::uint32_t>(x) * m.inv;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x >> 32) - __umulhi(k, m.q));
}

// (-q, q) -> [0, q). A negative value seen as unsigned is over 2^31, so the minimum selects.
__device__ __forceinline__ std::uint32_t canonical(std::int32_t x, const Modulus& m) {
  const std::uint32_t u = static_cast<std::uint32_t>(x);
  return min(u, u + m.q);
}

// [0, 2q) -> [0, q)
__device__ __forceinline__ std::uint32_t fold(std::uint32_t x, std::uint32_t q) {
  return min(x, x - q);
}

__device__ __forceinline__ std::uint32_t add_mod(std::uint32_t a, std::uint32_t b,
                                                 std::uint32_t q) {
  return fold(a + b, q);
}

__device__ __forceinline__ std::uint32_t sub_mod(std::uint32_t a, std::uint32_t b,
                                                 std::uint32_t q) {
  const std::uint32_t d = a - b;
  return min(d, d + q);
}

__device__ __forceinline__ std::uint32_t neg_mod(std::uint32_t a, std::uint32_t q) {
  return a == 0 ? 0 : q - a;
}

// [0, q) -> [-(q-1)/2, (q-1)/2]
__device__ __forceinline__ std::int32_t centred(std::uint32_t a, std::uint32_t q) {
  return a > q / 2 ? static_cast<std::int32_t>(a - q) : static_cast<std::int32_t>(a);
}

// a b R^-1 in (-q, q), for a residue (or its negative) and any signed word b > -2^31.
__device__ __forceinline__ std::int32_t mul_signed(std::int32_t a, std::int32_t b,
                                                   const Modulus& m) {
  return redc(static_cast<std::int64_t>(a) * b, m);
}

// a b R^-1 in [0, q), for a b < q 2^32: a residue and any word.
__device__ __forceinline__ std::uint32_t mul_mod(std::uint32_t a, std::uint32_t b,
                                                 const Modulus& m) {
  return canonical(redc(static_cast<std::uint64_t>(a) * b, m), m);
}

// x w mod q in [0, 2q), any word x.
__device__ __forceinline__ std::uint32_t mul_shoup(std::uint32_t x, Shoup w, std::uint32_t q) {
  return x * w.w - __umulhi(x, w.quotient) * q;
}

// The factor w, not 0, of the Montgomery word w R: with k = w R / q mod 2^32, k q = w R + 2^32 (q -
// w), so the quotient, (2^32 w - w R) / q, is -k.
__device__ __forceinline__ Shoup shoup_of(std::uint32_t montgomery, const Modulus& m) {
  const std::uint32_t k = montgomery * m.inv;
  return {m.q - __umulhi(k, m.q), 0u - k};
}

// A sum of products of residues, kept below q 2^32: two products of residues are less than q 2^32,
// so one conditional subtraction of q from the high word after each two products suffices.
__device__ __forceinline__ std::uint64_t fold_sum(std::uint64_t acc, std::uint32_t q) {
  const std::uint32_t high = static_cast<std::uint32_t>(acc >> 32);
  return static_cast<std::uint64_t>(min(high, high - q)) << 32 | static_cast<std::uint32_t>(acc);
}

// The reduced sum, with R^-1 undone. acc < q 2^32 holds products of two data words.
__device__ __forceinline__ std::uint32_t reduce_products(std::uint64_t acc, const Modulus& m) {
  return canonical(mul_signed(redc(acc, m), static_cast<std::int32_t>(m.r2), m), m);
}

#endif  // __CUDACC__

}  // namespace latticino::cuda
