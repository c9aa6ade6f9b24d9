// Encryption of stored secrets: ChaCha20 (RFC 8439) and HMAC-SHA-256 (RFC 2104), encrypt then
// authenticate.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "crypto/sha256.h"

namespace latticino::crypto {

inline constexpr std::size_t kSealKeyBytes = 64;
// 32 bytes for the cipher, 32 for the check
using SealKey = std::span<const std::uint8_t, kSealKeyBytes>;

Sha256Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> first,
                         std::span<const std::uint8_t> second = {});

// Encrypts `data` in place (block counter from 0, nonce 0: a key must seal one text only). Returns
// the check of `context`, which is not encrypted, and of the encrypted data.
Sha256Digest seal(SealKey key, std::span<const std::uint8_t> context, std::span<std::uint8_t> data);

// Decrypts in place. Returns false, and leaves `data` unchanged, if the check is wrong. The
// comparison of the check is constant time.
bool open_sealed(SealKey key, std::span<const std::uint8_t> context, std::span<std::uint8_t> data,
                 const Sha256Digest& check);

}  // namespace latticino::crypto
