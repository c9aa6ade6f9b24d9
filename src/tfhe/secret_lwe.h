// LWE arithmetic with a secret, on the host. Internal to src/tfhe.
#pragma once

#include <cstdint>
#include <span>

#include "math/modulus.h"
#include "rlwe/random.h"
#include "tfhe/client.h"

namespace latticino::tfhe {

// <a, s> mod q. No branch and no address depends on s.
std::uint32_t inner_product(const std::uint32_t* a, std::span<const std::int8_t> s,
                            const Modulus& m);

// Fills rows of `words` (stride apart): mask r is the beginning of the expansion (seed, stream
// first + r), the body -<a, s> + e + message[r].
void encrypt_rows(std::uint32_t* words, std::size_t stride, std::span<const std::uint32_t> messages,
                  std::span<const std::int8_t> s, double sigma, const rlwe::Seed& seed,
                  const Modulus& m, rlwe::Random& random, std::size_t first = 0);

// Throws ContextError unless the parameters agree.
void require_params(const char* operation, const TfheParams& a, const TfheParams& b);

}  // namespace latticino::tfhe
