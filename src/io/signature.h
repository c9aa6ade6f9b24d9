// Optional signatures of files: one block behind the container's trailer. The library has no
// signature scheme of its own: the caller signs and verifies (Python: latticino/files/signing.py,
// Ed25519).
//
//   block     magic 8 | version u32 | algorithm u32 (1: Ed25519) | public key 32 | signature 64:
//   112
//
// What is signed is signed_message(): a prefix that no other use of the key has, then the trailer,
// which is SHA-256 of everything before it. So one pass over a file of any size is enough.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "crypto/sha256.h"

namespace latticino::io {

struct Signature {
  std::array<std::uint8_t, 32> public_key{};  // the key of whoever claims to have signed
  std::array<std::uint8_t, 64> bytes{};
};

inline constexpr std::size_t kSignatureBytes = 8 + 4 + 4 + 32 + 64;

std::vector<std::uint8_t> signed_message(const crypto::Sha256Digest& trailer);

std::vector<std::uint8_t> encode(const Signature& signature);
// FileError if the block has any other form
Signature decode_signature(std::span<const std::uint8_t> block);

using Message = std::span<const std::uint8_t>;
using Signer = std::function<Signature(Message)>;
// Called when the checksum of a file is right, before anything that was read is returned. It throws
// unless the file is to be trusted. If the file has no signature, the second argument is empty.
using Verifier = std::function<void(Message, const std::optional<Signature>&)>;

}  // namespace latticino::io
