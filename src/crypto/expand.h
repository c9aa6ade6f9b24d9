// The seed expander: part of the wire format (version 1), the same on every backend.
//
// Limb of prime index p (position in the Ring's prime list, prime q) of object (seed, stream):
// the ChaCha20 keystream (RFC 8439 block function) with key = seed, 96-bit nonce =
// stream (64 bits, little endian) || p (32 bits, little endian), block counter from 0. Coefficient
// i (0 <= i < N, logical order of the view's domain) takes the 64-bit little-endian words w0 = word
// 2i, w1 = word 2i+1 of the keystream seen as 64-bit words (16 bytes per coefficient, four
// coefficients per block), and is (w1 * 2^64 + w0) mod q: bias below 2^-96, no rejection, every
// coefficient addressable on its own.
//
// Errors come from the same keystream under secret seeds (ops/operations.h, SampleGaussian): nonce
// = index (64 bits) || kErrorNonce, which is the index of no prime (a Ring has fewer than 2^16), so
// that not even a seed used for both would give a word twice. No file depends on them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace latticino::crypto {

inline constexpr std::uint32_t kErrorNonce = 0xFFFFFFFF;

// One ChaCha20 block (RFC 8439 Sec. 2.3) as 16 little-endian words.
std::array<std::uint32_t, 16> chacha20_block(std::span<const std::uint8_t, 32> key,
                                             std::uint32_t counter,
                                             const std::array<std::uint32_t, 3>& nonce);

// Keystream from block `counter` on (RFC 8439 Sec. 2.4), any length below 2^32 blocks.
void chacha20_keystream(std::span<const std::uint8_t, 32> key, std::uint32_t counter,
                        const std::array<std::uint32_t, 3>& nonce, std::span<std::uint8_t> out);

// Reference expansion of one limb into out (N canonical residues).
void expand_limb(std::span<const std::uint8_t, 32> seed, std::uint64_t stream,
                 std::uint32_t prime_index, std::uint32_t q, std::span<std::uint32_t> out);

}  // namespace latticino::crypto
