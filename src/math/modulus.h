// Arithmetic modulo one odd prime q < 2^31, for host and device. Canonical residues are in [0, q).
//   Shoup       x * w mod q for a constant w, from floor(w 2^32 / q): Harvey 2014, Sec. 4.
//   Montgomery  signed, R = 2^32 (Seiler 2018, Alg. 3): 64-bit sums of signed products.
//   Barrett     any 64-bit integer, host code and set-up.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define LATTICINO_HD __host__ __device__ __forceinline__
#else
#define LATTICINO_HD inline
#endif

namespace latticino {

LATTICINO_HD constexpr std::uint32_t mulhi_u32(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
}
LATTICINO_HD constexpr std::int32_t mulhi_s32(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>((static_cast<std::int64_t>(a) * b) >> 32);
}
LATTICINO_HD std::uint64_t mulhi_u64(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  __extension__ typedef unsigned __int128 Wide;
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
#endif
}

// The arguments of these functions may be secret. On the host they use arithmetic only, because
// compilers turn some conditions into branches (tests/secrets finds those). Device code keeps
// conditions, which become selects.
// [-q, q) modulo 2^32 -> [0, q): q is added if the top bit is set
LATTICINO_HD constexpr std::uint32_t add_if_negative(std::uint32_t a, std::uint32_t q) {
  return a + (q & (0u - (a >> 31)));
}
// [0, 2q) -> [0, q)
LATTICINO_HD constexpr std::uint32_t reduce_once(std::uint32_t a, std::uint32_t q) {
#if defined(__CUDA_ARCH__)
  return a >= q ? a - q : a;
#else
  return add_if_negative(a - q, q);
#endif
}
// Inputs and results canonical.
LATTICINO_HD constexpr std::uint32_t add_mod(std::uint32_t a, std::uint32_t b, std::uint32_t q) {
  return reduce_once(a + b, q);  // a + b < 2^32
}
LATTICINO_HD constexpr std::uint32_t sub_mod(std::uint32_t a, std::uint32_t b, std::uint32_t q) {
#if defined(__CUDA_ARCH__)
  return a >= b ? a - b : a - b + q;
#else
  return add_if_negative(a - b, q);
#endif
}
LATTICINO_HD constexpr std::uint32_t neg_mod(std::uint32_t a, std::uint32_t q) {
#if defined(__CUDA_ARCH__)
  return a == 0 ? 0 : q - a;
#else
  return reduce_once(q - a, q);
#endif
}
// Canonical -> [-(q-1)/2, (q-1)/2]
LATTICINO_HD constexpr std::int32_t centre(std::uint32_t a, std::uint32_t q) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::int32_t>(a > q / 2 ? a - q : a);
#else
  return static_cast<std::int32_t>(a - (q & (0u - ((q / 2 - a) >> 31))));
#endif
}
// (-q, q) -> [0, q)
LATTICINO_HD constexpr std::uint32_t from_signed(std::int32_t a, std::uint32_t q) {
#if defined(__CUDA_ARCH__)
  return a < 0 ? static_cast<std::uint32_t>(a) + q : static_cast<std::uint32_t>(a);
#else
  return add_if_negative(static_cast<std::uint32_t>(a), q);
#endif
}

struct Modulus {
  std::uint32_t q = 0;
  std::int32_t q_inverse = 0;  // q^-1 mod 2^32
  std::uint64_t barrett = 0;   // floor(2^64 / q)
};

constexpr Modulus make_modulus(std::uint32_t q) {
  // Correct to 3 bits for odd q; each Newton step doubles the number of correct bits.
  std::uint32_t inverse = q;
  for (int i = 0; i < 4; ++i) inverse *= 2 - q * inverse;
  return {q, static_cast<std::int32_t>(inverse), ~std::uint64_t{0} / q};
}

