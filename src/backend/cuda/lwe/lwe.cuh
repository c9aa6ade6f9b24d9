// What the kernels of the TFHE records share.
#pragma once

#include <cstdint>

#include "backend/cuda/device/modular.cuh"
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

// A modulus of LWE ciphertexts, as in math/modulus.h. No ring needs to have it.
using LweModulus = latticino::Modulus;

// x^-1 2^32 modulo the prime q, for host code.
inline std::uint32_t montgomery_inverse(std::uint32_t x, std::uint32_t q) {
  const LweModulus m = make_modulus(q);
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(inverse_mod(x % q, m)) << 32) % q);
}

}  // namespace latticino::cuda
