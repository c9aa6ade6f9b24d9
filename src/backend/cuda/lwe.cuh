// What the kernels of the TFHE records share.
#pragma once

#include <cstdint>

#include "backend/cuda/modular.cuh"
#include "math/gadget.h"
#include "poly/lwe_view.h"

namespace latticino::cuda {

// An LweView as kernels see it.
struct Words {
  std::uint32_t* data = nullptr;
  std::size_t stride = 0;
  std::uint32_t dimension = 0;

  Words() = default;
  explicit Words(const LweView& v) : data(v.data), stride(v.stride), dimension(v.dimension) {}
  __host__ __device__ __forceinline__ std::uint32_t* ciphertext(std::size_t i) const {
    return data + i * stride;
  }
};

// A modulus of LWE ciphertexts: no ring needs to know it.
struct LweModulus {
  std::uint32_t q;
  std::uint64_t barrett;  // floor(2^64 / q)
};
inline LweModulus lwe_modulus(std::uint32_t q) { return {q, ~std::uint64_t{0} / q}; }

// Any x -> canonical residue.
__device__ __forceinline__ std::uint32_t reduce(std::int64_t x, const LweModulus& m) {
  const std::uint64_t u = x >= 0 ? static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(~x);
  const std::uint64_t r = u - __umul64hi(u, m.barrett) * m.q;  // [0, 2q)
  const auto y = fold(static_cast<std::uint32_t>(r), m.q);
  return x >= 0 ? y : m.q - 1 - y;  // x = -1 - u
}

// x^-1 2^32 modulo the prime q, for host code.
inline std::uint32_t montgomery_inverse(std::uint32_t x, std::uint32_t q) {
  const latticino::Modulus m = make_modulus(q);
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(inverse_mod(x % q, m)) << 32) % q);
}

}  // namespace latticino::cuda