// Any x -> x mod q, canonical.
LATTICINO_HD std::uint32_t reduce_u64(std::uint64_t x, const Modulus& m) {
  const std::uint64_t r = x - mulhi_u64(x, m.barrett) * m.q;  // [0, 2q)
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(r >= m.q ? r - m.q : r);
#else
  return reduce_once(static_cast<std::uint32_t>(r), m.q);
#endif
}
// No branch on the sign: x may be an error or a sum with a secret. With `sign` all ones for x < 0,
// y = x ^ sign is -1 - x there, and x mod q = q - 1 - (y mod q) = ~(y mod q) + q.
LATTICINO_HD std::uint32_t reduce_s64(std::int64_t x, const Modulus& m) {
  const std::uint64_t sign = static_cast<std::uint64_t>(x >> 63);
  const std::uint32_t r = reduce_u64(static_cast<std::uint64_t>(x) ^ sign, m);
  return (r ^ static_cast<std::uint32_t>(sign)) + (m.q & static_cast<std::uint32_t>(sign));
}
LATTICINO_HD std::uint32_t mul_mod(std::uint32_t a, std::uint32_t b, const Modulus& m) {
  return reduce_u64(static_cast<std::uint64_t>(a) * b, m);
}

// A constant factor w (canonical) and floor(w 2^32 / q).
struct ShoupFactor {
  std::uint32_t w = 0, quotient = 0;
};
LATTICINO_HD ShoupFactor make_shoup(std::uint32_t w, const Modulus& m) {
  const std::uint64_t x = static_cast<std::uint64_t>(w) << 32;
  std::uint64_t quotient = mulhi_u64(x, m.barrett);
  if (x - quotient * m.q >= m.q) ++quotient;
  return {w, static_cast<std::uint32_t>(quotient)};
}
// Any 32-bit x -> [0, 2q), congruent to x w.
LATTICINO_HD constexpr std::uint32_t mul_shoup_lazy(std::uint32_t x, ShoupFactor f,
                                                    std::uint32_t q) {
  return x * f.w - mulhi_u32(x, f.quotient) * q;
}
LATTICINO_HD constexpr std::uint32_t mul_shoup(std::uint32_t x, ShoupFactor f, std::uint32_t q) {
  return reduce_once(mul_shoup_lazy(x, f, q), q);
}

// x in [-q 2^31, q 2^31) -> (-q, q), congruent to x 2^-32.
LATTICINO_HD constexpr std::int32_t montgomery(std::int64_t x, const Modulus& m) {
  const std::int32_t t = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) *
                                                   static_cast<std::uint32_t>(m.q_inverse));
  return static_cast<std::int32_t>(x >> 32) - mulhi_s32(t, static_cast<std::int32_t>(m.q));
}
// Any x -> canonical residue of x 2^-64. The first step leaves |r| <= 2^31 + 2^30 (held in 64
// bits), so the second ends in [-1 - q/2, q/2] and no fold is needed in between: sums of products
// with a table that carries 2^64 (double Montgomery) need no other reduction.
LATTICINO_HD constexpr std::uint32_t montgomery_twice(std::int64_t x, const Modulus& m) {
  const std::uint32_t inverse = static_cast<std::uint32_t>(m.q_inverse);
  const std::int32_t q = static_cast<std::int32_t>(m.q);
  const std::int32_t t = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) * inverse);
  const std::int64_t r = (x >> 32) - mulhi_s32(t, q);
  const std::int32_t u = static_cast<std::int32_t>(static_cast<std::uint32_t>(r) * inverse);
  return from_signed(static_cast<std::int32_t>(r >> 32) - mulhi_s32(u, q), m.q);
}

// Set-up arithmetic.
inline std::uint32_t pow_mod(std::uint32_t x, std::uint64_t e, const Modulus& m) {
  std::uint32_t y = 1 % m.q;
  for (; e != 0; e >>= 1) {
    if (e & 1) y = mul_mod(y, x, m);
    x = mul_mod(x, x, m);
  }
  return y;
}
inline std::uint32_t inverse_mod(std::uint32_t x, const Modulus& m) {  // q prime, x != 0
  return pow_mod(x, m.q - 2, m);
}

}  // namespace latticino
